"""Typed access to what hosts send. Nothing in a payload is trusted to have the type it should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verdikt.daemon.protocol import MAX_PAYLOAD_BYTES
from verdikt.errors import CanonicalError, HookError
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.host import FieldNames, Host
from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.hosts.registry import HOSTS
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.canonical_json import parse_json
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.posture import HOST_MODE_POSTURES
from verdikt.model.tool_kind import classify_tool

_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
}


def parse_payload(raw: bytes) -> object:
    """Return the one JSON document in these bytes. Raises `HookError` for anything ambiguous, as a repeated key is."""
    if len(raw) > MAX_PAYLOAD_BYTES:
        raise HookError(f"expected a payload of at most {MAX_PAYLOAD_BYTES} bytes, found more")
    try:
        return parse_json(raw)
    except CanonicalError as error:
        raise HookError(f"expected one JSON document as payload, found something else: {error}") from error


class PayloadFields:
    """An object whose fields are absent or of the expected type; otherwise `HookError` is raised."""

    __slots__ = ("raw",)

    def __init__(self, payload: object) -> None:
        if not isinstance(payload, Mapping):
            raise HookError(f"expected the payload to be an object, found {_TYPE_NAMES.get(type(payload), 'nothing')}")
        self.raw: Mapping[str, Any] = payload

    def has_any(self, *names: str) -> bool:
        """Whether one of these fields is present."""
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
        """Return a text field, empty when absent."""
        text = self.raw.get(key)
        # The common case first; this runs a dozen times for every call.
        if type(text) is not str:
            text = self._get_typed(key, str, "")
        return text

    def get_object(self, key: str) -> Mapping[str, Any]:
        """Return an object field, empty when absent."""
        table: Mapping[str, Any] = self._get_typed(key, dict, {})
        return table

    def get_bool(self, key: str) -> bool:
        """Return a truth value, false when absent."""
        flag: bool = self._get_typed(key, bool, False)
        return flag


def read_hook_event(
    host: Host,
    payload: object,
    *,
    parse_outcome: Callable[[PayloadFields, Action], Outcome],
    event_name: str = "",
    can_ask: bool = False,
) -> HookEvent:
    """Return the event that a payload stands for, read by the names of the host's description."""
    fields = PayloadFields(payload)
    field_names = host.field_names
    payload_event_name = fields.get_text(field_names.event)
    if event_name and payload_event_name and event_name != payload_event_name:
        raise HookError(f"expected the event `{event_name}`, found `{payload_event_name}`")
    name = event_name or payload_event_name
    kind = host.events.get(name) or _guess_kind(fields, field_names)
    agent_id = fields.get_text("agent_id")
    common = {
        "session_id": ".".join([part for part in (fields.get_text(field_names.session), agent_id) if part])
        or "default",
        "cwd": fields.get_text(field_names.cwd),
        "host": host.name,
        "agent": fields.get_text("agent_type") or agent_id,
    }
    action = _build_action(fields, field_names, common) if kind in _ACTION_KINDS else None
    posture = HOST_MODE_POSTURES.get(fields.get_text("permission_mode"))
    if action is not None and kind.fails_closed:
        _refuse_illegible(action)
    return HookEvent(
        kind=kind,
        name=name,
        **common,
        action=action,
        outcome=parse_outcome(fields, action) if action and kind is HookEventKind.AFTER else None,
        prompt=_build_prompt(fields, field_names, common) if kind is HookEventKind.PROMPT else None,
        turn=_build_turn(fields, field_names, common) if kind is HookEventKind.STOP else None,
        # What the host does with an ask at an event that it does not document is unknown, so none is sent there.
        can_ask=can_ask and name in host.events,
        posture=posture,
        raw=fields.raw,
    )


_ACTION_KINDS = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)


def _guess_kind(fields: PayloadFields, field_names: FieldNames) -> HookEventKind:
    """Return the kind of an unknown event: a tool call without a result is about to happen."""
    if fields.has_any(field_names.tool):
        return HookEventKind.AFTER if fields.has_any(field_names.result, "error") else HookEventKind.BEFORE
    return HookEventKind.NOTICE


def _build_action(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, Any]) -> Action:
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
"""The inputs of hosts' own tools that must be text, or lists of texts."""

_COMMAND_FIELDS = ("command", "cmd", "script")
_TYPED_FIELDS = ("chars", "input")
"""What is typed into a program that already runs."""
_CODE_FIELDS = ("code", "source", "script", "cell")

_STDIN_TOOLS = frozenset(tool for host in HOSTS.values() for tool in host.stdin_tools)


def _refuse_illegible(action: Action) -> None:
    """Raise `HookError` for a call of a host's own tool whose input is not one text: it could not be classified."""
    if action.kind in (ActionKind.MCP, ActionKind.OTHER):
        return
    for key, value in action.payload.items():
        if key not in _TEXT_FIELDS:
            continue
        texts = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(text, str) for text in texts):
            raise HookError(f"expected `{key}` to be text, found {_TYPE_NAMES.get(type(value), 'something else')}")
    if action.kind is ActionKind.BASH:
        is_typed = action.tool in _STDIN_TOOLS
        count = _count_texts(action, (*_COMMAND_FIELDS, *(_TYPED_FIELDS if is_typed else ())))
        if not count and not is_typed:
            raise HookError("expected a command for the shell, found none")
    elif action.kind is ActionKind.EXECUTE_CODE:
        _count_texts(action, _CODE_FIELDS)


def _count_texts(action: Action, fields: tuple[str, ...]) -> int:
    """Return how many of these fields say what is to run; raise `HookError` when two say different things.

    A tool reads one of them, and a model can add the other: what is decided must be what runs.
    """
    present = [key for key in fields if action.payload.get(key)]
    if any(action.payload[key] != action.payload[present[0]] for key in present):
        raise HookError(f"expected one text to run, found `{'` and `'.join(present)}`")
    return len(present)


def _build_prompt(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, str]) -> Prompt:
    text = fields.get_text(field_names.prompt)
    # Hosts send task notifications and our own refusals back as prompts. A sub-agent's prompt is its parent's text.
    is_human = not (text.startswith((TEXT_MARK, "<task-notification>")) or fields.get_text("agent_id"))
    return Prompt(text=text, human=is_human, transcript_path=fields.get_text(field_names.transcript), **common)


def _build_turn(fields: PayloadFields, field_names: FieldNames, common: Mapping[str, str]) -> Turn:
    return Turn(
        message=fields.get_text(field_names.message) if fields.has_any(field_names.message) else None,
        # A sub-agent has a transcript of its own beside the one of its parent.
        transcript_path=fields.get_text("agent_transcript_path") or fields.get_text(field_names.transcript),
        stop_hook_active=fields.get_bool("stop_hook_active"),
        background=tuple(_list_background_sessions(fields, field_names)),
        raw=fields.raw,
        executed={},  # the transcript tells
        **common,
    )


def _list_background_sessions(fields: PayloadFields, field_names: FieldNames) -> Iterator[str]:
    """Yield the sessions, as the log names them, of sub-agents that still run while this one wants to stop."""
    tasks = fields.raw.get("background_tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if not isinstance(task, Mapping) or (task.get("type"), task.get("status")) != ("subagent", "running"):
            continue
        name = task.get("id")
        if isinstance(name, str) and name and name != fields.get_text("agent_id"):
            yield f"{fields.get_text(field_names.session)}.{name}"
