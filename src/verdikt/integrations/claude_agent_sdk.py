"""Claude Agent SDK: `governed` for the options of `query` and `ClaudeSDKClient`.

    options = governed(ClaudeAgentOptions(can_use_tool=ask_in_my_program))

The hooks are callbacks in this process, so they survive `disableAllHooks` in settings files. An ask reaches
`can_use_tool`; with `defer=True` it ends the run instead, `Governance.record_answer` takes the answer, and a run that
resumes the session goes on; with neither, an ask is a block.
"""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from verdikt.hosts.claude.adapter import decode
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.integrations.ruling import Ruling
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_kinds import classify_call
from verdikt.model.posture import Posture
from verdikt.model.tool_kind import classify_tool

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds
    from verdikt.model.action import Action

_sdk = import_sdk("claude_agent_sdk", "claude-agent-sdk")

_CHANNEL = "claude_agent_sdk.can_use_tool"

_TIMEOUTS_SECONDS = {
    "UserPromptSubmit": 20.0,
    "PreToolUse": 60.0,
    "PostToolUse": 20.0,
    "PostToolUseFailure": 20.0,
    "Stop": 60.0,
    "SubagentStop": 60.0,
}
"""Hook event → how long the client waits for us; after that it blocks."""

_DECIDING_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events at which another hook of the program can change the input of a call, or answer a question."""

_MAX_QUESTIONS = 1024
"""Number of calls that were asked about and are remembered."""

_FAILED = "Blocked by policy (verdikt): no decision could be made. Instead: stop here and say so"


def governed(
    options: Any = None,
    governance: Governance | None = None,
    *,
    kinds: ToolKinds | None = None,
    defer: bool = False,
    by: str = "",
    max_refusals: int = MAX_REFUSALS,
) -> Any:
    """Return a copy of the options with hooks that decide every tool call; other hooks stay.

    `kinds` names what tools of SDK MCP servers do, by their full name `mcp__server__tool`. `by` is who answers in
    `can_use_tool`.
    """
    options = options if options is not None else _sdk.ClaudeAgentOptions()
    cwd = str(options.cwd or "")
    governor = ToolGovernor(governance, kinds, host="claude", cwd=cwd, max_refusals=max_refusals)
    hooks = _Hooks(governor, options.can_use_tool, defer=defer, by=by)
    merged = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
    for event in _DECIDING_EVENTS:
        merged[event] = [hooks.wrap_matcher(matcher) for matcher in merged.get(event, [])]
    for event, seconds in _TIMEOUTS_SECONDS.items():
        # No matcher: a misspelt one would match nothing, and the tool would run.
        matcher = _sdk.HookMatcher(matcher=None, hooks=[hooks.handle], timeout=seconds, on_failure="block")
        merged[event] = [matcher, *merged.get(event, [])]
    can_use_tool = hooks.ask_person if options.can_use_tool is not None else None
    settings = _close_skills(options.settings, cwd)
    return dataclasses.replace(options, hooks=merged, can_use_tool=can_use_tool, settings=settings)


def _close_skills(settings: str | None, cwd: str) -> str:
    """Return the settings with `disableSkillShellExecution`, unless they say something about it themselves.

    The client runs the commands inside skills and slash commands without asking any hook.
    """
    text = (settings or "{}").strip()
    try:
        if not text.startswith("{"):
            text = Path(cwd, text).read_text(encoding="utf-8-sig")
        fields = json.loads(text)
        return json.dumps({"disableSkillShellExecution": True} | fields)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"expected `settings` as a JSON object or the path of one: {error}") from error


class _Hooks:
    """The callbacks of one `ClaudeAgentOptions`."""

    def __init__(self, governor: ToolGovernor, can_use_tool: Any, *, defer: bool, by: str) -> None:
        self.governor = governor
        self.can_use_tool = can_use_tool
        self.defer = defer
        self.by = by
        self._questions: OrderedDict[str, Action] = OrderedDict()
        self._last_action: Action | None = None
        self._lock = Lock()

    async def handle(self, payload: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Answer one hook event; a failure or a cancellation is a block where something is about to happen."""
        try:
            return await self.governor.run_in_thread(self._answer_hook, payload)
        except BaseException:
            # A CancelledError that escapes hangs the session, so even that becomes an answer.
            return _answer_failure(payload)

    def wrap_matcher(self, matcher: Any) -> Any:
        """Return another matcher of the program with callbacks that cannot get past the policy.

        The client runs the input of the hook that answers last, without asking the others about it, and takes the word
        of a permission hook for that of the person.
        """
        return dataclasses.replace(matcher, hooks=[self._wrap_callback(callback) for callback in matcher.hooks])

    def _wrap_callback(self, callback: Any) -> Any:
        async def run(payload: Any, tool_use_id: str | None, context: Any) -> Any:
            answer = await callback(payload, tool_use_id, context)
            output = answer.get("hookSpecificOutput") if isinstance(answer, Mapping) else None
            fields = output if isinstance(output, Mapping) else {}
            decision = fields.get("decision")
            permission = decision if isinstance(decision, Mapping) and decision.get("behavior") == "allow" else None
            is_permission = permission is not None
            new_input = (fields if permission is None else permission).get("updatedInput")
            is_changed = new_input is not None and new_input != payload.get("tool_input")
            if not is_permission and not is_changed:
                return answer
            try:
                return await self.governor.run_in_thread(
                    self._review_answer, payload, answer, new_input if is_changed else None, is_permission
                )
            except BaseException:
                return {} if is_permission else _answer_failure(payload)

        return run

    def _review_answer(self, payload: Any, answer: Any, new_input: Any, is_permission: bool) -> Any:
        """Return the answer of another hook, or ours if it changes the input or answers our question."""
        if is_permission and self._has_question(payload):
            return {}  # the question goes on to the person
        if new_input is None:
            return answer
        ruling = self._decide_input(payload, new_input)
        if ruling.may_run:
            return answer
        if is_permission:
            output = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": ruling.text}}
            return {"hookSpecificOutput": output}
        return self._encode_ruling("PreToolUse", ruling)

    def _has_question(self, payload: Any) -> bool:
        action = decode({**payload, "hook_event_name": "PreToolUse"}, env={}).action
        assert action is not None
        action = self._apply_kinds(action)
        with self._lock:
            return any((item.tool, item.payload) == (action.tool, action.payload) for item in self._questions.values())

    def _decide_input(self, payload: Any, new_input: Any) -> Ruling:
        changed = {**payload, "hook_event_name": "PreToolUse", "tool_input": new_input}
        hook_event = decode(changed, env={"CLAUDE_CODE_SESSION_ATTENDED": "0"})
        assert hook_event.action is not None
        # Without an id: the question about the call, if there is one, is about its first input.
        action = dataclasses.replace(self._apply_kinds(hook_event.action), call_id="")
        return self.governor.decide(action, can_ask=False)

    async def ask_person(self, tool: str, tool_input: dict[str, Any], context: Any) -> Any:
        """Put a question to the program's own `can_use_tool`, record the answer, and decide again with it."""
        result = await self.can_use_tool(tool, tool_input, context)
        is_allowed = isinstance(result, _sdk.PermissionResultAllow)
        with self._lock:
            # It stays in the table: permission hooks answer at the same time, and must still find the question.
            action = self._questions.get(context.tool_use_id or "")
            origin = action or self._last_action
        if action is not None:
            ruling = await self.governor.adecide_answered(action, approved=is_allowed, by=self.by, channel=_CHANNEL)
            if is_allowed and not ruling.may_run:
                return _sdk.PermissionResultDeny(message=ruling.text)
        new_input = result.updated_input if is_allowed else None
        if new_input is not None and new_input != tool_input:
            return await self._decide_changed_input(origin, tool, new_input, result)
        return result

    async def _decide_changed_input(self, origin: Action | None, tool: str, new_input: Any, result: Any) -> Any:
        """Return the answer if its changed input passes too: the client runs it without another hook."""
        if origin is None:
            return _sdk.PermissionResultDeny(message=_FAILED)
        changed = dataclasses.replace(origin, kind=classify_tool(tool), tool=tool, payload=new_input, call_id="")
        changed = self._apply_kinds(changed)
        ruling = await self.governor.adecide(changed, can_ask=False)
        return result if ruling.may_run else _sdk.PermissionResultDeny(message=ruling.text)

    def _answer_hook(self, payload: Any) -> dict[str, Any]:
        # "1": whether a person can be asked is known here, and not by the environment.
        hook_event = decode(payload, env={"CLAUDE_CODE_SESSION_ATTENDED": "1"})
        if hook_event.kind is HookEventKind.BEFORE:
            return self._decide_call(hook_event)
        if hook_event.kind is HookEventKind.AFTER:
            assert hook_event.action is not None
            assert hook_event.outcome is not None
            context = self.governor.report(self._apply_kinds(hook_event.action), hook_event.outcome)
            return _build_output(hook_event.name, additionalContext=context) if context else {}
        if hook_event.kind is HookEventKind.PROMPT and hook_event.prompt is not None:
            self.governor.begin_turn(hook_event.prompt.text, session_id=hook_event.session_id)
        if hook_event.kind is HookEventKind.STOP and hook_event.turn is not None:
            reason = self.governor.refuse_turn(hook_event.turn)
            return {"decision": "block", "reason": reason} if reason else {}
        return {}

    def _decide_call(self, hook_event: HookEvent) -> dict[str, Any]:
        assert hook_event.action is not None
        action = self._apply_kinds(hook_event.action)
        can_ask = self.defer or self.can_use_tool is not None
        # `bypassPermissions` counts as autonomous elsewhere; here a question reaches the program in that mode too.
        posture = None if hook_event.posture is Posture.AUTONOMOUS else hook_event.posture
        ruling = self.governor.decide(action, can_ask=can_ask, posture=posture)
        with self._lock:
            self._last_action = action
            if ruling.needs_answer:
                self._questions[action.call_id] = action
                while len(self._questions) > _MAX_QUESTIONS:
                    self._questions.popitem(last=False)
        return self._encode_ruling(hook_event.name, ruling)

    def _encode_ruling(self, event_name: str, ruling: Ruling) -> dict[str, Any]:
        if ruling.needs_answer:
            decision = "defer" if self.defer else "ask"
            text = f"{ruling.verdict.reason}. Instead: {ruling.verdict.fix}"
            return _build_output(event_name, permissionDecision=decision, permissionDecisionReason=text)
        if not ruling.may_run:
            return _build_output(event_name, permissionDecision="deny", permissionDecisionReason=ruling.text)
        if ruling.is_approved:
            # A deferred call that was answered meanwhile: without this word the client would ask once more.
            reason = ruling.verdict.reason or "approved by a person"
            return _build_output(event_name, permissionDecision="allow", permissionDecisionReason=reason)
        notes = "\n".join(ruling.warnings)
        return _build_output(event_name, additionalContext=notes) if notes else {}

    def _apply_kinds(self, action: Action) -> Action:
        if action.tool not in self.governor.kinds:
            return action
        kind, payload = classify_call(self.governor.kinds, action.tool, action.payload)
        return dataclasses.replace(action, kind=kind, payload=payload)


def _build_output(event_name: str, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event_name, **fields}}


def _answer_failure(payload: Any) -> dict[str, Any]:
    """Return the answer for a callback that failed: a block before an action, one refusal at a stop."""
    fields: Mapping[str, Any] = payload if isinstance(payload, Mapping) else {}
    event_name = fields.get("hook_event_name")
    if event_name in ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit"):
        return {}
    if event_name in ("Stop", "SubagentStop"):
        return {} if fields.get("stop_hook_active") else {"decision": "block", "reason": _FAILED}
    return _build_output("PreToolUse", permissionDecision="deny", permissionDecisionReason=_FAILED)
