"""The engine for use by itself: it looks at the world and tells effects where nobody gives them."""

import os

from verdikt.effects.classifier import classify
from verdikt.graph import engine as graph
from verdikt.graph.guard import Guard, PolicyNode
from verdikt.graph.result import EvaluationResult
from verdikt.graph.session import SessionStore
from verdikt.graph.tracer import CollectingTracer, StdoutTracer, Tracer
from verdikt.model.action import Action
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.world import RealWorld

__all__ = ["CollectingTracer", "EvaluationResult", "PolicyEngine", "StdoutTracer", "Tracer"]


class SelfReliantEngine(graph.PolicyEngine):
    """A policy engine that needs nothing but an action: facts come from this machine, effects from the classifier."""

    def __init__(
        self,
        root: PolicyNode | Guard,
        *,
        session_store: SessionStore | None = None,
        tracer: Tracer | None = None,
        classify: graph.Classify | None = None,
        observe: graph.Observe | None = None,
    ) -> None:
        super().__init__(
            root,
            session_store=session_store,
            tracer=tracer,
            classify=classify or tell_effects,
            observe=observe or look,
        )


PolicyEngine = SelfReliantEngine


def look(action: Action) -> Facts:
    """The facts about where an action would happen, as this machine knows them."""
    world = RealWorld(action.cwd)
    root = str(world.place()["project_root"])
    return Facts(RealWorld(action.cwd, guarded=guarded_paths(root, os.environ)))


def tell_effects(action: Action, facts: Facts | None) -> Effects:
    """What an action would do."""
    return classify(action, facts if facts is not None else look(action))
