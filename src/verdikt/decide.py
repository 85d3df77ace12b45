"""The pure core: an action, facts, a session, a posture and a policy in; a decision with its receipt out.

`Governance.before` and `verdikt check` call `decide` with the world as it is, `replay` with the world as it was
recorded. Every decision is made here, so every recorded decision can be made again here, with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt import __version__
from verdikt.effects.classifier import classify
from verdikt.effects.linked_places import LINKING_EFFECTS, LINKS_KEY, follow_links
from verdikt.effects.session_trail import GIT_PROGRAMS_KEY, add_remembered_effects
from verdikt.errors import CanonicalError
from verdikt.graph.context import AUDIT, GovernanceContext, TraceEntry
from verdikt.graph.failure import FAILURE_FIX, describe_error
from verdikt.graph.policy_evaluation import PolicyEvaluation, combine_evaluations
from verdikt.graph.verdict_order import strictest_verdict
from verdikt.model.action import Action, action_to_record
from verdikt.model.canonical_json import stringify_big_integers
from verdikt.model.effect import EffectClass, Effects
from verdikt.model.posture import READ_ONLY_POSTURES
from verdikt.model.redaction import mask_tokens
from verdikt.model.session_state import RISK_DECAY_FACTOR, SessionState, record_verdict
from verdikt.model.verdict import (
    PENDING_RECEIPT_VERSION,
    RECEIPT_VERSION,
    Decision,
    Receipt,
    Verdict,
    VerdictKind,
    apply_posture,
    build_receipt_fields,
    verdict_to_record,
)

if TYPE_CHECKING:
    from verdikt.effects.manifest import Manifest, ToolDeclaration
    from verdikt.graph.flow_rules import FlowRule
    from verdikt.graph.guard import PolicyNode
    from verdikt.graph.policy import Policy
    from verdikt.model.approval import ApprovalAnswer
    from verdikt.model.facts import Facts
    from verdikt.model.grant import Grant
    from verdikt.model.pause import Pause
    from verdikt.model.posture import Posture
    from verdikt.model.standing_ask import StandingAsk

UNRECORDABLE = "unrecordable"
"""The only payload field of an action whose own payload has no canonical bytes; its value says why."""

SESSION_COUNTERS = ("action_count", "block_count", "consecutive_blocks", "risk")
"""The session fields in every receipt; history and slots are added only when a guard read them."""


def decide(
    action: Action,
    facts: Facts,
    session: SessionState,
    posture: Posture,
    policy: Policy,
    *,
    grants: Collection[Grant] = (),
    pause: Pause | None = None,
    standing: StandingAsk | None = None,
    approval: ApprovalAnswer | None = None,
    engine: str = __version__,
) -> Decision:
    """Return the decision on an action whose secrets are already redacted, and count it in `session`.

    A classifier, guard or rule that fails is a block; any other failure raises, which the callers turn into a block.
    What lasts is not `session` but the log's projection of it, which counts the recorded decision by the same function.
    `standing` is what a person was asked about the same call before, `approval` what people answered away from the
    terminal; that it is for this very call, unused and in time is for the caller to know. `engine` is the version that
    the receipt names.
    """
    attempt = partial(
        _decide_recordable,
        session=session,
        posture=posture,
        policy=policy,
        grants=grants,
        pause=pause,
        standing=standing,
        approval=approval,
        engine=engine,
    )
    try:
        return attempt(action, facts)
    except CanonicalError:
        # 64-bit ids are ordinary input, but a double cannot hold them: the receipt has them as text.
        action = replace(action, payload=stringify_big_integers(action.payload))
    try:
        return attempt(action, facts.copy_without_answers())
    except CanonicalError as error:
        return attempt(_build_unrecordable_action(action, error), facts.copy_without_answers())


def _decide_recordable(
    action: Action,
    facts: Facts,
    *,
    session: SessionState,
    posture: Posture,
    policy: Policy,
    grants: Collection[Grant],
    pause: Pause | None,
    standing: StandingAsk | None,
    approval: ApprovalAnswer | None,
    engine: str,
) -> Decision:
    """Decide an action, or raise `CanonicalError`, with `session` unchanged, when it cannot be written to a receipt."""
    visible_action = _build_visible_action(action, facts)
    counters = {name: getattr(session, name) for name in SESSION_COUNTERS}

    # Classify the effects, evaluate the policy, settle with grants and posture.
    parts = policy.parts
    evaluate_by = partial(
        _evaluate_action,
        visible_action,
        facts,
        session,
        posture=posture,
        grants=grants,
        is_paused=pause is not None,
        standing=standing,
        approval=approval,
    )
    if len(parts) == 1:
        evaluation = evaluate_by(policy)
    else:
        # A change of the policy is pending: the accepted one and the changed one decide, each counting for itself.
        evaluation = combine_evaluations([evaluate_by(part) for part in parts], session.slots)
    settled = evaluation.verdict
    # No pause lifts a red line (what ran meanwhile could make the pause permanent), or a person's no to this very call.
    is_rejected = (standing is not None and standing.is_rejected) or (approval is not None and not approval.approved)
    is_final = settled.red_line or is_rejected
    is_paused = pause is not None and not settled.passed and not is_final
    verdict = pause.build_verdict() if pause is not None and is_paused else settled

    # Build the decision and its receipt.
    ctx, answers = evaluation.ctx, evaluation.answers
    classes = evaluation.classes
    fields: dict[str, Any] = {
        "verdict": verdict,
        "effects": ctx.effects,
        "dominant": classes[0] if classes else None,
        "posture": posture,
        "posture_after": posture,
        "warnings": evaluation.warnings,
        "approved": evaluation.approved,
        "would_be": evaluation.granted if posture in READ_ONLY_POSTURES and settled is not evaluation.granted else None,
    }
    receipt = Receipt.from_body(
        {
            **_describe_policies(parts),
            "engine": engine,
            "action": action_to_record(action),
            "facts": facts.to_canonical_record(),
            "session": counters | answers,
            "grants": [grant.to_record() for grant in evaluation.grants],
            "ruled": None if evaluation.ruled is verdict else verdict_to_record(evaluation.ruled),
            **build_receipt_fields(**fields, classes=classes),
            **({"pause": {**pause.to_record(), "verdict": verdict_to_record(settled)}} if pause and is_paused else {}),
            **({"standing": standing.to_record()} if standing else {}),
            **({"approval": approval.to_record()} if approval else {}),
            "after": {"risk": evaluation.risk, **({"slots": evaluation.slots} if "slots" in answers else {})},
        }
    )

    # Only now, because building the receipt may fail: a second attempt must find the session as it was.
    session.slots = evaluation.slots
    session.action_count += 1
    record_verdict(session, action, verdict, evaluation.risk)
    audit = ctx.annotations.get(AUDIT, ())
    return Decision(receipt=receipt, trace=ctx.trace, standing=standing, approval=approval, audit=audit, **fields)


def _evaluate_action(
    action: Action,
    facts: Facts,
    session: SessionState,
    policy: Policy,
    *,
    posture: Posture,
    grants: Collection[Grant],
    is_paused: bool,
    standing: StandingAsk | None,
    approval: ApprovalAnswer | None,
) -> PolicyEvaluation:
    """Return what one policy says about an action."""
    visible_session = _RecordingSession(session)
    ctx = _LazyTimeContext(
        action,
        session=visible_session,
        facts=facts,
        posture=posture,
        risk_score=session.risk * RISK_DECAY_FACTOR,
        # A grant lifts one guard and a pause all but red lines, so guards after the first block must be heard too.
        thorough=bool(grants) or is_paused,
    )
    ruled = _evaluate_policy(action, facts, ctx, policy)
    classes = ctx.effects.classes
    # Settle: people can lift an objection, the posture can only make the verdict stricter.
    considered_grants = () if ruled.passed else tuple(grants)
    granted = answered = ruled
    if standing is not None or not ruled.passed:
        # Ordinary work passes, and a process for one call should not import what only a stopped call needs.
        from verdikt.settle import settle_verdict

        granted, answered = settle_verdict(ruled, ctx, considered_grants, approval, standing)
    verdict = apply_posture(answered, posture, classes[0] if classes else None)
    # An OBSERVE guard that failed passes, but its failure must not stay unseen.
    warnings = tuple(v for v in ctx.verdicts if v.kind is VerdictKind.WARN or (v.passed and v.error))
    approved = verdict.kind is VerdictKind.PASS and not warnings and policy.approves_action(action, ctx)
    return PolicyEvaluation(
        ctx,
        classes,
        ruled,
        granted,
        verdict,
        warnings,
        approved,
        considered_grants,
        visible_session.answers,
        object.__getattribute__(visible_session, "slots"),  # not recorded as something that a guard read
        ctx.risk_score,
    )


def _describe_policies(parts: tuple[Policy, ...]) -> dict[str, Any]:
    """Return the fields of a receipt that name the policies; with a pending change, the accepted one too."""
    if len(parts) == 1:
        return {"v": RECEIPT_VERSION, "policy": parts[0].digest}
    accepted, changed = parts
    return {"v": PENDING_RECEIPT_VERSION, "policy": changed.digest, "accepted": accepted.digest}


def evaluate_graph(
    root: PolicyNode, action: Action, ctx: GovernanceContext, classify_effects: Callable[[], Effects] | None = None
) -> Verdict:
    """Classify the effects into `ctx`, then return the graph's verdict; a failure in either is a block.

    The only evaluator of graphs: `decide` uses it for a policy, `PolicyEngine` for any graph. Without
    `classify_effects` the graph sees the effects that `ctx` holds.
    """
    try:
        if classify_effects is not None:
            ctx.effects, ctx.classified = classify_effects(), True
        return root.evaluate(action, ctx)
    except (Exception, SystemExit) as error:  # a node that exits must not end the process with status 0
        return block_unevaluated(error)


def block_unevaluated(error: BaseException) -> Verdict:
    """Return the block for an action whose evaluation failed."""
    reason = f"the action could not be evaluated: {describe_error(error)}"
    return Verdict.block(guard="engine", reason=reason, fix=FAILURE_FIX, error=True)


def _build_visible_action(action: Action, facts: Facts) -> Action:
    """Return the action as guards may see it: tokens of secrets masked, and without the host's call id."""
    # A guard that decided by the call id could not be replayed, because the receipt does not have it.
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
        hints=action.hints,
    )


