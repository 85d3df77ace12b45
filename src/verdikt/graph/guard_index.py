"""Names of everything in a policy that can object to an action: what grants and exceptions may name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from verdikt.graph.rule import RuleSet

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy

MANIFEST_GUARD = "manifest"
"""The guard that speaks for the tools that a policy declares."""


def index_guards(policy: Policy) -> dict[str, bool]:
    """Return each rule, guard and combinator of a policy by name, with whether it is a red line.

    A name that several rules share is a red line if one of them is.
    """
    names: dict[str, bool] = {}
    for name, red_line in _iter_names(policy.nodes):
        names[name] = names.get(name, False) or red_line
    if policy.section(MANIFEST_GUARD):
        names[MANIFEST_GUARD] = False
    return names


def _iter_names(nodes: Iterable[object]) -> Iterator[tuple[str, bool]]:
    for node in nodes:
        if isinstance(node, RuleSet):
            # The set itself never objects: its verdict names the rule.
            yield from ((rule.name, rule.red_line) for rule in node.rules)
            continue
        yield str(getattr(node, "name", "")), False
        yield from _iter_names(getattr(node, "children", ()))
