"""Find which names of a Python program hold what it downloads."""

import ast
from collections.abc import Callable, Iterable, Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.code.python_functions import CONNECT_FUNCTIONS, FETCH_FUNCTIONS, SEND_FUNCTIONS

_SESSIONS = word_set(
    "requests.Session requests.session httpx.Client httpx.AsyncClient urllib.request.build_opener "
    "urllib.request.OpenerDirector socket.socket"
)
_SOURCES = FETCH_FUNCTIONS | SEND_FUNCTIONS | CONNECT_FUNCTIONS | _SESSIONS
_SOURCE_MODULES = frozenset(name.partition(".")[0] for name in _SOURCES)
_MAX_BINDINGS = 2_000
_MAX_PASSES = 4


class DownloadedNames:
    """Tells which expressions hold text from the network: by a call, or by a name that such a call was assigned to."""

    __slots__ = ("_names", "_resolve_name")

    def __init__(
        self, nodes: Iterable[ast.AST], modules: Iterable[str], resolve_name: Callable[[ast.expr], str]
    ) -> None:
        self._resolve_name = resolve_name
        self._names: set[str] = set()
        if _SOURCE_MODULES.isdisjoint(module.partition(".")[0] for module in modules):
            return
        bindings = [binding for node in nodes for binding in _iter_bindings(node)][:_MAX_BINDINGS]
        for _ in range(_MAX_PASSES):
            # A function may stand below its use, and the name that it returns inside it.
            found = {name for name, value in bindings if name not in self._names and self.hold(value)}
            self._names |= found
            if not found:
                return

    def hold(self, value: ast.expr | None) -> bool:
        """Return whether an expression is made of what was downloaded."""
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Call) and self._resolve_name(node.func) in _SOURCES:
                return True
            if self._names and _to_name(node) in self._names:
                return True
        return False


def _to_name(node: ast.AST) -> str:
    """Return the name by which a binding and its use are compared: of an attribute, the attribute."""
    if isinstance(node, ast.Name):
        return node.id
    return f".{node.attr}" if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""


def _iter_bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that a statement binds, with the expression that it gets, or a function with what it returns."""
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets, value = [node.optional_vars], node.context_expr
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return | ast.Yield) and inner.value is not None:
                yield node.name, inner.value
        return
    else:
        return
    for target in targets:
        for item in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if name := _to_name(item):
                yield name, value
