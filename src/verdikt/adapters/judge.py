"""One moment through governance: the same for a hook process and for the daemon."""

from __future__ import annotations

import os

from verdikt.adapters.moment import MomentKind
from verdikt.adapters.ruling import MARK, Ruling
from verdikt.model.entry import EntryKind
from verdikt.model.redaction import redact_text
from verdikt.model.verdict import VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from verdikt.adapters.moment import Moment
    from verdikt.govern import Governance

_CONFIG = (
    "the settings of this session changed while it runs, and the change is not taken over: it could switch the policy "
    "off.\nInstead: leave the settings alone; a person can start a new session, or run `verdikt pause` first"
)


def judge(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    """What is to be said to the host at this moment. During a pause everything but red lines is let through, decided and recorded as ever."""
    ruling = _RULES.get(moment.kind, _nothing)(governance, moment, env).where(moment)
    # Before an action the flow itself has looked at the pause, and at what a pause does not touch.
    before = (MomentKind.BEFORE, MomentKind.PERMISSION)
    if moment.kind not in before and ruling.kind >= VerdictKind.ASK and _paused(governance):
        return Ruling(context=f"{MARK} paused by the operator: this would have been stopped")
    return ruling


def _nothing(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    return Ruling()


def _before(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    assert moment.action is not None
    decision = governance.before(moment.action, posture=moment.posture)
    return Ruling.of_verdict(decision.verdict, warnings=decision.warnings, approved=decision.approved)


def _permission(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    """The second line: a call about which a person is to be asked, and which the hook before it never got to decide."""
    from verdikt.adapters.covered import decision_for

    assert moment.action is not None
    verdict = decision_for(moment.action, governance.store)
    if verdict is None or verdict.get("kind") == VerdictKind.BLOCK.word:
        return _before(governance, moment, env)
    return Ruling()


def _batch(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    from verdikt.adapters.covered import undecided

    missed = undecided(moment.raw.get("tool_calls"), moment.session_id, governance.store)
    return _told(Ruling(), governance, moment, missed)


def _after(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    assert moment.action is not None
    assert moment.outcome is not None
    return Ruling.of_answer(governance.after(moment.action, moment.outcome))


def _prompt(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    assert moment.prompt is not None
    return Ruling.of_answer(governance.prompt(moment.prompt))


def _stop(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    assert moment.turn is not None
    ruling = Ruling.of_answer(governance.stop(moment.turn))
    return ruling if moment.agent else _told(ruling, governance, moment, _integrity(governance, moment, env).changes())


def _start(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    integrity = _integrity(governance, moment, env)
    # A compacted conversation goes on: what changed before must not become what it is measured by.
    goes_on = moment.raw.get("source") == "compact"
    return _told(Ruling(), governance, moment, integrity.changes() if goes_on else integrity.start())


def _end(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    """The log so far is sealed: at the end, and before a host forgets what was said."""
    if governance.store.head(moment.session_id).seq:
        reason = "session_end" if moment.kind is MomentKind.END else moment.kind.value
        governance.store.checkpoint(moment.session_id, reason)
    return Ruling()


def _config(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Ruling:
    where = redact_text(str(moment.raw.get("source", "")))[0]
    governance.store.append(moment.session_id, EntryKind.GAP, {"moment": "config", "source": where, "refused": True})
    return Ruling.block(_CONFIG)


_RULES = {
    MomentKind.START: _start,
    MomentKind.PROMPT: _prompt,
    MomentKind.BEFORE: _before,
    MomentKind.AFTER: _after,
    MomentKind.STOP: _stop,
    MomentKind.CONFIG: _config,
    MomentKind.END: _end,
    MomentKind.PERMISSION: _permission,
    MomentKind.BATCH: _batch,
    MomentKind.COMPACT: _end,
}


def _integrity(governance: Governance, moment: Moment, env: Mapping[str, str]) -> Any:
    from verdikt.adapters.integrity import Integrity

    where = os.path.join(governance.here, moment.cwd)
    return Integrity(governance.store.home, moment.session_id, where, env, look=governance.look)


def _told(ruling: Ruling, governance: Governance, moment: Moment, faults: list[str]) -> Ruling:
    """The ruling with what is not as it should be, which also goes into the log."""
    if not faults:
        return ruling
    governance.store.append(moment.session_id, EntryKind.GAP, {"moment": moment.kind.value, "integrity": faults})
    note = f"{MARK} not as it was set up: {'; '.join(faults)}. A person should run `verdikt doctor`"
    return Ruling(kind=ruling.kind, reason=ruling.reason, context="\n".join(filter(None, (ruling.context, note))))


def _paused(governance: Governance) -> bool:
    from verdikt.ledger import pause

    return pause.current(governance.store) is not None
