"""Evaluate Python expressions as far as imports and simple assignments tell, and find environment secrets in them."""

import ast
import base64
import binascii
import re
from collections.abc import Callable, Sequence

from verdikt.effects.arguments import word_set
from verdikt.effects.code import quote_shell_word
from verdikt.effects.code.python_sequences import MAX_ITEMS, bind_target, list_elements, to_pairs
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

DECODER_FUNCTIONS = word_set(
    "base64.b64decode base64.b32decode base64.b16decode base64.urlsafe_b64decode base64.a85decode bytes.fromhex "
    "codecs.decode "
    "binascii.unhexlify zlib.decompress"
)

DYNAMIC_ATTRIBUTE = "?"
"""Stands for the name of an attribute that is computed at run time."""

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
_PATH_FUNCTIONS = frozenset(
    "os.path.expanduser os.path.abspath os.path.realpath pathlib.Path Path str os.fspath pathlib.PurePath "
    "shlex.split os.path.expandvars os.path.normpath sqlalchemy.text sqlalchemy.sql.text psycopg.sql.SQL "
    "psycopg2.sql.SQL".split()
)
"""Functions whose result is the path they are given."""
_IDENTITY_METHODS = (".expanduser", ".resolve", ".absolute", ".strip", ".decode", ".encode", ".lower", ".split")
"""Methods whose result is close enough to the value they are called on."""
_LISTING_FUNCTIONS = ("pathlib.Path.iterdir", "os.listdir", "os.scandir")
_WHOLE_ENVIRONMENT = compile_lazily(r"^(?:[\w.]+\()*os\.environ(?:\.(?:items|copy|values)\(\))?(?:,[^)]*)?\)*$")
_PERCENT_FIELD = compile_lazily(r"%[sdr]")
_FORMAT_FIELD = compile_lazily(r"\{([^{}]*)\}")
_MAX_DEPTH = 20
_MAX_ASSIGNMENTS = 2_000
# In an argument list a folded `~` stands for the home directory, and a `*` for the files of a listing.
_UNQUOTED = "~*"


