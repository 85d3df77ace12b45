"""Find what a Python program reads of the environment: single secrets, or all of it."""

import ast
import re
from collections.abc import Callable

from verdikt.effects.code.python_bindings import PythonBindings
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.model.lazy_regex import compile_lazily

_WHOLE_ENVIRONMENT = compile_lazily(r"^(?:[\w.]+\()*os\.environ(?:\.(?:items|copy|values)\(\))?(?:,[^)]*)?\)*$")
_SERIALIZERS = frozenset(
    "dict list tuple sorted str repr dumps urlencode encode b64encode hexlify compress quote format join items copy "
    "values bytes".split()
)
"""Functions whose result has all of what they are given."""
_MAX_ASSIGNMENTS = 2_000


class EnvironmentReads(PythonBindings):
    """Tells which expressions hold a secret of the environment, or the whole of it."""

    def imports_environment(self) -> bool:
        """Return whether the module imports `os` or its environment."""
        names = self.qualified_names.values()
        return "os" in names or "os.environ" in names

    def is_whole_environment(self, node: ast.expr) -> bool:
        """Return whether an expression is every variable of the environment, and not one of them."""
        if not self.imports_environment():
            return False
        text = ast.unparse(node).replace("__import__('os')", "os")
        for name, qualified in self.qualified_names.items():
            # `from os import environ as e`, `import os as o`.
            if qualified in ("os", "os.environ") and name != qualified:
                text = re.sub(rf"(?<![\w.]){re.escape(name)}\b", qualified, text)
        return _WHOLE_ENVIRONMENT.match(text) is not None

    def holds_environment(self, node: ast.AST) -> bool:
        """Return whether an expression has every variable of the environment in it: `{"e": {**os.environ}}`."""
        if isinstance(node, ast.Subscript | ast.Compare):
            return False  # one variable, or whether there is one
        if isinstance(node, ast.DictComp | ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self.selects_environment_secrets(node)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else self.resolve_name(node.func)
            if name.rpartition(".")[2] not in _SERIALIZERS:
                return False
        if isinstance(node, ast.Name | ast.Attribute) and self.resolve_name(node) == "os.environ":
            return self.imports_environment()
        return any(map(self.holds_environment, ast.iter_child_nodes(node)))

    def selects_environment_secrets(self, node: ast.expr) -> bool:
        """Return whether an expression filters the environment for variables that are named like secrets."""
        for inner in ast.walk(node):
            if not isinstance(inner, ast.DictComp | ast.ListComp | ast.GeneratorExp | ast.SetComp):
                continue
            generator = inner.generators[0]
            source = generator.iter
            if isinstance(source, ast.Call) and self.resolve_name(source.func) in (
                "os.environ.items",
                "os.environ.values",
            ):
                constants = [n.value for test in generator.ifs for n in ast.walk(test) if isinstance(n, ast.Constant)]
                if not generator.ifs or any(isinstance(text, str) and SECRET_NAME.search(text) for text in constants):
                    return True
        return False

    def has_environment_secret(self, nodes: list[ast.expr]) -> bool:
        """Return whether one of these expressions reads a variable that is named like a secret."""
        lookups = [inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Subscript | ast.Call)]
        for inner in lookups:
            if isinstance(inner, ast.Subscript) and self.resolve_name(inner.value) == "os.environ":
                name = self.evaluate_text(inner.slice)
            elif (
                isinstance(inner, ast.Call)
                and self.resolve_name(inner.func) in ("os.getenv", "os.environ.get")
                and inner.args
            ):
                name = self.evaluate_text(inner.args[0])
            else:
                continue
            if SECRET_NAME.search(name):
                return True
        return False


def find_tainted_names(tree: ast.AST, is_whole: Callable[[ast.expr], bool]) -> frozenset[str]:
    """Return the names that hold the whole environment, or something made of such a name."""
    tainted: set[str] = set()
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)][:_MAX_ASSIGNMENTS]
    for node in assignments:
        if is_whole(node.value) or mentions_name(node.value, tainted):
            tainted.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(tainted)


def mentions_name(node: ast.expr, names: set[str] | frozenset[str]) -> bool:
    """Return whether an expression contains one of these names."""
    return bool(names) and any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))
