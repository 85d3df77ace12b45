"""The dispatch of one event to governance; the same for a hook process and for the daemon."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.hosts.undecided_calls import find_decision, find_undecided_calls
from verdikt.model.action import Action, ActionKind
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Answer
from verdikt.model.redaction import redact_text
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.hosts.hook_event import HookEvent
    from verdikt.hosts.integrity import IntegrityCheck

_Handler = Callable[["Governance", "HookEvent", Mapping[str, str]], HostDecision]

_CONFIG_REFUSAL = (
    "the settings of this session changed while it runs, and the change is not taken over: it could switch the policy "
    "off.\nInstead: leave the settings alone; a person can start a new session, or run `verdikt pause` first"
)


def dispatch_event(
    governance: Governance, hook_event: HookEvent, env: Mapping[str, str], faults: Sequence[str] = ()
) -> HostDecision:
    """Return the decision about an event. During a pause only red lines block; everything is still recorded.

    `faults` were found before; they are recorded and added to the decision's context.
    """
    host_decision = _HANDLERS.get(hook_event.kind, _ignore_event)(governance, hook_event, env).resolve_ask(hook_event)
    host_decision = _report_faults(host_decision, governance, hook_event, list(faults))
    # Before an action `Governance.before` itself applies the pause, because a pause does not lift red lines.
    before = (HookEventKind.BEFORE, HookEventKind.PERMISSION)
    if hook_event.kind not in before and host_decision.kind >= VerdictKind.ASK and _is_paused(governance):
        return HostDecision(context=f"{TEXT_MARK} paused by the operator: this would have been stopped")
    return host_decision


def _ignore_event(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    return HostDecision()


def _decide_action(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    assert hook_event.action is not None
    decision = governance.before(hook_event.action, posture=hook_event.posture)
    return HostDecision.from_verdict(
        decision.verdict,
        warnings=decision.warnings,
        approved=decision.approved,
        awaited_approval=decision.awaited_approval,
    )


def _decide_permission(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    """Decide a call about which a person is to be asked, unless the hook before the call has decided it already."""
    assert hook_event.action is not None
    # A block is decided again: if the host still asks a person, it did not obey the first time.
    verdict = find_decision(hook_event.action, governance.store)
    if verdict is None or verdict.get("kind") == VerdictKind.BLOCK.word:
        return _decide_action(governance, hook_event, env)
    return HostDecision()


def _check_batch(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    faults = find_undecided_calls(hook_event.raw.get("tool_calls"), hook_event.session_id, governance.store)
    return _report_faults(HostDecision(), governance, hook_event, faults)


def _record_outcome(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    assert hook_event.action is not None
    assert hook_event.outcome is not None
    answer = governance.after(hook_event.action, hook_event.outcome)
    if hook_event.action.kind is ActionKind.WRITE and hook_event.outcome.success and hook_event.action.path:
        review = governance.review("file-save", hook_event.cwd, path=hook_event.action.path)
        answer = answer._replace(context="\n\n".join(filter(None, (answer.context, review.context))))
    return HostDecision.from_answer(answer)


def _handle_prompt(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    assert hook_event.prompt is not None
    refusal = _decide_expansion(governance, hook_event)
    return refusal or HostDecision.from_answer(governance.prompt(hook_event.prompt))


def _decide_expansion(governance: Governance, hook_event: HookEvent) -> HostDecision | None:
    """Return the refusal of a slash command whose text runs what the policy blocks; None otherwise."""
    name = hook_event.raw.get("command_name")
    # Commands that are built into the host have no text of their own.
    if not isinstance(name, str) or not name or hook_event.raw.get("command_source") in (None, "builtin"):
        return None
    action = Action(
        kind=ActionKind.AGENT,
        tool="SlashCommand",
        payload={"command": name},
        session_id=hook_event.session_id,
        cwd=hook_event.cwd,
        host=hook_event.host,
    )
    decision = governance.before(action, posture=hook_event.posture)
    # The person who typed it need not be asked; what the policy forbids stays forbidden.
    return HostDecision.from_verdict(decision.verdict) if decision.verdict.kind is VerdictKind.BLOCK else None


def _handle_stop(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    assert hook_event.turn is not None
    host_decision = HostDecision.from_answer(governance.stop(hook_event.turn))
    if hook_event.agent:
        return host_decision  # the integrity of the session is checked when its main agent stops
    changes = _create_integrity_check(governance, hook_event, env).find_changes()
    return _report_faults(host_decision, governance, hook_event, changes)


def _handle_start(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    integrity = _create_integrity_check(governance, hook_event, env)
    # After a compaction the session goes on: a change made before it must not become part of a new baseline.
    is_compacted = hook_event.raw.get("source") == "compact"
    notice = governance.restore_wiring(hook_event.session_id, hook_event.cwd, hook_event.kind.value)
    faults = integrity.find_changes() if is_compacted else integrity.record_baseline()
    if not is_compacted:
        integrity.keep_files()
    text = f"{TEXT_MARK} {notice}" if notice else ""
    pending = f"{TEXT_MARK} {note}" if (note := governance.policy.pending_note) else ""
    review = Answer() if is_compacted else governance.review("session-start", hook_event.cwd)
    host_decision = HostDecision.from_answer(review)
    context = "\n".join(filter(None, (host_decision.context, pending, text)))
    return _report_faults(replace(host_decision, context=context, notice=text), governance, hook_event, faults)


def _seal_log(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    """Seal the log with a checkpoint: at the end of a session, and before the host shortens the conversation."""
    if governance.store.read_head(hook_event.session_id).seq:
        reason = "session_end" if hook_event.kind is HookEventKind.END else hook_event.kind.value
        governance.store.append_checkpoint(hook_event.session_id, reason)
    if hook_event.kind is HookEventKind.END:
        governance.review("session-end", hook_event.cwd)
    return HostDecision()


def _refuse_config_change(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> HostDecision:
    source = redact_text(str(hook_event.raw.get("source", "")))[0]
    governance.store.append(
        hook_event.session_id, EntryKind.GAP, {"moment": "config", "source": source, "refused": True}
    )
    return HostDecision.block(_CONFIG_REFUSAL)


_HANDLERS: dict[HookEventKind, _Handler] = {
    HookEventKind.START: _handle_start,
    HookEventKind.PROMPT: _handle_prompt,
    HookEventKind.BEFORE: _decide_action,
    HookEventKind.AFTER: _record_outcome,
    HookEventKind.STOP: _handle_stop,
    HookEventKind.CONFIG: _refuse_config_change,
    HookEventKind.END: _seal_log,
    HookEventKind.PERMISSION: _decide_permission,
    HookEventKind.BATCH: _check_batch,
    HookEventKind.COMPACT: _seal_log,
}


def _create_integrity_check(governance: Governance, hook_event: HookEvent, env: Mapping[str, str]) -> IntegrityCheck:
    cwd = os.path.join(governance.base_directory, hook_event.cwd)
    from verdikt.hosts.integrity import IntegrityCheck  # with the wiring; only at the start and the end of a session

    return IntegrityCheck(governance.store.home, hook_event.session_id, cwd, env, file_access=governance.path_access)


def _report_faults(
    host_decision: HostDecision, governance: Governance, hook_event: HookEvent, faults: list[str]
) -> HostDecision:
    """Return the decision with these faults added to its context, and record them."""
    if not faults:
        return host_decision
    governance.store.append(
        hook_event.session_id, EntryKind.GAP, {"moment": hook_event.kind.value, "integrity": faults}
    )
    note = f"{TEXT_MARK} not as it was set up: {'; '.join(faults)}. A person should run `verdikt doctor`"
    context = "\n".join(filter(None, (host_decision.context, note)))
    # Not approved any more: a person should look at what is wrong first.
    return replace(host_decision, context=context, approved=False)


def _is_paused(governance: Governance) -> bool:
    from verdikt.ledger.pause import find_active_pause  # few events are stopped

    return find_active_pause(governance.store) is not None
