"""Record what the statements of a Python module bind names to: imports, assignments, loops, classes, parameters."""

import ast

from verdikt.effects.arguments import word_set
from verdikt.effects.code import quote_shell_word
from verdikt.effects.code.python_constants import UNQUOTED, PythonConstants, list_choices
from verdikt.effects.code.python_filters import is_selective_loop
from verdikt.effects.code.python_sequences import MAX_ITEMS, bind_target, list_elements, to_pairs
from verdikt.shell.command import UNKNOWN

_STAR_IMPORTS = {
    "os": word_set(
        "system popen remove unlink rmdir removedirs rename replace kill killpg execv execvp spawnlp walk listdir "
        "environ getenv"
    ),
    "subprocess": word_set("run call check_call check_output Popen getoutput getstatusoutput"),
    "shutil": word_set("rmtree move copy copy2 copyfile copytree unpack_archive"),
    "pathlib": word_set("Path"),
}
"""The names that `from module import *` brings, of those that matter."""

_BARE_LISTINGS = ("os.listdir",)
"""Functions that list names without the directory in which they are."""


class PythonBindings(PythonConstants):
    """Fills in the names of one module."""

    def record_node(self, node: ast.AST) -> None:
        """Record what a statement binds a name to: an import, an assignment, a loop, a `with`."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.qualified_names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    self.qualified_names.update(
                        {name: f"{node.module}.{name}" for name in _STAR_IMPORTS.get(node.module or "", ())}
                    )
                self.qualified_names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self._record_definition(node)
        else:
            self._record_binding(node)

    # Classes and functions.

    def _record_definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Record the constants of a class, and what a function returns."""
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            self.classes[node.name] = next((method for method in methods if method.name == "__init__"), None)
            for item in node.body:
                if isinstance(item, ast.Assign | ast.AnnAssign):
                    for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                        if isinstance(target, ast.Name):
                            self._assign_field(node.name, target.id, item.value)
            return
        returned = [
            inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value is not None
        ]
        if len(returned) == 1 and returned[0] is not None:
            self.results[node.name] = ([argument.arg for argument in node.args.args], returned[0])

    def _assign_field(self, owner: str, name: str, value: ast.expr | None) -> None:
        """Record an attribute under the name of its owner, and under `self`, for methods and objects."""
        text = self.evaluate_text(value)
        if UNKNOWN not in text:
            self.values[f"{owner}.{name}"] = text
            self.values[f"self.{name}"] = text

    def _record_object(self, name: str, call: ast.Call) -> None:
        """Record the attributes that an object is made with: `Job(command="…")`, `SimpleNamespace(command="…")`."""
        for keyword in call.keywords:
            if keyword.arg:
                self._assign_field(name, keyword.arg, keyword.value)
        function = self.resolve_name(call.func)
        if function == "dict" and call.keywords:
            pairs = [(ast.Constant(k.arg), k.value) for k in call.keywords if k.arg]
            self.elements[name] = [ast.Tuple(elts=[key, value], ctx=ast.Load()) for key, value in pairs]
        if function in self.classes:
            self.instances.add(name)

    def _record_construction(self, call: ast.Call) -> None:
        """Record what the `__init__` of a class keeps of the arguments of a call."""
        method = self.classes.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if method is None or not (call.args or call.keywords):
            return
        parameters = [argument.arg for argument in method.args.args[1:]]
        given = [*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        values = dict(given)
        for inner in ast.walk(method):
            if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Name) and inner.value.id in values:
                for target in inner.targets:
                    if isinstance(target, ast.Attribute):
                        self._assign_field("self", target.attr, values[inner.value.id])

    def _record_binding(self, node: ast.AST) -> None:
        """Record the value of a name that an assignment, a loop or a `with` binds."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign_target(target, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and (items := list_elements(node.iter, self.elements)):
            for name, texts in bind_target(node.target, items, self.evaluate_text).items():
                self.alternatives[name] = [*self.alternatives.get(name, ()), *texts][:MAX_ITEMS]
                self.values[name] = self.alternatives[name][0]
        elif isinstance(node, ast.Call | ast.AugAssign):
            self._extend_list(node)
            if isinstance(node, ast.Call):
                self._record_call(node)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Tuple):
            if not is_selective_loop(node):
                self._assign_walk(node.target.elts, node.iter)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            # A loop over everything that chooses some of it says nothing about what it touches.
            is_listing = isinstance(node.iter, ast.Call) and self.resolve_name(node.iter.func) in _BARE_LISTINGS
            if is_listing and UNKNOWN not in self.evaluate_text(node.iter):
                self.values[node.target.id] = UNKNOWN if is_selective_loop(node) else "*"
            elif not self.evaluate_text(node.iter).endswith("*") or not is_selective_loop(node):
                self._assign_name(node.target.id, node.iter)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._assign_name(node.optional_vars.id, node.context_expr)

    def _assign_target(self, target: ast.expr, value: ast.expr | None) -> None:
        """Record an assignment to a name, to several, to an attribute or to an item of a table."""
        if value is None:
            return  # `name: str` says nothing of its value
        if isinstance(target, ast.Name):
            self._assign_name(target.id, value)
        elif isinstance(target, ast.Tuple):
            self._assign_tuple(target.elts, value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            text = self.evaluate_text(value)
            if UNKNOWN not in text:
                self.values[f"{target.value.id}.{target.attr}"] = text
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            items = [*self.elements.get(target.value.id, ()), ast.Tuple(elts=[target.slice, value], ctx=ast.Load())]
            self.elements[target.value.id] = items[-MAX_ITEMS:]

    def _record_call(self, node: ast.Call) -> None:
        """Record calls that bind: of a class of the module, and `setattr`."""
        if isinstance(node.func, ast.Name) and node.func.id in self.classes:
            self._record_construction(node)
        elif isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3:
            owner, name = node.args[0], self.evaluate_text(node.args[1])
            if isinstance(owner, ast.Name):
                self._assign_field(owner.id, name, node.args[2])

    def _extend_list(self, node: ast.Call | ast.AugAssign) -> None:
        """Record `words.append(x)`, `words.extend([…])` and `words += […]`."""
        target: ast.expr
        if isinstance(node, ast.AugAssign):
            target, added = node.target, node.value
            is_list = isinstance(added, ast.List | ast.Tuple)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend") and len(node.args) == 1:
            target, added = node.func.value, node.args[0]
            is_list = node.func.attr == "extend"
        else:
            return
        if not isinstance(target, ast.Name) or target.id not in self.values:
            return
        text = self.evaluate_text(added)
        if target.id in self.elements:
            items = list_elements(added, self.elements) if is_list else [added]
            self.elements[target.id] = [*self.elements[target.id], *(items or ())][:MAX_ITEMS]
            self.values[target.id] += f" {text if is_list else quote_shell_word(text, UNQUOTED)}"
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            self.values[target.id] += text

    def _assign_tuple(self, names: list[ast.expr], value: ast.expr) -> None:
        """Record `a, b = 1, 2`, and `handle, path = tempfile.mkstemp()`."""
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(names)
        temporary = isinstance(value, ast.Call) and self.resolve_name(value.func).startswith("tempfile.")
        if (temporary or len(values) == len(names)) and (temporary or not isinstance(value, ast.Call)):
            for name, item in zip(names, values, strict=True):
                if isinstance(name, ast.Name):
                    self._assign_name(name.id, item)

    def _assign_walk(self, names: list[ast.expr], walk: ast.expr) -> None:
        """Record `for place, directories, files in os.walk(top)` as everything below the top."""
        if isinstance(walk, ast.Call) and self.resolve_name(walk.func) == "os.walk" and walk.args and len(names) == 3:
            top = self.evaluate_text(walk.args[0])
            for name, value in zip(names, (f"{top.rstrip('/')}/**", "*", "*"), strict=True):
                if isinstance(name, ast.Name) and UNKNOWN not in value:
                    self.values[name.id] = value

    def _assign_name(self, name: str, value: ast.expr) -> None:
        text = self.evaluate_text(value)
        if (pairs := to_pairs(value)) is not None:
            self.elements[name] = pairs
        if isinstance(value, ast.Call) and (value.keywords or value.args or self.classes):
            self._record_object(name, value)
        if len(choices := list_choices(value)) > 1:
            known = [choice for choice in map(self.evaluate_text, choices) if UNKNOWN not in choice]
            if len(known) > 1:
                self.alternatives[name] = [*self.alternatives.get(name, ()), *known][:MAX_ITEMS]
        # An unknown value does not clear an earlier constant: statements are not visited in the order of execution.
        if UNKNOWN not in text:
            self.values[name] = text
        elif isinstance(value, ast.Attribute | ast.Call) and (qualified := self.resolve_name(value)):
            self.qualified_names[name] = qualified  # a function or a module under another name
