"""Whether a graph reads effects or facts, so that an engine collects them only when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.graph.combinator import When
from verdikt.graph.guard_node import GuardNode
from verdikt.graph.rule import RuleSet

if TYPE_CHECKING:
    from verdikt.graph.matcher import Matcher


def needs_effects(node: object) -> bool:
    """Return whether any node of a graph may read effects or facts; True when that cannot be known."""
    if isinstance(node, GuardNode):
        return node.contextual and bool(getattr(node.guard, "uses_effects", True))
    if isinstance(node, RuleSet):
        return any(
            _reads_effects(rule.when) or (rule.unless is not None and _reads_effects(rule.unless))
            for rule in node.rules
        )
    if isinstance(node, When) and node.contextual:
        return True
    children = getattr(node, "children", None)
    # A node of another library without `children` may read anything.
    return not isinstance(children, tuple) or any(map(needs_effects, children))


def _reads_effects(matcher: Matcher) -> bool:
    return matcher.on_effect or matcher.condition is not None
