"""Follow the calls of a module's own functions and methods, with the constants that they are called with."""

import ast
from collections import Counter
from collections.abc import Callable, Sequence

from verdikt.effects.code.python_call_effects import CallEffects
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect
from verdikt.shell.command import UNKNOWN

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MAX_INLINED_CALLS = 20


class InlinedCalls(CallEffects):
    """Knows the functions of one module, and classifies their bodies where they are called."""

    def __init__(self, call: Invocation) -> None:
        super().__init__(call)
        self.effects: list[Effect] = []
        self.functions: dict[str, _Function] = {}
        """Functions and methods by their name, and lambdas by the name that they are assigned to."""
        self._methods: frozenset[str] = frozenset()
        self._inlined_calls = 0

    def find_inlined_nodes(self, nodes: Sequence[ast.AST]) -> frozenset[int]:
        """Return the calls in functions that are only called with constants: those are judged where they are called."""
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                self.functions.update({t.id: node.value for t in node.targets if isinstance(t, ast.Name)})
        if not self.functions:
            return frozenset()
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        self._methods = frozenset(i.name for c in classes for i in c.body if isinstance(i, ast.FunctionDef))
        calls: dict[str, list[ast.Call]] = {name: [] for name in self.functions}
        mentions: Counter[str] = Counter()
        for node in nodes:
            if isinstance(node, ast.Call) and self.find_callee(node) is not None:
                calls[_get_name(node.func)].append(node)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                mentions[_get_name(node)] += 1
        if sum(map(len, calls.values())) > _MAX_INLINED_CALLS:
            return frozenset()
        inlined = [
            self.functions[name]
            for name, own_calls in calls.items()
            if own_calls
            and not getattr(self.functions[name], "decorator_list", ())
            and mentions[name] == len(own_calls)
            if all(self._binds_all(call, self.functions[name]) for call in own_calls)
        ]
        return frozenset(id(n) for function in inlined for n in ast.walk(function) if isinstance(n, ast.Call))

    def find_callee(self, node: ast.Call) -> _Function | None:
        """Return the function or method of this module that a call means; None for anything else."""
        name = _get_name(node.func)
        if isinstance(node.func, ast.Name):
            return self.functions.get(name) if name not in self._methods else None
        # A method of an imported module may have the same name.
        if (
            name in self._methods
            and self.resolve_name(node.func).partition(".")[0] not in self.qualified_names.values()
        ):
            return self.functions[name]
        return None

    def _list_parameters(self, function: _Function) -> list[tuple[str, ast.expr | None]]:
        """Return the parameters with their defaults, without the object that a method belongs to."""
        own = function.args
        defaults = [*[None] * (len(own.args) - len(own.defaults)), *own.defaults]
        parameters = [(argument.arg, default) for argument, default in zip(own.args, defaults, strict=False)]
        return parameters[1:] if parameters and parameters[0][0] in ("self", "cls") else parameters

    def _binds_all(self, call: ast.Call, function: _Function) -> bool:
        """Return whether a call gives a constant for every parameter of a plain function."""
        own, parameters = function.args, self._list_parameters(function)
        if own.vararg or own.kwarg or own.kwonlyargs or own.posonlyargs or not parameters:
            return False
        bound = self._bind_parameters(call, function)
        return len(bound) == len(parameters)

    def _bind_parameters(self, call: ast.Call, function: _Function) -> dict[str, str]:
        """Return the parameters that a call gives a constant, or leaves at a constant default."""
        parameters = self._list_parameters(function)
        given: dict[str, ast.expr | None] = dict(parameters)
        given |= {name: value for (name, _), value in zip(parameters, call.args, strict=False)}
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        return {name: text for name, value in given.items() if UNKNOWN not in (text := self.evaluate_text(value))}

    def classify_body(self, node: ast.Call, function: _Function, classify_call: Callable[[ast.Call], None]) -> None:
        """Classify the body of a function of this module, with the constants that it is called with."""
        texts = self._bind_parameters(node, function)
        if not texts:
            return
        if self._inlined_calls >= _MAX_INLINED_CALLS:
            note = "more calls than can be followed"
            self.effects.append(self.call.make_effect("code.unknown", possible=True, note=note))
            return
        self._inlined_calls += 1
        before = dict(self.values)
        self.values.update(texts)
        inner_nodes = list(ast.walk(function))
        for inner in inner_nodes:
            if isinstance(inner, ast.Assign):
                self.record_node(inner)
        for inner in inner_nodes:
            if isinstance(inner, ast.Call):
                classify_call(inner)
        self.values = before


def _get_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
