"""Constant lists and dictionaries of Python: their items, one by one, for the loops that go through them."""

import ast
from collections.abc import Callable, Mapping, Sequence

Evaluator = Callable[[ast.expr], str]
"""Returns the text that an expression evaluates to."""

MAX_ITEMS = 32
"""How many items of one list are looked at."""
_COPYING_FUNCTIONS = frozenset(("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"))


def list_elements(node: ast.expr, bound: Mapping[str, Sequence[ast.expr]]) -> Sequence[ast.expr] | None:
    """Return the expressions that a loop over `node` goes through; None when it is no list that the text shows.

    `bound` has the elements of lists by the names that stand for them. A pair of `items()` is a tuple.
    """
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts[:MAX_ITEMS]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys[:MAX_ITEMS] if key is not None]
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = list_elements(node.left, bound), list_elements(node.right, bound)
        return None if left is None or right is None else [*left, *right][:MAX_ITEMS]
    if isinstance(node, ast.Call):
        return _list_call_elements(node, bound)
    return None


def _list_call_elements(node: ast.Call, bound: Mapping[str, Sequence[ast.expr]]) -> Sequence[ast.expr] | None:
    function = node.func
    if isinstance(function, ast.Name) and len(node.args) == 1 and function.id in _COPYING_FUNCTIONS:
        return list_elements(node.args[0], bound)
    if not isinstance(function, ast.Attribute) or function.attr not in ("values", "items", "keys") or node.args:
        return None
    owner = function.value
    pairs = bound.get(owner.id) if isinstance(owner, ast.Name) else to_pairs(owner)
    if pairs is None or not all(isinstance(pair, ast.Tuple) and len(pair.elts) == 2 for pair in pairs):
        return None
    if function.attr == "items":
        return pairs
    place = 0 if function.attr == "keys" else 1
    return [pair.elts[place] for pair in pairs if isinstance(pair, ast.Tuple)]


def to_pairs(node: ast.expr) -> Sequence[ast.expr] | None:
    """Return a dictionary as tuples of key and value, and a list as its elements; None for anything else."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [
            ast.Tuple(elts=[key, value], ctx=ast.Load()) for key, value in list(pairs)[:MAX_ITEMS] if key is not None
        ]
    return node.elts[:MAX_ITEMS] if isinstance(node, ast.List | ast.Tuple | ast.Set) else None


def bind_target(target: ast.expr, elements: Sequence[ast.expr], evaluate: Evaluator) -> dict[str, list[str]]:
    """Return for each name of a loop's target the texts that it stands for in turn."""
    if isinstance(target, ast.Name):
        return {target.id: [evaluate(element) for element in elements]}
    bound: dict[str, list[str]] = {}
    if isinstance(target, ast.Tuple):
        for place, name in enumerate(target.elts):
            rows = [row.elts for row in elements if isinstance(row, ast.Tuple | ast.List)]
            if isinstance(name, ast.Name) and len(rows) == len(elements) and all(place < len(row) for row in rows):
                bound[name.id] = [evaluate(row[place]) for row in rows]
    return bound


def find_item(owner: ast.expr, key: str, bound: Mapping[str, Sequence[ast.expr]]) -> ast.expr | None:
    """Return the item of a list or dictionary under a key or number; None when the text does not show it."""
    is_table = isinstance(owner, ast.Dict)
    items = bound.get(owner.id) if isinstance(owner, ast.Name) else to_pairs(owner)
    if not items or isinstance(owner, ast.Set):
        return None
    pairs = [pair for pair in items if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
    if len(pairs) == len(items) and (is_table or not key.lstrip("-").isdigit()):
        found = [pair.elts[1] for pair in pairs if isinstance(pair.elts[0], ast.Constant)]
        keys = [str(pair.elts[0].value) for pair in pairs if isinstance(pair.elts[0], ast.Constant)]
        return found[len(keys) - 1 - keys[::-1].index(key)] if key in keys else None
    if not key.lstrip("-").isdigit():
        return None
    number = int(key)
    return items[number] if -len(items) <= number < len(items) else None