def _evaluate_policy(action: Action, facts: Facts, ctx: GovernanceContext, policy: Policy) -> Verdict:
    """Return the policy's verdict before grants and posture: the graph's and, for a declared tool, the manifest's."""
    if isinstance(action.payload, dict) and action.payload.keys() == {UNRECORDABLE}:
        return Verdict.block(
            guard="record",
            reason=f"the action cannot be recorded: {action.payload[UNRECORDABLE]}",
            fix="send the tool input as plain JSON: finite numbers, valid Unicode, not nested too deeply",
            error=True,
        )
    manifest: Manifest | None = policy.section("manifest")
    declaration = manifest.tools.get(action.tool) if manifest else None
    classify_effects = partial(_classify_effects, action, facts, policy, declaration)
    verdict = evaluate_graph(policy.root, action, ctx, classify_effects)
    if flows := policy.section("flow"):
        # First, because of equals the first one is shown: where the text came from says more than another rule.
        verdict = strictest_verdict([_check_flows(flows, facts, ctx), verdict])
    return strictest_verdict([verdict, _check_declaration(declaration, ctx)]) if declaration else verdict


def _check_flows(flows: tuple[FlowRule, ...], facts: Facts, ctx: GovernanceContext) -> Verdict:
    """Return what the policy's flows say after what the session has read from outside."""
    from verdikt.graph.flow_rules import GUARD, check_flows  # few policies have flows

    verdict = check_flows(flows, ctx.action, ctx.effects, facts.untrusted_sources, lambda: facts.named_words)
    if verdict is None:
        return Verdict.pass_(guard=GUARD)
    ctx.verdicts.append(verdict)
    ctx.trace.append(TraceEntry(GUARD, verdict))
    return verdict


