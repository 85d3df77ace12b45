"""The pure core: an action, the facts, a session, a posture and a policy in; a decision with its receipt out.

`govern` and `verdikt check` call it with the world as it is, `replay` with the world as it was recorded. Nothing else decides.
"""

from collections.abc import Collection
from copy import deepcopy
from dataclasses import replace
from typing import Any

from verdikt import __version__
from verdikt.effects.classifier import classify
from verdikt.effects.manifest import Manifest
from verdikt.errors import CanonicalError
from verdikt.graph.combinator import strictest
from verdikt.graph.context import GovernanceContext
from verdikt.graph.engine import RISK_KEPT, remember
from verdikt.graph.leaf import FIX, describe
from verdikt.graph.policy import Policy
from verdikt.graph.result import EvaluationResult
from verdikt.model.action import Action
from verdikt.model.decision import Decision, settle
from verdikt.model.facts import Facts
from verdikt.model.grant import Grant, covering
from verdikt.model.posture import READ_ONLY, Posture
from verdikt.model.receipt import VERSION, Receipt, action_record, effects_record, tamed, verdict_record
from verdikt.model.secret import shield
from verdikt.model.session import SessionState
from verdikt.model.verdict import Verdict, VerdictKind

UNRECORDABLE = "unrecordable"
"""The one payload field of an action whose own payload has no canonical bytes; it says why."""

COUNTERS = ("action_count", "block_count", "consecutive_blocks", "risk")
"""What of a session every receipt holds; history and slots are there only when a guard looked at them."""


def decide(
    action: Action,
    facts: Facts,
    session: SessionState,
    posture: Posture,
    policy: Policy,
    *,
    grants: Collection[Grant] = (),
    engine: str = __version__,
) -> Decision:
    """The decision on an action whose secrets are already replaced; `session` moves on by this action.

    Whatever fails on the way is a block. `engine` is the version that the receipt names.
    """
    try:
        return _decide(action, facts, session, posture, policy, grants=grants, engine=engine)
    except CanonicalError:
        action = replace(action, payload=tamed(action.payload))
    try:
        return _decide(action, facts, session, posture, policy, grants=grants, engine=engine)
    except CanonicalError as error:
        return _decide(_refused(action, error), facts, session, posture, policy, grants=grants, engine=engine)


def _decide(
    action: Action,
    facts: Facts,
    session: SessionState,
    posture: Posture,
    policy: Policy,
    *,
    grants: Collection[Grant],
    engine: str,
) -> Decision:
    # The host's id for the call is not in the receipt, so nothing may depend on it.
    judged = replace(action, call_id="", payload=shield(action.payload) if facts.secrets else action.payload)
    asked = _AskedSession(session)
    inputs = {name: getattr(session, name) for name in COUNTERS}
    ctx = _AskedContext(judged, session=asked, facts=facts, posture=posture, risk_score=session.risk * RISK_KEPT)
    ctx.thorough = bool(grants)  # a grant gets past one guard, so every other must have had its say
    ruled = _evaluate(judged, facts, ctx, policy)
    offered = [grant for grant in grants if grant.guard == ruled.guard or not ruled.passed]
    allowed = _grant(EvaluationResult(ruled, ctx), judged, facts, offered) if offered and not ruled.passed else ruled
    dominant = ctx.effects.dominant
    verdict = settle(allowed, posture, dominant)
    would_be = allowed if posture in READ_ONLY and verdict is not allowed else None
    warnings = tuple(v for v in ctx.verdicts if v.kind is VerdictKind.WARN or (v.passed and v.error))
    approved = verdict.kind is VerdictKind.PASS and policy.approves(judged, ctx)
    after: dict[str, Any] = {"risk": ctx.risk_score}
    if "slots" in asked.answers:
        after["slots"] = session.slots
    receipt = Receipt.of(
        {
            "v": VERSION,
            "engine": engine,
            "policy": policy.digest,
            "action": action_record(action),
            "facts": facts.record(),
            "session": inputs | asked.answers,
            "grants": [grant.record() for grant in offered] if not ruled.passed else [],
            "posture": {"before": posture.value, "after": posture.value},
            "effects": effects_record(ctx.effects),
            "classes": [cls.value for cls in ctx.effects.classes],
            "dominant": dominant and dominant.value,
            "ruled": verdict_record(ruled),
            "verdict": verdict_record(verdict),
            "guard": verdict.guard,
            "warnings": [verdict_record(warning) for warning in warnings],
            "approved": approved,
            "would_be": would_be and verdict_record(would_be),
            "after": after,
        }
    )
    ctx.action = action
    session.action_count += 1
    remember(session, ctx, verdict)
    return Decision(
        verdict=verdict,
        effects=ctx.effects,
        dominant=dominant,
        posture=posture,
        posture_after=posture,
        receipt=receipt,
        warnings=warnings,
        approved=approved,
        would_be=would_be,
    )
