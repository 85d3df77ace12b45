"""The pure core: an action, the facts, a session, a posture and a policy in; a decision with its receipt out.

`govern` and `verdikt check` call it with the world as it is, `replay` with the world as it was recorded: what is recorded
was decided here, and can be decided here again.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt import __version__
from verdikt.effects.classifier import classify
from verdikt.errors import CanonicalError
from verdikt.graph.combinator import strictest_verdict
from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.guard_node import FAILURE_FIX, describe_error
from verdikt.model.action import Action, action_to_record
from verdikt.model.canonical_json import stringify_big_integers
from verdikt.model.effect import EffectClass, Effects
from verdikt.model.grant import find_covering_grant
from verdikt.model.posture import READ_ONLY_POSTURES
from verdikt.model.redaction import mask_tokens
from verdikt.model.session_state import RISK_DECAY_FACTOR, SessionState, record_verdict
from verdikt.model.verdict import (
    RECEIPT_VERSION,
    Decision,
    Receipt,
    Verdict,
    VerdictKind,
    apply_posture,
    build_decision_record,
    verdict_to_record,
)

if TYPE_CHECKING:
    from verdikt.effects.manifest import Manifest, ToolDeclaration
    from verdikt.graph.policy import Policy
    from verdikt.model.facts import Facts
    from verdikt.model.grant import Grant
    from verdikt.model.posture import Posture

UNRECORDABLE = "unrecordable"
"""The one payload field of an action whose own payload has no canonical bytes; it says why."""

SESSION_COUNTERS = ("action_count", "block_count", "consecutive_blocks", "risk")
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
        return _decide_once(action, facts, session, posture, policy, grants=grants, engine=engine)
    except CanonicalError:
        action = replace(action, payload=stringify_big_integers(action.payload))
    try:
        return _decide_once(
            action, facts.copy_without_answers(), session, posture, policy, grants=grants, engine=engine
        )
    except CanonicalError as error:
        return _decide_once(
            _build_unrecordable_action(action, error),
            facts.copy_without_answers(),
            session,
            posture,
            policy,
            grants=grants,
            engine=engine,
        )


def _decide_once(
    action: Action,
    facts: Facts,
    session: SessionState,
    posture: Posture,
    policy: Policy,
    *,
    grants: Collection[Grant],
    engine: str,
) -> Decision:
    judged = _redact_for_guards(action, facts)
    asked = _RecordingSession(session)
    inputs = {name: getattr(session, name) for name in SESSION_COUNTERS}
    ctx = _LazyTimeContext(
        judged, session=asked, facts=facts, posture=posture, risk_score=session.risk * RISK_DECAY_FACTOR
    )
    ctx.thorough = bool(grants)  # a grant gets past one guard, so every other must have had its say
    ruled = _evaluate_policy(judged, ctx, policy)
    considered = () if ruled.passed else tuple(grants)
    allowed = _apply_grants(EvaluationResult(ruled, ctx), considered)
    classes = ctx.effects.classes
    dominant = classes[0] if classes else None
    verdict = apply_posture(allowed, posture, dominant)
    warnings = tuple(v for v in ctx.verdicts if v.kind is VerdictKind.WARN or (v.passed and v.error))
    said: dict[str, Any] = {
        "verdict": verdict,
        "effects": ctx.effects,
        "dominant": dominant,
        "posture": posture,
        "posture_after": posture,
        "warnings": warnings,
        "approved": verdict.kind is VerdictKind.PASS and not warnings and policy.approves_action(judged, ctx),
        "would_be": allowed if posture in READ_ONLY_POSTURES and verdict is not allowed else None,
    }
    receipt = Receipt.from_body(
        {
            "v": RECEIPT_VERSION,
            "engine": engine,
            "policy": policy.digest,
            "action": action_to_record(action),
            "facts": facts.to_canonical_record(),
            "session": inputs | asked.answers,
            "grants": [grant.to_record() for grant in considered],
            "ruled": None if ruled is verdict else verdict_to_record(ruled),
            **build_decision_record(**said, classes=classes),
            "after": {"risk": ctx.risk_score, **({"slots": session.slots} if "slots" in asked.answers else {})},
        }
    )
    ctx.action = action
    session.action_count += 1
    record_verdict(session, action, verdict, ctx.risk_score)
    return Decision(receipt=receipt, **said)


def _redact_for_guards(action: Action, facts: Facts) -> Action:
    """The action as guards see it: what was a secret is untold, and the host's id for the call, which no receipt has, is gone."""
    if not action.call_id and not facts.secrets:
        return action
    return Action(
        kind=action.kind,
        tool=action.tool,
        payload=mask_tokens(action.payload) if facts.secrets else action.payload,
        session_id=action.session_id,
        task_type=action.task_type,
        cwd=action.cwd,
        host=action.host,
        agent=action.agent,
    )


