"""The engine for use by itself: it looks at the world and tells effects where nobody gives them."""

import os

from verdikt.effects.classifier import classify
from verdikt.graph import engine as graph
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.guard import Guard, PolicyNode
from verdikt.graph.session_store import SessionStore
from verdikt.graph.tracer import CollectingTracer, StdoutTracer, Tracer
from verdikt.model.action import Action
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld

__all__ = ["CollectingTracer", "EvaluationResult", "PolicyEngine", "StdoutTracer", "Tracer"]


class StandaloneEngine(graph.PolicyEngine):
    """A policy engine that needs nothing but an action: facts come from this machine, effects from the classifier."""

    def __init__(
        self,
        root: PolicyNode | Guard,
        *,
        session_store: SessionStore | None = None,
        tracer: Tracer | None = None,
        classify: graph.ClassifyEffects | None = None,
        observe: graph.ObserveFacts | None = None,
    ) -> None:
        super().__init__(
            root,
            session_store=session_store,
            tracer=tracer,
            classify=classify or classify_effects,
            observe=observe or observe_facts,
        )


PolicyEngine = StandaloneEngine


def observe_facts(action: Action) -> Facts:
    """The facts about where an action would happen, as this machine knows them."""
    world = RealWorld(action.cwd)
    root = str(world.place()["project_root"])
    return Facts(RealWorld(action.cwd, guarded=list_guarded_paths(root, os.environ)))


def classify_effects(action: Action, facts: Facts | None) -> Effects:
    """What an action would do."""
    return classify(action, facts if facts is not None else observe_facts(action))
