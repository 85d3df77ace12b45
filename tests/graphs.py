"""Graphs for tests: guards with scripted verdicts, and random graphs with their naive description."""

from dataclasses import dataclass, field
from typing import Any as Anything

from hypothesis import strategies as st

from verdikt.graph.combinator import All, Any, Child, Escalate, Not, Threshold, When
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict, VerdictKind

ACTION = Action(kind=ActionKind.BASH, payload={"command": "ls"})


@dataclass
class ScriptedGuard:
    """A guard with a scripted verdict that counts its calls."""

    word: str
    name: str = ""
    call_count: int = field(default=0, compare=False)
    governance_layer: GovernanceLayer = GovernanceLayer.INTENT

    def __post_init__(self) -> None:
        self.name = self.name or self.word
        if self.word == "observe":
            self.governance_layer = GovernanceLayer.OBSERVE

    def check(self, action: Action) -> Verdict:
        """Return the verdict of this guard."""
        self.call_count += 1
        if self.word in ("raise", "observe"):
            raise ValueError("out of order")
        kind = VerdictKind.BLOCK if self.word == "red" else VerdictKind[self.word.upper()]
        reason, fix = f"{self.name} says so", f"ask {self.name} nicely"
        if kind is VerdictKind.PASS:
            return Verdict.pass_(guard=self.name)
        return Verdict(kind=kind, guard=self.name, reason=reason, fix=fix, red_line=self.word == "red")


def raise_error(action: Action) -> bool:
    """Raise: a condition that fails."""
    raise KeyError("no such thing")


def build_graph(graph: tuple[Anything, ...]) -> Child:
    """Build the real graph of a naive description (see tests/reference/evaluator.py)."""
    match graph:
        case ("all", children):
            return All(*map(build_graph, children))
        case ("any", children):
            return Any(*map(build_graph, children))
        case ("threshold", n, children):
            return Threshold(n, *map(build_graph, children))
        case ("not", child):
            return Not(build_graph(child))
        case ("when", None, then, otherwise):
            return When(raise_error, build_graph(then), otherwise and build_graph(otherwise))
        case ("when", holds, then, otherwise):
            return When(
                lambda action, ctx: holds, then=build_graph(then), otherwise=otherwise and build_graph(otherwise)
            )
        case ("escalate", primary, fallback):
            return Escalate(build_graph(primary), build_graph(fallback))
    return ScriptedGuard(graph[0])


leaves = st.sampled_from(["pass", "warn", "ask", "block", "red", "raise", "observe"]).map(lambda word: (word,))


def _combinators(children: st.SearchStrategy[tuple[Anything, ...]]) -> st.SearchStrategy[tuple[Anything, ...]]:
    several = st.lists(children, min_size=1, max_size=4)
    return st.one_of(
        st.tuples(st.just("all"), several),
        st.tuples(st.just("any"), several),
        several.flatmap(lambda nodes: st.tuples(st.just("threshold"), st.integers(1, len(nodes)), st.just(nodes))),
        st.tuples(st.just("not"), children),
        st.tuples(st.just("when"), st.sampled_from([True, False, None]), children, st.none() | children),
        st.tuples(st.just("escalate"), children, children),
    )


graphs = st.recursive(leaves, _combinators, max_leaves=12)