class PythonConstants:
    """The names of one module and the constants that they stand for."""

    def __init__(self) -> None:
        self.qualified_names: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.elements: dict[str, Sequence[ast.expr]] = {}
        """Names of lists and dictionaries, with their items."""
        self.alternatives: dict[str, list[str]] = {}
        """Names that stand for several texts in turn: the variables of loops."""

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
        else:
            self._record_binding(node)

    def _record_binding(self, node: ast.AST) -> None:
        """Record the value of a name that an assignment, a loop or a `with` binds."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assign_name(node.targets[0].id, node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            self._assign_tuple(node.targets[0].elts, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and (items := list_elements(node.iter, self.elements)):
            for name, texts in bind_target(node.target, items, self.evaluate_text).items():
                self.alternatives[name] = [*self.alternatives.get(name, ()), *texts][:MAX_ITEMS]
                self.values[name] = self.alternatives[name][0]
        elif isinstance(node, ast.Call | ast.AugAssign):
            self._extend_list(node)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Tuple):
            if not _is_filtered_loop(node):
                self._assign_walk(node.target.elts, node.iter)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            # A loop over everything that skips some of it says nothing about what it touches.
            if self.evaluate_text(node.iter) != "*" or not _is_filtered_loop(node):
                self._assign_name(node.target.id, node.iter)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._assign_name(node.optional_vars.id, node.context_expr)

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
            self.values[target.id] += f" {text if is_list else quote_shell_word(text, _UNQUOTED)}"
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
        # An unknown value does not clear an earlier constant: statements are not visited in the order of execution.
        if UNKNOWN not in text:
            self.values[name] = text
        elif isinstance(value, ast.Attribute | ast.Call) and (qualified := self.resolve_name(value)):
            self.qualified_names[name] = qualified  # a function or a module under another name

    def resolve_name(self, node: ast.expr) -> str:
        """Return `os.path.join` for the expression that means it, however it was imported; empty if unknown."""
        if isinstance(node, ast.Name):
            return self.qualified_names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.resolve_name(node.value)
            return f"{inner}.{node.attr}" if inner else f".{node.attr}"
        if isinstance(node, ast.Subscript) and self.resolve_name(node.value) == "sys.modules":
            return _get_string(node.slice)
        if isinstance(node, ast.Call):
            function = self.resolve_name(node.func)
            if function == "__import__" and len(node.args) == 1:
                return _get_string(node.args[0]).split(".")[0]  # the package, whatever of it is named
            if function in ("__import__", "importlib.import_module") and node.args:
                return _get_string(node.args[0])
            if function in ("sys.modules.get",) and node.args:
                return _get_string(node.args[0])
            if function == "getattr" and len(node.args) > 1:
                name = self.evaluate_text(node.args[1])
                return f"{self.resolve_name(node.args[0])}.{DYNAMIC_ATTRIBUTE if UNKNOWN in name else name}"
        return ""

    def evaluate_text(self, node: ast.expr | None, depth: int = 0) -> str:
        """Return the string that an expression evaluates to, with `UNKNOWN` for what is not constant."""
        if node is None or depth > _MAX_DEPTH:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            value = node.value
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        if isinstance(node, ast.Name):
            return self.values.get(node.id, UNKNOWN)
        if isinstance(node, ast.JoinedStr):
            return "".join(
                self.evaluate_text(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1)
                for part in node.values
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.evaluate_text(node.left, depth + 1) + self.evaluate_text(node.right, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            return self._evaluate_percent(node, depth)
        # `/` joins paths of pathlib.
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return f"{self.evaluate_text(node.left, depth + 1).rstrip('/')}/{self.evaluate_text(node.right, depth + 1)}"
        if isinstance(node, ast.List | ast.Tuple):
            return " ".join(quote_shell_word(self.evaluate_text(item, depth + 1), _UNQUOTED) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._evaluate_call(node, depth)
        if isinstance(node, ast.Attribute) and node.attr == "path" and isinstance(node.value, ast.Name):
            return self.values.get(node.value.id, UNKNOWN)  # an entry of `os.scandir`
        if isinstance(node, ast.Subscript) and self.resolve_name(node.value) == "os.environ":
            return "~" if self.evaluate_text(node.slice, depth + 1) == "HOME" else UNKNOWN
        return UNKNOWN

    def _evaluate_percent(self, node: ast.BinOp, depth: int) -> str:
        """Return the result of `"…%s…" % value`, and of one with several values."""
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        texts = iter([self.evaluate_text(value, depth + 1) for value in values])
        return _PERCENT_FIELD.sub(lambda match: next(texts, UNKNOWN), _get_string(node.left))

    def _evaluate_format(self, node: ast.Call, function: str, arguments: list[str], owner: str | None) -> str | None:
        """Return the result of `"…{}…".format(value)`; fields with a conversion or an attribute are unknown."""
        if not function.endswith(".format") or owner is None:
            return None
        texts = iter(arguments)
        named = {keyword.arg: self.evaluate_text(keyword.value) for keyword in node.keywords}

        def fill(match: "re.Match[str]") -> str:
            name = match[1]
            if not name:
                return next(texts, UNKNOWN)
            if name.isdigit():
                return arguments[int(name)] if int(name) < len(arguments) else UNKNOWN
            return named.get(name, UNKNOWN)

        return _FORMAT_FIELD.sub(fill, owner)

    def _find_character_codes(self, node: ast.expr) -> ast.expr | None:
        """Return the list of numbers in `map(chr, […])` and `chr(n) for n in […]`; None for anything else."""
        if isinstance(node, ast.Call) and self.resolve_name(node.func) == "map" and len(node.args) == 2:
            return node.args[1] if self.resolve_name(node.args[0]) == "chr" else None
        if isinstance(node, ast.GeneratorExp | ast.ListComp) and isinstance(node.elt, ast.Call):
            return node.generators[0].iter if self.resolve_name(node.elt.func) == "chr" else None
        return None

    def _evaluate_call(self, node: ast.Call, depth: int) -> str:
        """Return what a call evaluates to, by the first of these groups of functions that it belongs to."""
        function = self.resolve_name(node.func)
        arguments = [self.evaluate_text(argument, depth + 1) for argument in node.args]
        owner = self.evaluate_text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
        for text in (
            self._evaluate_path_call(function, arguments, owner),
            self._evaluate_place(function, arguments),
            self._evaluate_join(node, function, depth),
            self._evaluate_format(node, function, arguments, owner),
        ):
            if text is not None:
                return text
        if function in DECODER_FUNCTIONS and arguments and UNKNOWN not in arguments[0]:
            return _decode_constant(function, arguments[0])
        return self._evaluate_characters(node, function, arguments)

    @staticmethod
    def _evaluate_path_call(function: str, arguments: list[str], owner: str | None) -> str | None:
        """Return the path or pattern that a call builds or lists; `owner` is the value before the method's name."""
        if function in _PATH_FUNCTIONS:
            return "/".join(arguments)
        if function.endswith(_IDENTITY_METHODS) and owner is not None:
            return owner
        if function == "os.path.join" or (function.endswith(".joinpath") and owner is not None):
            parts = arguments if function == "os.path.join" else [owner or "", *arguments]
            return "/".join([*(part.rstrip("/") for part in parts[:-1]), *parts[-1:]])
        if function in _LISTING_FUNCTIONS or function.endswith(".iterdir"):
            directory = arguments[0] if arguments else UNKNOWN if owner is None else owner
            return f"{directory.rstrip('/')}/*"
        if function in ("glob.glob", "glob.iglob", "sorted", "list") and arguments:
            return arguments[0]
        if function.endswith((".glob", ".rglob")) and owner is not None and arguments:
            deep = "**/" if function.endswith(".rglob") else ""
            return f"{owner.rstrip('/')}/{deep}{arguments[0]}"
        return None

    @staticmethod
    def _evaluate_place(function: str, arguments: list[str]) -> str | None:
        """Return the home, the current or a temporary directory for the call that names it."""
        if function in ("pathlib.Path.home", "Path.home"):
            return "~"
        if function in ("os.environ.get", "os.getenv") and arguments[:1] == ["HOME"]:
            return "~"
        # The real name is random; all that matters is that it is temporary.
        if function.startswith("tempfile."):
            return "/tmp/made-by-python"
        if function in ("os.getcwd", "pathlib.Path.cwd", "Path.cwd"):
            return "."
        return None

    def _evaluate_join(self, node: ast.Call, function: str, depth: int) -> str | None:
        """Return the result of `"…".join([…])`."""
        if (
            function.endswith(".join")
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Constant)
            and node.args
            and isinstance(node.args[0], ast.List | ast.Tuple)
        ):
            items = node.args[0].elts
            return _get_string(node.func.value).join(self.evaluate_text(item, depth + 1) for item in items)
        return None

    def _evaluate_characters(self, node: ast.Call, function: str, arguments: list[str]) -> str:
        """Return text that is built from character codes."""
        if function in ("bytes", "bytearray") and len(node.args) == 1:
            return _decode_characters(node.args[0])
        if function.endswith(".join") and node.args and (codes := self._find_character_codes(node.args[0])) is not None:
            return _decode_characters(codes)
        if function == "chr" and arguments and arguments[0].isdigit() and int(arguments[0]) < 0x110000:
            return chr(int(arguments[0]))
        return UNKNOWN

    # The environment.

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
        if is_whole(node.value) or _is_unfiltered_copy(node.value, is_whole) or mentions_name(node.value, tainted):
            tainted.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(tainted)


