"""One moment through governance: the same for a hook process and for the daemon."""

from typing import Any

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.ruling import Ruling

_CONFIG = (
    "the settings of this session changed while it runs, and the change is not taken over: it could switch the policy "
    "off.\nInstead: leave the settings alone; a person can start a new session, or run `verdikt pause` first"
)


def judge(governance: Any, moment: Moment) -> Ruling:
    """What is to be said to the host at this moment."""
    ruling = Ruling()
    if moment.kind is MomentKind.BEFORE and moment.action:
        decision = governance.before(moment.action, posture=moment.posture)
        ruling = Ruling.of_verdict(decision.verdict, warnings=decision.warnings, approved=decision.approved)
    elif moment.kind is MomentKind.AFTER and moment.action and moment.outcome:
        ruling = Ruling.of_answer(governance.after(moment.action, moment.outcome))
    elif moment.kind is MomentKind.PROMPT and moment.prompt:
        ruling = Ruling.of_answer(governance.prompt(moment.prompt))
    elif moment.kind is MomentKind.STOP and moment.turn:
        ruling = Ruling.of_answer(governance.stop(moment.turn))
    elif moment.kind is MomentKind.CONFIG:
        ruling = Ruling.block(_CONFIG)
    return ruling.where(moment)
