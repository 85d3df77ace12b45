"""The pure core: an action, the facts, a session, a posture and a policy in; a decision with its receipt out.

`govern` and `verdikt check` call it with the world as it is, `replay` with the world as it was recorded: what is recorded
was decided here, and can be decided here again.
"""

from __future__ import annotations

from verdikt import __version__
from verdikt.effects.classifier import classify
from verdikt.errors import CanonicalError
from verdikt.graph.combinator import strictest
from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.graph.course import RISK_KEPT, remember
from verdikt.graph.leaf import FIX, describe
from verdikt.graph.result import EvaluationResult
from verdikt.model.action import Action
from verdikt.model.decision import Decision, decision_record, settle
from verdikt.model.effect import EffectClass, Effects
from verdikt.model.grant import covering
from verdikt.model.posture import READ_ONLY
from verdikt.model.receipt import VERSION, Receipt, action_record, tamed, verdict_record
from verdikt.model.redaction import shield
from verdikt.model.session import SessionState
from verdikt.model.value import replace
from verdikt.model.verdict import Verdict, VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from verdikt.effects.manifest import Manifest, ToolDeclaration
    from verdikt.graph.policy import Policy
    from verdikt.model.facts import Facts
    from verdikt.model.grant import Grant
    from verdikt.model.posture import Posture

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
        return _decide(action, facts.anew(), session, posture, policy, grants=grants, engine=engine)
    except CanonicalError as error:
        return _decide(_refused(action, error), facts.anew(), session, posture, policy, grants=grants, engine=engine)


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
    judged = _judged(action, facts)
    asked = _AskedSession(session)
    inputs = {name: getattr(session, name) for name in COUNTERS}
    ctx = _AskedContext(judged, session=asked, facts=facts, posture=posture, risk_score=session.risk * RISK_KEPT)
    ctx.thorough = bool(grants)  # a grant gets past one guard, so every other must have had its say
    ruled = _evaluate(judged, ctx, policy)
    considered = () if ruled.passed else tuple(grants)
    allowed = _grant(EvaluationResult(ruled, ctx), considered)
    classes = ctx.effects.classes
    dominant = classes[0] if classes else None
    verdict = settle(allowed, posture, dominant)
    warnings = tuple(v for v in ctx.verdicts if v.kind is VerdictKind.WARN or (v.passed and v.error))
    said: dict[str, Any] = {
        "verdict": verdict,
        "effects": ctx.effects,
        "dominant": dominant,
        "posture": posture,
        "posture_after": posture,
        "warnings": warnings,
        "approved": verdict.kind is VerdictKind.PASS and not warnings and policy.approves(judged, ctx),
        "would_be": allowed if posture in READ_ONLY and verdict is not allowed else None,
    }
    receipt = Receipt.of(
        {
            "v": VERSION,
            "engine": engine,
            "policy": policy.digest,
            "action": action_record(action),
            "facts": facts.written(),
            "session": inputs | asked.answers,
            "grants": [grant.record() for grant in considered],
            "ruled": None if ruled is verdict else verdict_record(ruled),
            **decision_record(**said, classes=classes),
            "after": {"risk": ctx.risk_score, **({"slots": session.slots} if "slots" in asked.answers else {})},
        }
    )
    ctx.action = action
    session.action_count += 1
    remember(session, ctx, verdict)
    return Decision(receipt=receipt, **said)


def _judged(action: Action, facts: Facts) -> Action:
    """The action as guards see it: what was a secret is untold, and the host's id for the call, which no receipt has, is gone."""
    if not action.call_id and not facts.secrets:
        return action
    return Action(
        kind=action.kind,
        tool=action.tool,
        payload=shield(action.payload) if facts.secrets else action.payload,
        session_id=action.session_id,
        task_type=action.task_type,
        cwd=action.cwd,
        host=action.host,
        agent=action.agent,
    )