def mentions_name(node: ast.expr, names: set[str] | frozenset[str]) -> bool:
    """Return whether an expression contains one of these names."""
    return bool(names) and any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def _is_unfiltered_copy(node: ast.expr, is_whole: Callable[[ast.expr], bool]) -> bool:
    """Return whether an expression is `{k: v for k, v in os.environ.items()}` or alike, without a condition."""
    if not isinstance(node, ast.DictComp | ast.ListComp):
        return False
    return not node.generators[0].ifs and is_whole(node.generators[0].iter)


def _decode_characters(node: ast.expr) -> str:
    """Return the text for a list of character codes."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    numbers = [item.value for item in items if isinstance(item, ast.Constant)]
    if not numbers or len(numbers) != len(items):
        return UNKNOWN
    return "".join(chr(n) if isinstance(n, int) and 0 < n < 0x110000 else UNKNOWN for n in numbers)


def _is_filtered_loop(node: ast.For | ast.comprehension) -> bool:
    """Return whether a loop skips some of what it goes through."""
    if isinstance(node, ast.comprehension):
        return bool(node.ifs)
    return any(
        isinstance(inner, ast.If | ast.IfExp) or (isinstance(inner, ast.comprehension) and inner.ifs)
        for inner in ast.walk(node)
    )


def _get_string(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _decode_constant(function: str, text: str) -> str:
    try:
        if function.endswith("b64decode"):
            return base64.b64decode(text).decode(errors="replace")
        if function.endswith("b32decode"):
            return base64.b32decode(text).decode(errors="replace")
        if function in ("bytes.fromhex", "binascii.unhexlify", "base64.b16decode"):
            return bytes.fromhex(text).decode(errors="replace")
    except (ValueError, binascii.Error):
        return UNKNOWN
    return UNKNOWN
