"""The policy graph by itself: one call before an action, one after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from verdikt.graph.context import GovernanceContext
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.guard_node import FAILURE_FIX, describe_error, to_node
from verdikt.graph.required_facts import needs_effects
from verdikt.graph.session_store import InMemorySessionStore
from verdikt.model.action import Action
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import (
    MAX_HISTORY,
    RISK_DECAY_FACTOR,
    find_pending_entry,
    make_history_entry,
    record_verdict,
)
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.guard import Guard, PolicyNode
    from verdikt.graph.session_store import SessionStore
    from verdikt.graph.tracer import Tracer
    from verdikt.model.action import Outcome

ClassifyEffects = Callable[[Action, Facts | None], Effects]
ObserveFacts = Callable[[Action], Facts]


class PolicyEngine:
    """Evaluates actions by a policy graph. `evaluate` always answers; whatever fails on the way there is a block.

    What is not given to `evaluate` is asked for, if the graph looks at it: facts by `observe`, effects by `classify`.
    """

    def __init__(
        self,
        root: PolicyNode | Guard,
        *,
        session_store: SessionStore | None = None,
        tracer: Tracer | None = None,
        classify: ClassifyEffects | None = None,
        observe: ObserveFacts | None = None,
    ) -> None:
        self.root = to_node(root)
        self.session_store: SessionStore = InMemorySessionStore() if session_store is None else session_store
        self.tracer = tracer
        self.classify = classify
        self.observe = observe
        self._needs_effects = (classify is not None or observe is not None) and needs_effects(self.root)

    def evaluate(
        self,
        action: Action,
        *,
        effects: Effects | None = None,
        facts: Facts | None = None,
        posture: Posture = Posture.INTERACTIVE,
        now: float | None = None,
    ) -> EvaluationResult:
        """The verdict on an action that has not happened yet; counts it in its session."""
        ctx = GovernanceContext(action, facts=facts, posture=posture)
        verdict: Verdict | None = None
        try:
            if effects is None and self._needs_effects:
                if facts is None and self.observe is not None:
                    ctx.facts = facts = self.observe(action)
                if self.classify is not None:
                    effects = self.classify(action, facts)
            ctx.now = now if now is not None else (facts.now if facts is not None else 0.0)
            if effects is not None:
                ctx.effects, ctx.classified = effects, True
            with self.session_store.open(action.session_id) as session:
                ctx.session = session
                ctx.risk_score = session.risk * RISK_DECAY_FACTOR
                session.action_count += 1
                verdict = self.root.evaluate(action, ctx)
                record_verdict(session, action, verdict, ctx.risk_score)
        except (Exception, SystemExit) as error:
            if verdict is None or verdict.kind is not VerdictKind.BLOCK:
                reason = f"the action could not be evaluated: {describe_error(error)}"
                verdict = Verdict.block(guard="engine", reason=reason, fix=FAILURE_FIX, error=True)
        if self.tracer is not None:
            try:
                self.tracer.on_evaluation(action, ctx.trace)
            except Exception as error:
                ctx.annotations["tracer_error"] = describe_error(error)
        return EvaluationResult(verdict, ctx)

    def post_action(self, action: Action, outcome: Outcome) -> None:
        """Records what came of an action, whether or not it was evaluated before."""
        with self.session_store.open(action.session_id) as session:
            history = session.history
            at = find_pending_entry(history, action)
            if at is None:
                history.append({**make_history_entry(action), "verdict": None, "guard": "", "success": outcome.success})
                del history[:-MAX_HISTORY]
            else:
                history[at] = {**history[at], "success": outcome.success}
        if self.tracer is not None:
            with suppress(Exception):  # the action has happened and is recorded: nothing is left to protect
                self.tracer.on_outcome(action, outcome)
