"""Whether a loop of Python touches only some of what it goes through, or all but what it names."""

import ast

_NEUTRAL_TESTS = frozenset("is_dir is_file is_symlink exists isdir isfile islink lexists".split())
"""Tests that tell files, directories and links apart: together their branches take everything."""
_MAX_TESTS = 24


def is_selective_loop(node: ast.For | ast.comprehension) -> bool:
    """Return whether a loop chooses what it touches, other than by leaving out what it names.

    `if name not in KEEP: remove(name)` touches all but a few; `if name.endswith(".tmp"): remove(name)` a few.
    """
    if isinstance(node, ast.comprehension):
        return any(not _excludes_named(test) for test in node.ifs)
    tests = [inner for inner in ast.walk(node) if isinstance(inner, ast.If | ast.IfExp | ast.comprehension)]
    for inner in tests[:_MAX_TESTS]:
        if isinstance(inner, ast.comprehension):
            if any(not _excludes_named(test) for test in inner.ifs):
                return True
            continue
        skips = isinstance(inner, ast.If) and isinstance(inner.body[0], ast.Continue)
        if not (_selects_named(inner.test) if skips else _excludes_named(inner.test)):
            return True
    return False


def _excludes_named(test: ast.expr) -> bool:
    """Return whether a test is true for all but what it names, or only tells files, directories and links apart."""
    if isinstance(test, ast.BoolOp):
        return all(map(_excludes_named, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_neutral(test.operand) or _selects_named(test.operand)
    if isinstance(test, ast.Compare):
        return all(isinstance(operator, ast.NotIn | ast.NotEq) for operator in test.ops)
    return _is_neutral(test)


def _selects_named(test: ast.expr) -> bool:
    """Return whether a test is true for a few that it names: `name in KEEP`, `name.startswith(".")`."""
    if isinstance(test, ast.BoolOp):
        return all(map(_selects_named, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(operator, ast.In | ast.Eq) for operator in test.ops)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        return test.func.attr == "startswith" or _is_neutral(test)
    return False


def _is_neutral(test: ast.expr) -> bool:
    if not isinstance(test, ast.Call):
        return False
    name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
    return name in _NEUTRAL_TESTS