def _evaluate_policy(action: Action, ctx: GovernanceContext, policy: Policy) -> Verdict:
    """The policy's own verdict: effects first, then the graph. A failure in either is a block, never permission."""
    if isinstance(action.payload, dict) and action.payload.keys() == {UNRECORDABLE}:
        return Verdict.block(
            guard="record",
            reason=f"the action cannot be recorded: {action.payload[UNRECORDABLE]}",
            fix="send the tool input as plain JSON: finite numbers, valid Unicode, not nested too deeply",
            error=True,
        )
    try:
        manifest: Manifest | None = policy.section("manifest")
        declared = manifest.tools.get(action.tool) if manifest else None
        assert ctx.facts is not None
        ctx.effects, ctx.classified = _classify_effects(action, ctx.facts, policy, declared), True
        verdict = policy.root.evaluate(action, ctx)
        return strictest_verdict([verdict, _check_declaration(declared, ctx)]) if declared else verdict
    except (Exception, SystemExit) as error:
        reason = f"the action could not be evaluated: {describe_error(error)}"
        return Verdict.block(guard="engine", reason=reason, fix=FAILURE_FIX, error=True)


def _classify_effects(action: Action, facts: Facts, policy: Policy, declaration: ToolDeclaration | None) -> Effects:
    """What the action would do. The highest layer can say what a tool does; what a lower one declares can only add to it."""
    if declaration is None:
        return classify(action, facts)
    said = classify(action, facts, manifest={declaration.name: declaration.dump()})
    at = next(
        at for at, layer in enumerate(policy.layers) if action.tool in getattr(layer.section("manifest"), "tools", ())
    )
    if at == 0:
        return said
    found = classify(action, facts).items
    if policy.unknown_tools_above(at) is VerdictKind.PASS:
        found = tuple(effect for effect in found if effect.what != "unknown.tool")
    return Effects((*found, *(effect for effect in said if effect not in found)))


def _check_declaration(tool: ToolDeclaration, ctx: GovernanceContext) -> Verdict:
    """What the manifest itself says of a declared tool. The posture alone is settled later, for every tool."""
    if tool.permitted_postures is not None and ctx.posture not in tool.permitted_postures:
        verdict = Verdict.block(
            guard="manifest",
            reason=f"`{tool.name}` is not permitted in the posture `{ctx.posture}`",
            fix=f"it may be used in: {', '.join(tool.permitted_postures)}",
        )
    elif tool.require_confirmation and not (
        ctx.posture in READ_ONLY_POSTURES and ctx.effects.dominant is EffectClass.READ
    ):
        verdict = Verdict.ask(
            guard="manifest", reason=f"`{tool.name}` runs only after a person said yes", fix="wait for the answer"
        )
    else:
        return Verdict.pass_(guard="manifest")
    ctx.verdicts.append(verdict)
    ctx.trace.append(TraceEntry("manifest", verdict))
    return verdict


def _apply_grants(result: EvaluationResult, grants: tuple[Grant, ...]) -> Verdict:
    """What is left of the policy's objections once the operator's grants are taken off."""
    ruled, ctx = result.verdict, result.context
    if not grants or ctx.facts is None:
        return ruled
    objections = [verdict for verdict in (ruled, *result.objections) if not verdict.passed]
    covers = [find_covering_grant(grants, verdict, ctx.action, ctx.facts.now, ctx.effects) for verdict in objections]
    left = [verdict for verdict, grant in zip(objections, covers, strict=True) if grant is None]
    if left or covers[0] is None:
        return strictest_verdict(left)
    said = f"{ruled.reason}; let through by the operator's grant `{covers[0].id}`: {covers[0].reason}"
    return Verdict.warn(guard=ruled.guard, reason=said, fix=ruled.fix)


def _build_unrecordable_action(action: Action, error: CanonicalError) -> Action:
    """The action as far as it can be written down, with what is wrong in place of its payload."""

    def escape_surrogates(text: str) -> str:
        return str(text).encode("utf-8", "backslashreplace").decode()

    return replace(
        action,
        tool=escape_surrogates(action.tool),
        payload={UNRECORDABLE: str(error)},
        session_id=escape_surrogates(action.session_id),
        task_type=escape_surrogates(action.task_type),
        cwd=escape_surrogates(action.cwd),
        host=escape_surrogates(action.host),
        agent=escape_surrogates(action.agent),
    )


class _RecordingSession(SessionState):
    """A session as guards see it, this action counted, that remembers what they looked at."""

    __slots__ = ("answers",)

    def __init__(self, state: SessionState) -> None:
        self.answers: dict[str, Any] = {}
        counters = (state.block_count, state.consecutive_blocks, state.risk)
        super().__init__(state.session_id, state.action_count + 1, *counters, state.history, state.slots)

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if name in ("history", "slots"):
            answers = object.__getattribute__(self, "answers")
            if name not in answers:
                answers[name] = deepcopy(value)
        return value


class _LazyTimeContext(GovernanceContext):
    """A context that asks for the time only when a guard does, so that it is in the receipt only then."""

    __slots__ = ()

    @property
    def now(self) -> float:
        """Seconds since the epoch, when the action was looked at."""
        return self.facts.now if self.facts is not None else 0.0

    @now.setter
    def now(self, value: float) -> None:
        """The facts alone know the time."""
