"""`PolicyEngine`: a policy graph by itself, with its own sessions, for programs that need no policy file and no log."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from verdikt.decide import block_unevaluated, evaluate_graph
from verdikt.effects.classifier import classify as classify_action
from verdikt.graph.context import GovernanceContext
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.failure import describe_error
from verdikt.graph.guard import Guard, PolicyNode
from verdikt.graph.guard_node import to_node
from verdikt.graph.required_facts import needs_effects
from verdikt.graph.session_store import InMemorySessionStore, SessionStore
from verdikt.graph.tracer import CollectingTracer, StdoutTracer, Tracer
from verdikt.model.action import Action, Outcome
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import (
    MAX_HISTORY,
    RISK_DECAY_FACTOR,
    find_pending_entry,
    make_history_entry,
    record_verdict,
)
from verdikt.model.verdict import Verdict, VerdictKind
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld

__all__ = ["CollectingTracer", "EvaluationResult", "PolicyEngine", "StdoutTracer", "Tracer"]

ClassifyEffects = Callable[[Action, Facts | None], Effects]
ObserveFacts = Callable[[Action], Facts]


def observe_facts(action: Action) -> Facts:
    """Return the facts about the place where an action would happen, as this machine has them."""
    root = str(RealWorld(action.cwd).place()["project_root"])
    # The engine's caller keeps its action as it is; guards still learn which kinds of secrets it holds.
    _, secrets = redact_action(action)
    return Facts(RealWorld(action.cwd, guarded=list_guarded_paths(root, os.environ)), secrets=secrets)


def classify_effects(action: Action, facts: Facts | None) -> Effects:
    """Return the effects of an action; without facts, observe them first."""
    return classify_action(action, facts if facts is not None else observe_facts(action))


class PolicyEngine:
    """Evaluate actions by a policy graph. `evaluate` always returns a result; a failure on the way is a block.

    Facts and effects that are not given to `evaluate` come from `observe` and `classify`, when the graph reads them at
    all; by default from this machine. With `classify=None` and `observe=None` the graph sees only what it is given.
    """

    def __init__(
        self,
        root: PolicyNode | Guard,
        *,
        session_store: SessionStore | None = None,
        tracer: Tracer | None = None,
        classify: ClassifyEffects | None = classify_effects,
        observe: ObserveFacts | None = observe_facts,
    ) -> None:
        self.root = to_node(root)
        self.session_store: SessionStore = InMemorySessionStore() if session_store is None else session_store
        self.tracer = tracer
        self.classify = classify
        self.observe = observe
        # Looking at the disk costs far more than a graph of names and counters, so graphs that read neither skip it.
        self._needs_effects = (classify is not None or observe is not None) and needs_effects(self.root)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, session_store: SessionStore | None = None, tracer: Tracer | None = None
    ) -> Self:
        """Evaluate the graph of one policy file; a `PolicyError` lists every fault.

        Only the graph: profile, rules, guards and combinators. Manifest, posture, evidence, guidance and councils need
        the log, and therefore `Governance.load`.
        """
        from verdikt.policy import load_file  # with the YAML reader; a graph built in Python needs neither

        return cls(load_file(os.fspath(path)).root, session_store=session_store, tracer=tracer)

    def find_unreported(self, session_id: str) -> list[dict[str, Any]]:
        """Return the history entries of actions that were let through and never came to `post_action`."""
        with self.session_store.open(session_id) as session:
            return [
                dict(entry)
                for entry in session.history
                if entry["success"] is None and entry["verdict"] in (VerdictKind.PASS.word, VerdictKind.WARN.word)
            ]

    def evaluate(
        self,
        action: Action,
        *,
        effects: Effects | None = None,
        facts: Facts | None = None,
        posture: Posture = Posture.INTERACTIVE,
        now: float | None = None,
    ) -> EvaluationResult:
        """Return the verdict on an action that has not happened yet, and count it in its session."""
        ctx = GovernanceContext(action, facts=facts, posture=posture)
        verdict: Verdict | None = None
        try:
            # Before the session is locked: other processes must not wait while this one looks at the disk.
            self._collect_effects(ctx, effects)
            ctx.now = now if now is not None else (ctx.facts.now if ctx.facts is not None else 0.0)
            with self.session_store.open(action.session_id) as session:
                ctx.session = session
                ctx.risk_score = session.risk * RISK_DECAY_FACTOR
                session.action_count += 1
                verdict = evaluate_graph(self.root, action, ctx)
                record_verdict(session, action, verdict, ctx.risk_score)
        except (Exception, SystemExit) as error:
            # An action that cannot be counted must not happen; a block that was reached already keeps its reason.
            if verdict is None or verdict.kind is not VerdictKind.BLOCK:
                verdict = block_unevaluated(error)
        if self.tracer is not None:
            try:
                self.tracer.on_evaluation(action, ctx.trace)
            except Exception as error:
                ctx.annotations["tracer_error"] = describe_error(error)
        return EvaluationResult(verdict, ctx)

    def post_action(self, action: Action, outcome: Outcome) -> None:
        """Record the outcome of an action in its session, whether or not the action was evaluated before."""
        with self.session_store.open(action.session_id) as session:
            history = session.history
            index = find_pending_entry(history, action)
            if index is None:
                history.append({**make_history_entry(action), "verdict": None, "guard": "", "success": outcome.success})
                del history[:-MAX_HISTORY]
            else:
                history[index] = {**history[index], "success": outcome.success}
        if self.tracer is not None:
            # The action has happened and its outcome is recorded: a tracer that fails now endangers nothing.
            with suppress(Exception):
                self.tracer.on_outcome(action, outcome)

    def _collect_effects(self, ctx: GovernanceContext, effects: Effects | None) -> None:
        """Put the given or classified effects, and the facts observed for them, into the context."""
        if effects is None and self._needs_effects:
            if ctx.facts is None and self.observe is not None:
                ctx.facts = self.observe(ctx.action)
            if self.classify is not None:
                effects = self.classify(ctx.action, ctx.facts)
        if effects is not None:
            ctx.effects, ctx.classified = effects, True
