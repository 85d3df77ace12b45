"""Reading what hosts send. Nothing in a payload is trusted to have the type it should have."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.ruling import MARK
from verdikt.errors import CanonicalError, HookError
from verdikt.model.action import Action, ActionKind
from verdikt.model.canonical import parse as strict
from verdikt.model.moment import Prompt, Turn
from verdikt.model.posture import MODES
from verdikt.model.tool import kind_of
from verdikt.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from verdikt.model.action import Outcome

LIMIT_BYTES = 24 * 1024 * 1024
"""Largest payload that is looked at."""

_KINDS = {dict: "an object", list: "a list", str: "text", bool: "a truth value", int: "a number", float: "a number"}


def parse(raw: bytes) -> object:
    """The one JSON document in these bytes; a key twice, NaN or half a character is refused, for nobody knows what it means."""
    if len(raw) > LIMIT_BYTES:
        raise HookError(f"expected a payload of at most {LIMIT_BYTES} bytes, found more")
    try:
        return strict(raw)
    except CanonicalError as error:
        raise HookError(f"expected one JSON document as payload, found something else: {error}") from error


class Fields:
    """Typed access to an object: a field is absent, or of the expected type, or the payload is refused."""

    __slots__ = ("raw",)

    def __init__(self, payload: object) -> None:
        if not isinstance(payload, Mapping):
            raise HookError(f"expected the payload to be an object, found {_KINDS.get(type(payload), 'nothing')}")
        self.raw: Mapping[str, Any] = payload

    def has(self, *keys: str) -> bool:
        """Whether one of these fields is there."""
        return any(key in self.raw for key in keys)

    def _member(self, key: str, kind: type, default: Any) -> Any:
        value = self.raw.get(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise HookError(f"expected `{key}` to be {_KINDS[kind]}, found {_KINDS.get(type(value), 'something else')}")
        return value

    def text(self, key: str) -> str:
        """A text field, empty when absent."""
        text = self.raw.get(key)
        if type(text) is not str:
            text = self._member(key, str, "")
        return text

    def table(self, key: str) -> Mapping[str, Any]:
        """An object field, empty when absent."""
        table: Mapping[str, Any] = self._member(key, dict, {})
        return table

    def flag(self, key: str) -> bool:
        """A truth value, false when absent."""
        flag: bool = self._member(key, bool, False)
        return flag


class Keys(Value, kw_only=True):
    """What a host calls its fields. The defaults are those of Claude Code, which most hosts took over."""

    event: str = "hook_event_name"
    session: str = "session_id"
    tool: str = "tool_name"
    input: str = "tool_input"
    call: str = "tool_use_id"
    result: str = "tool_response"
    prompt: str = "prompt"
    message: str = "last_assistant_message"
    transcript: str = "transcript_path"
    cwd: str = "cwd"


def read(
    payload: object,
    *,
    host: str,
    events: Mapping[str, MomentKind],
    outcome: Callable[[Fields, Action], Outcome],
    event: str = "",
    keys: Keys = Keys(),  # noqa: B008 (frozen)
    asks: bool = False,
) -> Moment:
    """The moment that a payload stands for, read by the host's own names."""
    fields = Fields(payload)
    named = fields.text(keys.event)
    if event and named and event != named:
        raise HookError(f"expected the event `{event}`, found `{named}`")
    name = event or named
    kind = events.get(name) or _guess(fields, keys)
    # Nobody knows what the host makes of an answer to an event that is not in the table, so nothing is asked there.
    asks = asks and name in events
    agent_id = fields.text("agent_id")
    common = {
        "session_id": ".".join([part for part in (fields.text(keys.session), agent_id) if part]) or "default",
        "cwd": fields.text(keys.cwd),
        "host": host,
        "agent": fields.text("agent_type") or agent_id,
    }
    action = _action(fields, keys, common) if kind in _ACTIONS else None
    mode = MODES.get(fields.text("permission_mode"))
    if action is not None and kind.closed:
        _refuse_illegible(action)
    return Moment(
        kind=kind,
        event=name,
        **common,
        action=action,
        outcome=outcome(fields, action) if action and kind is MomentKind.AFTER else None,
        prompt=_prompt(fields, keys, common) if kind is MomentKind.PROMPT else None,
        turn=_turn(fields, keys, common) if kind is MomentKind.STOP else None,
        asks=asks,
        posture=mode,
        raw=fields.raw,
    )


_ACTIONS = (MomentKind.BEFORE, MomentKind.PERMISSION, MomentKind.AFTER)


def _guess(fields: Fields, keys: Keys) -> MomentKind:
    """What an event that nobody knows must be taken for: a tool call that has no result yet is about to happen."""
    if fields.has(keys.tool):
        return MomentKind.AFTER if fields.has(keys.result, "error") else MomentKind.BEFORE
    return MomentKind.NOTICE


def _action(fields: Fields, keys: Keys, common: Mapping[str, str]) -> Action:
    tool = fields.text(keys.tool)
    if not tool:
        raise HookError(f"expected a tool's name in `{keys.tool}`, found none")
    return Action(
        kind=kind_of(tool), tool=tool, payload=fields.table(keys.input), call_id=fields.text(keys.call), **common
    )


_WORDS = frozenset([
    "command", "cmd", "script", "code", "content", "new_string", "patch", "patchText", "prompt", "url",
    "file_path", "path", "notebook_path", "absolute_path", "filename", "dir_path",
])  # fmt: skip
"""What hosts' own tools say in words, or in lists of words."""

_TYPES = frozenset(["write_stdin", "write_bash", "write_powershell"])
"""Shell tools that type into what runs already, and have no command."""


def _refuse_illegible(action: Action) -> None:
    """Refuses a call of a host's own tool that does not say in words what it is about: nobody could tell what it would do."""
    if action.kind in (ActionKind.MCP, ActionKind.OTHER):
        return
    for key, value in action.payload.items():
        if key not in _WORDS:
            continue
        words = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(word, str) for word in words):
            raise HookError(f"expected `{key}` to be text, found {_KINDS.get(type(value), 'something else')}")
    told = any(action.payload.get(key) for key in ("command", "cmd", "script"))
    if action.kind is ActionKind.BASH and action.tool not in _TYPES and not told:
        raise HookError("expected a command for the shell, found none")


def _prompt(fields: Fields, keys: Keys, common: Mapping[str, str]) -> Prompt:
    text = fields.text(keys.prompt)
    # Task notifications and our own refusals come back as prompts; a sub-agent's prompt was written by its parent.
    human = not (text.startswith((MARK, "<task-notification>")) or fields.text("agent_id"))
    return Prompt(text=text, human=human, **common)


def _turn(fields: Fields, keys: Keys, common: Mapping[str, str]) -> Turn:
    return Turn(
        message=fields.text(keys.message) if fields.has(keys.message) else None,
        transcript_path=fields.text("agent_transcript_path") or fields.text(keys.transcript),
        stop_hook_active=fields.flag("stop_hook_active"),
        background=tuple(_background(fields, keys)),
        raw=fields.raw,
        **common,
    )


def _background(fields: Fields, keys: Keys) -> Iterator[str]:
    """The sessions of sub-agents that go on while this one wants to stop, by the name that their calls have in the log."""
    tasks = fields.raw.get("background_tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if not isinstance(task, Mapping) or (task.get("type"), task.get("status")) != ("subagent", "running"):
            continue
        name = task.get("id")
        if isinstance(name, str) and name and name != fields.text("agent_id"):
            yield f"{fields.text(keys.session)}.{name}"
