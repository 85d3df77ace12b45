"""Reading what hosts send. Nothing in a payload is trusted to have the type it should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.errors import CanonicalError, HookError
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.model.action import Action, ActionKind
from verdikt.model.canonical_json import parse_json as strict
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.posture import HOST_MODE_POSTURES
from verdikt.model.tool_kind import classify_tool

if TYPE_CHECKING:
    from verdikt.model.action import Outcome

MAX_PAYLOAD_BYTES = 24 * 1024 * 1024
"""Largest payload that is looked at."""

_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
}


def parse_payload(raw: bytes) -> object:
    """The one JSON document in these bytes; a key twice, NaN or half a character is refused, for nobody knows what it means."""
    if len(raw) > MAX_PAYLOAD_BYTES:
        raise HookError(f"expected a payload of at most {MAX_PAYLOAD_BYTES} bytes, found more")
    try:
        return strict(raw)
    except CanonicalError as error:
        raise HookError(f"expected one JSON document as payload, found something else: {error}") from error


class PayloadFields:
    """Typed access to an object: a field is absent, or of the expected type, or the payload is refused."""

    __slots__ = ("raw",)

    def __init__(self, payload: object) -> None:
        if not isinstance(payload, Mapping):
            raise HookError(f"expected the payload to be an object, found {_TYPE_NAMES.get(type(payload), 'nothing')}")
        self.raw: Mapping[str, Any] = payload

    def has_any(self, *names: str) -> bool:
        """Whether one of these fields is there."""
        return any(key in self.raw for key in names)

    def _get_typed(self, key: str, kind: type, default: Any) -> Any:
        value = self.raw.get(key)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise HookError(
                f"expected `{key}` to be {_TYPE_NAMES[kind]}, found {_TYPE_NAMES.get(type(value), 'something else')}"
            )
        return value

    def get_text(self, key: str) -> str:
        """A text field, empty when absent."""
        text = self.raw.get(key)
        if type(text) is not str:
            text = self._get_typed(key, str, "")
        return text

    def get_object(self, key: str) -> Mapping[str, Any]:
        """An object field, empty when absent."""
        table: Mapping[str, Any] = self._get_typed(key, dict, {})
        return table

    def get_bool(self, key: str) -> bool:
        """A truth value, false when absent."""
        flag: bool = self._get_typed(key, bool, False)
        return flag


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
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


def read_hook_event(
    payload: object,
    *,
    host: str,
    events: Mapping[str, HookEventKind],
    parse_outcome: Callable[[PayloadFields, Action], Outcome],
    event_name: str = "",
    field_names: FieldNames = FieldNames(),  # noqa: B008 (frozen)
    can_ask: bool = False,
) -> HookEvent:
    """The moment that a payload stands for, read by the host's own names."""
    fields = PayloadFields(payload)
    named = fields.get_text(field_names.event)
    if event_name and named and event_name != named:
        raise HookError(f"expected the event `{event_name}`, found `{named}`")
    name = event_name or named
    kind = events.get(name) or _guess_kind(fields, field_names)
    # Nobody knows what the host makes of an answer to an event that is not in the table, so nothing is asked there.
    can_ask = can_ask and name in events
    agent_id = fields.get_text("agent_id")
    common = {
        "session_id": ".".join([part for part in (fields.get_text(field_names.session), agent_id) if part])
        or "default",
        "cwd": fields.get_text(field_names.cwd),
        "host": host,
        "agent": fields.get_text("agent_type") or agent_id,
    }
    action = _build_action(fields, field_names, common) if kind in _ACTION_KINDS else None
    mode = HOST_MODE_POSTURES.get(fields.get_text("permission_mode"))
    if action is not None and kind.fails_closed:
        _refuse_non_text(action)
    return HookEvent(
        kind=kind,
        name=name,
        **common,
        action=action,
        outcome=parse_outcome(fields, action) if action and kind is HookEventKind.AFTER else None,
        prompt=_build_prompt(fields, field_names, common) if kind is HookEventKind.PROMPT else None,
        turn=_build_turn(fields, field_names, common) if kind is HookEventKind.STOP else None,
        can_ask=can_ask,
        posture=mode,
        raw=fields.raw,
    )


_ACTION_KINDS = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)


def _guess_kind(fields: PayloadFields, field_names: FieldNames) -> HookEventKind:
    """What an event that nobody knows must be taken for: a tool call that has no result yet is about to happen."""
    if fields.has_any(field_names.tool):
        return HookEventKind.AFTER if fields.has_any(field_names.result, "error") else HookEventKind.BEFORE
    return HookEventKind.NOTICE


def _build_action(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, str]) -> Action:
    tool = fields.get_text(field_names.tool)
    if not tool:
        raise HookError(f"expected a tool's name in `{field_names.tool}`, found none")
    return Action(
        kind=classify_tool(tool),
        tool=tool,
        payload=fields.get_object(field_names.input),
        call_id=fields.get_text(field_names.call),
        **common,
    )


_TEXT_FIELDS = frozenset([
    "command", "cmd", "script", "code", "content", "new_string", "patch", "patchText", "prompt", "url",
    "file_path", "path", "notebook_path", "absolute_path", "filename", "dir_path",
])  # fmt: skip
"""What hosts' own tools say in words, or in lists of words."""

_STDIN_TOOLS = frozenset(["write_stdin", "write_bash", "write_powershell"])
"""Shell tools that type into what runs already, and have no command."""


def _refuse_non_text(action: Action) -> None:
    """Refuses a call of a host's own tool that does not say in words what it is about: nobody could tell what it would do."""
    if action.kind in (ActionKind.MCP, ActionKind.OTHER):
        return
    for key, value in action.payload.items():
        if key not in _TEXT_FIELDS:
            continue
        words = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(word, str) for word in words):
            raise HookError(f"expected `{key}` to be text, found {_TYPE_NAMES.get(type(value), 'something else')}")
    told = any(action.payload.get(key) for key in ("command", "cmd", "script"))
    if action.kind is ActionKind.BASH and action.tool not in _STDIN_TOOLS and not told:
        raise HookError("expected a command for the shell, found none")


def _build_prompt(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, str]) -> Prompt:
    text = fields.get_text(field_names.prompt)
    # Task notifications and our own refusals come back as prompts; a sub-agent's prompt was written by its parent.
    human = not (text.startswith((TEXT_MARK, "<task-notification>")) or fields.get_text("agent_id"))
    return Prompt(text=text, human=human, **common)


def _build_turn(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, str]) -> Turn:
    return Turn(
        message=fields.get_text(field_names.message) if fields.has_any(field_names.message) else None,
        transcript_path=fields.get_text("agent_transcript_path") or fields.get_text(field_names.transcript),
        stop_hook_active=fields.get_bool("stop_hook_active"),
        background=tuple(_list_background_sessions(fields, field_names)),
        raw=fields.raw,
        **common,
    )


def _list_background_sessions(fields: PayloadFields, field_names: FieldNames) -> Iterator[str]:
    """The sessions of sub-agents that go on while this one wants to stop, by the name that their calls have in the log."""
    tasks = fields.raw.get("background_tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if not isinstance(task, Mapping) or (task.get("type"), task.get("status")) != ("subagent", "running"):
            continue
        name = task.get("id")
        if isinstance(name, str) and name and name != fields.get_text("agent_id"):
            yield f"{fields.get_text(field_names.session)}.{name}"
