"""Names of a Python program that carry the whole environment, by however many assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable

_MAX_ASSIGNMENTS = 2_000


def find_tainted_names(tree: ast.AST, is_whole: Callable[[ast.expr], bool]) -> frozenset[str]:
    """The names to which every variable is given, or something that is made of such a name."""
    found: set[str] = set()
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)][:_MAX_ASSIGNMENTS]
    for node in assignments:
        if is_whole(node.value) or _is_unfiltered_copy(node.value, is_whole) or mentions_name(node.value, found):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(found)


def mentions_name(node: ast.expr, names: set[str] | frozenset[str]) -> bool:
    """Whether an expression holds one of these names."""
    return bool(names) and any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def _is_unfiltered_copy(node: ast.expr, is_whole: Callable[[ast.expr], bool]) -> bool:
    """`{k: v for k, v in os.environ.items()}`, where nothing is left out."""
    if not isinstance(node, ast.DictComp | ast.ListComp):
        return False
    return not node.generators[0].ifs and is_whole(node.generators[0].iter)