def _evaluate(action: Action, ctx: GovernanceContext, policy: Policy) -> Verdict:
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
        ctx.effects, ctx.classified = _effects(action, ctx.facts, policy, declared), True
        verdict = policy.root.evaluate(action, ctx)
        return strictest([verdict, _declared(declared, ctx)]) if declared else verdict
    except (Exception, SystemExit) as error:
        reason = f"the action could not be evaluated: {describe(error)}"
        return Verdict.block(guard="engine", reason=reason, fix=FIX, error=True)


def _effects(action: Action, facts: Facts, policy: Policy, declared: ToolDeclaration | None) -> Effects:
    """What the action would do. The highest layer can say what a tool does; what a lower one declares can only add to it."""
    if declared is None:
        return classify(action, facts)
    said = classify(action, facts, manifest={declared.name: declared.dump()})
    at = next(
        at for at, layer in enumerate(policy.layers) if action.tool in getattr(layer.section("manifest"), "tools", ())
    )
    if at == 0:
        return said
    found = classify(action, facts).items
    if policy.unknown_tools_above(at) is VerdictKind.PASS:
        found = tuple(effect for effect in found if effect.what != "unknown.tool")
    return Effects((*found, *(effect for effect in said if effect not in found)))


def _declared(tool: ToolDeclaration, ctx: GovernanceContext) -> Verdict:
    """What the manifest itself says of a declared tool. The posture alone is settled later, for every tool."""
    if tool.permitted_postures is not None and ctx.posture not in tool.permitted_postures:
        verdict = Verdict.block(
            guard="manifest",
            reason=f"`{tool.name}` is not permitted in the posture `{ctx.posture}`",
            fix=f"it may be used in: {', '.join(tool.permitted_postures)}",
        )
    elif tool.require_confirmation and not (ctx.posture in READ_ONLY and ctx.effects.dominant is EffectClass.READ):
        verdict = Verdict.ask(
            guard="manifest", reason=f"`{tool.name}` runs only after a person said yes", fix="wait for the answer"
        )
    else:
        return Verdict.pass_(guard="manifest")
    ctx.verdicts.append(verdict)
    ctx.trace.append(TraceEntry("manifest", verdict))
    return verdict


def _grant(result: EvaluationResult, grants: tuple[Grant, ...]) -> Verdict:
    """What is left of the policy's objections once the operator's grants are taken off."""
    ruled, ctx = result.verdict, result.context
    if not grants or ctx.facts is None:
        return ruled
    objections = [verdict for verdict in (ruled, *result.objections) if not verdict.passed]
    covers = [covering(grants, verdict, ctx.action, ctx.facts.now, ctx.effects) for verdict in objections]
    left = [verdict for verdict, grant in zip(objections, covers, strict=True) if grant is None]
    if left or covers[0] is None:
        return strictest(left)
    said = f"{ruled.reason}; let through by the operator's grant `{covers[0].id}`: {covers[0].reason}"
    return Verdict.warn(guard=ruled.guard, reason=said, fix=ruled.fix)


def _refused(action: Action, error: CanonicalError) -> Action:
    """The action as far as it can be written down, with what is wrong in place of its payload."""

    def clean(text: str) -> str:
        return str(text).encode("utf-8", "backslashreplace").decode()

    return replace(
        action,
        tool=clean(action.tool),
        payload={UNRECORDABLE: str(error)},
        session_id=clean(action.session_id),
        task_type=clean(action.task_type),
        cwd=clean(action.cwd),
        host=clean(action.host),
        agent=clean(action.agent),
    )


class _AskedSession(SessionState):
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
                from copy import deepcopy  # loads more than most decisions need

                answers[name] = deepcopy(value)
        return value


class _AskedContext(GovernanceContext):
    """A context that asks for the time only when a guard does, so that it is in the receipt only then."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def now(self) -> float:
        """Seconds since the epoch, when the action was looked at."""
        return self.facts.now if self.facts is not None else 0.0

    @now.setter
    def now(self, value: float) -> None:
        """The facts alone know the time."""
