"""What a graph looks at, so that nothing is looked up for nobody."""

from __future__ import annotations

from verdikt.graph.combinator import When
from verdikt.graph.leaf import Leaf
from verdikt.graph.rule import RuleSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.graph.match import Matcher


def needs_effects(node: object) -> bool:
    """Whether any part of a graph may look at effects or facts; what cannot be told counts as yes."""
    if isinstance(node, Leaf):
        return node.contextual and bool(getattr(node.guard, "uses_effects", True))
    if isinstance(node, RuleSet):
        return any(_looks(rule.when) or (rule.unless is not None and _looks(rule.unless)) for rule in node.rules)
    if isinstance(node, When) and node.contextual:
        return True
    children = getattr(node, "children", None)
    return not isinstance(children, tuple) or any(map(needs_effects, children))


def _looks(matcher: Matcher) -> bool:
    return matcher.on_effect or matcher.condition is not None