def _classify_effects(action: Action, facts: Facts, policy: Policy, declaration: ToolDeclaration | None) -> Effects:
    """Return the effects of an action by itself and by what the session remembers.

    Only the highest layer may define a tool; lower layers can add effects to it.
    """
    if declaration is None:
        effects = classify(action, facts, programs=policy.section("knowledge"))
    else:
        effects = _classify_declared_tool(action, facts, policy, declaration)
    # A list and no generator: every decision comes through here.
    if facts.recall(LINKS_KEY) is not None or [item for item in effects.items if item.what in LINKING_EFFECTS]:
        effects = follow_links(effects, facts)
    # `git status` only reads, but runs programs that settings of the session name.
    matters = effects.may_matter_later or facts.recall(GIT_PROGRAMS_KEY) is not None
    return add_remembered_effects(effects, facts, action) if matters else effects


def _classify_declared_tool(action: Action, facts: Facts, policy: Policy, declaration: ToolDeclaration) -> Effects:
    declared_effects = classify(action, facts, manifest={declaration.name: declaration.dump()})
    layer_index = next(
        index
        for index, layer in enumerate(policy.layers)
        if action.tool in getattr(layer.section("manifest"), "tools", ())
    )
    if layer_index <= policy.first_speaking_layer:
        return declared_effects
    # A project's manifest must not make a dangerous tool harmless: what is known without it stays.
    effects = classify(action, facts).items
    if policy.unknown_tools_above(layer_index) is VerdictKind.PASS:
        effects = tuple(effect for effect in effects if effect.what != "unknown.tool")
    return Effects((*effects, *(effect for effect in declared_effects if effect not in effects)))


def _check_declaration(tool: ToolDeclaration, ctx: GovernanceContext) -> Verdict:
    """Return the manifest's own verdict on a declared tool; the posture itself is applied later, for every tool."""
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


def _build_unrecordable_action(action: Action, error: CanonicalError) -> Action:
    """Return the action as far as it can be recorded, with the error in place of its payload."""

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
    """The session as guards see it, with this action counted; records which of its fields they read."""

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
                # The receipt must hold what the guard was shown, and the session itself must stay as it was until the
                # decision stands: guards count in a copy.
                answers[name] = value
                value = deepcopy(value)
                setattr(self, name, value)
        return value


class _LazyTimeContext(GovernanceContext):
    """A context that reads the time only when a guard does, because a receipt holds the time only then."""

    __slots__ = ()

    @property
    def now(self) -> float:
        """Seconds since the epoch, when the facts were collected."""
        return self.facts.now if self.facts is not None else 0.0

    @now.setter
    def now(self, value: float) -> None:
        """Ignore the assignment: the time comes from the facts alone."""
