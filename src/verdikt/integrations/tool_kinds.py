"""What a function tool of an SDK does: its name is free, so the program that uses it says what kind of action it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from verdikt.model.action import ActionKind

if TYPE_CHECKING:
    from verdikt.model.action import Action

_MCP_PREFIX = "mcp__"
_SCALARS = (str, int, float, bool, type(None))

# The arguments that the classifier looks for, the usual one first, by kind.
_ARGUMENTS: dict[ActionKind, tuple[str, ...]] = {
    ActionKind.BASH: ("command", "cmd", "script", "chars", "input"),
    ActionKind.EXECUTE_CODE: ("code", "source", "script", "content", "input", "cell", "text"),
    ActionKind.READ: ("path", "file_path", "notebook_path", "absolute_path", "filename", "dir_path"),
    ActionKind.WRITE: ("path", "file_path", "notebook_path", "absolute_path", "filename", "dir_path"),
}


_DETAILS = frozenset(
    "cwd workdir working_dir working_directory directory description explanation justification reason purpose thought"
    " comment title timeout encoding mode session_id call_id".split()
)
_PATTERNS = frozenset("pattern regex query".split())
_CONTENTS = frozenset(
    "content contents text file_text data body old_string new_string old_str new_str old_text new_text insert_text"
    " search replace replacement edits lines newline".split()
)

_SECONDARY_ARGUMENTS: dict[ActionKind, frozenset[str]] = {
    ActionKind.BASH: _DETAILS,
    ActionKind.EXECUTE_CODE: _DETAILS | {"language", "lang"},
    ActionKind.READ: _DETAILS | _PATTERNS,
    ActionKind.WRITE: _DETAILS | _PATTERNS | _CONTENTS,
}
"""What stands beside a command or a path without being one, by kind."""


@dataclass(frozen=True, slots=True)
class ToolKind:
    """The kind of a function tool, and which of its arguments is the command or the path, if it has another name."""

    kind: ActionKind
    argument: str = ""


ToolKinds = Mapping[str, "ActionKind | str | ToolKind"]
"""Tool name → its kind. A tool that is not named is unknown to the policy, unless its manifest declares it."""


def parse_kinds(kinds: ToolKinds | None) -> dict[str, ToolKind]:
    """Return the kinds by tool; raise `ValueError` for a kind that does not exist."""
    return {
        name: kind if isinstance(kind, ToolKind) else ToolKind(ActionKind(kind)) for name, kind in (kinds or {}).items()
    }


def classify_call(kinds: Mapping[str, ToolKind], tool: str, arguments: object) -> tuple[ActionKind, dict[str, Any]]:
    """Return the kind of a call, and its arguments as a payload that a receipt can hold."""
    payload = to_payload(arguments)
    declared = kinds.get(tool)
    if declared is None:
        return (ActionKind.MCP if tool.startswith(_MCP_PREFIX) else ActionKind.OTHER), payload
    names = _ARGUMENTS.get(declared.kind)
    if names is None:
        return declared.kind, payload
    if len(payload) == 1 and type(value := payload.get(names[0])) is str and value and not declared.argument:
        return declared.kind, payload  # most calls: nothing has to be looked for or renamed
    argument = declared.argument or _find_argument(payload, names, _SECONDARY_ARGUMENTS[declared.kind])
    value = payload.get(argument)
    is_text = isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value))
    if not value or not is_text:
        # A shell tool without a command, or a file tool without a path: nothing would be classified, so all would pass.
        return ActionKind.OTHER, payload
    # Under the name that classifier and rules read first; no other argument may stand there instead of it.
    others = {f"argument_{name}" if name in names else name: payload[name] for name in payload if name != argument}
    return declared.kind, {names[0]: value, **others, argument: value}


def is_same_call(kinds: Mapping[str, ToolKind], action: Action, tool: str, arguments: object) -> bool:
    """Return whether a call of a tool with these arguments is the one that an action describes.

    Costs a third of building its action to compare the two.
    """
    try:
        return action.tool == tool and action.payload == classify_call(kinds, tool, arguments)[1]
    except Exception:
        return False  # arguments that cannot be read are not those that were decided


def to_payload(arguments: object) -> dict[str, Any]:
    """Return arguments of any type as plain data; what JSON cannot express becomes its representation."""
    if isinstance(arguments, str):
        arguments = _parse_text(arguments)
    if type(arguments) is dict and _is_flat(arguments):
        return dict(arguments)  # most tools take a few texts and numbers, and every call comes through here
    payload: dict[str, Any] = loads(dumps(_to_mapping(arguments), default=_to_plain))
    return payload


def _is_flat(arguments: dict[Any, Any]) -> bool:
    # A loop: `all` over a generator takes three times as long.
    for name, value in arguments.items():  # noqa: SIM110
        if type(name) is not str or type(value) not in _SCALARS:
            return False
    return True


def _find_argument(payload: Mapping[str, Any], names: tuple[str, ...], secondary: frozenset[str]) -> str:
    """Return the name of the one argument that can be meant: a known name, or else that of the only text.

    Empty when another argument could be what the tool uses: the rest of a command line, a second path, or the only
    argument that the tool has, beside one that the model made up.
    """
    candidates = [name for name in names if payload.get(name)]
    candidates = candidates or [name for name, value in payload.items() if isinstance(value, str)]
    if len(candidates) != 1:
        return ""
    others = [name for name in payload if name != candidates[0] and name not in secondary]
    return (
        "" if any(isinstance(payload[name], str | list | dict) and payload[name] for name in others) else candidates[0]
    )


def _parse_text(text: str) -> object:
    """Return the arguments in a JSON text, or the text itself as the only argument."""
    try:
        return loads(text or "{}")
    except ValueError:
        return {"input": text}


def _to_mapping(arguments: object) -> dict[str, Any]:
    if arguments is None:
        return {}
    if (is_dataclass(arguments) and not isinstance(arguments, type)) or hasattr(arguments, "model_dump"):
        arguments = _to_plain(arguments)
    if not isinstance(arguments, Mapping):
        return {"input": arguments}
    return {str(name): value for name, value in arguments.items()}


def _to_plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")  # a pydantic model
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    if isinstance(value, set | frozenset | tuple):
        return sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
    # Not as a plain text, which could be taken for a command or a path.
    return {"repr": repr(value)}
