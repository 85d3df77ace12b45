"""What Python expressions come to, as far as imports and simple assignments tell."""

import ast
import base64
import binascii

from verdikt.effects.argv import word_set
from verdikt.shell.command import UNKNOWN

DECODER_FUNCTIONS = word_set(
    "base64.b64decode base64.b32decode base64.b16decode base64.urlsafe_b64decode base64.a85decode bytes.fromhex codecs.decode "
    "binascii.unhexlify zlib.decompress"
)

DYNAMIC_ATTRIBUTE = "?"
"""Stands for the name of an attribute that is made at run time."""


_STAR_IMPORTS = {
    "os": word_set(
        "system popen remove unlink rmdir removedirs rename replace kill killpg execv execvp spawnlp walk listdir environ getenv"
    ),
    "subprocess": word_set("run call check_call check_output Popen getoutput getstatusoutput"),
    "shutil": word_set("rmtree move copy copy2 copyfile copytree"),
    "pathlib": word_set("Path"),
}
"""What `from module import *` brings, of what matters."""


class PythonConstants:
    """Names of one module and the constants that they stand for."""

    def __init__(self) -> None:
        self.qualified_names: dict[str, str] = {}
        self.values: dict[str, str] = {}

    def record_node(self, node: ast.AST) -> None:
        """Takes in what a statement says of a name: by an import, by assignment, in a loop, in a `with`."""
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
        """What a name stands for: by assignment, in a loop, in a `with`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assign_name(node.targets[0].id, node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            self._assign_tuple(node.targets[0].elts, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Tuple):
            if not _is_filtered_loop(node):
                self._assign_walk(node.target.elts, node.iter)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            if self.evaluate_text(node.iter) != "*" or not _is_filtered_loop(node):
                self._assign_name(node.target.id, node.iter)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._assign_name(node.optional_vars.id, node.context_expr)

    def _assign_tuple(self, names: list[ast.expr], value: ast.expr) -> None:
        """`a, b = 1, 2`, and `handle, path = tempfile.mkstemp()`."""
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(names)
        temporary = isinstance(value, ast.Call) and self.resolve_name(value.func).startswith("tempfile.")
        if (temporary or len(values) == len(names)) and (temporary or not isinstance(value, ast.Call)):
            for name, one in zip(names, values, strict=True):
                if isinstance(name, ast.Name):
                    self._assign_name(name.id, one)

    def _assign_walk(self, names: list[ast.expr], walk: ast.expr) -> None:
        """`for place, directories, files in os.walk(top)`: everything below the top, by its place and its name."""
        if isinstance(walk, ast.Call) and self.resolve_name(walk.func) == "os.walk" and walk.args and len(names) == 3:
            top = self.evaluate_text(walk.args[0])
            for name, value in zip(names, (f"{top.rstrip('/')}/**", "*", "*"), strict=True):
                if isinstance(name, ast.Name) and UNKNOWN not in value:
                    self.values[name.id] = value

    def _assign_name(self, name: str, value: ast.expr) -> None:
        text = self.evaluate_text(value)
        if UNKNOWN not in text:
            self.values[name] = text
        elif isinstance(value, ast.Attribute | ast.Call) and (meant := self.resolve_name(value)):
            self.qualified_names[name] = meant  # a function or a module under another name

    def resolve_name(self, node: ast.expr) -> str:
        """`os.path.join` for the expression that means it, however it was imported."""
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
        """The string that an expression comes to, with `UNKNOWN` for what is not constant."""
        if node is None or depth > 20:
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
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return f"{self.evaluate_text(node.left, depth + 1).rstrip('/')}/{self.evaluate_text(node.right, depth + 1)}"
        if isinstance(node, ast.List | ast.Tuple):
            return " ".join(quote_shell_word(self.evaluate_text(item, depth + 1)) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._evaluate_call(node, depth)
        if isinstance(node, ast.Subscript) and self.resolve_name(node.value) == "os.environ":
            return "~" if self.evaluate_text(node.slice, depth + 1) == "HOME" else UNKNOWN
        return UNKNOWN

    def _find_character_codes(self, node: ast.expr) -> ast.expr | None:
        """The list of numbers in `map(chr, […])` and `chr(n) for n in […]`; None for anything else."""
        if isinstance(node, ast.Call) and self.resolve_name(node.func) == "map" and len(node.args) == 2:
            return node.args[1] if self.resolve_name(node.args[0]) == "chr" else None
        if isinstance(node, ast.GeneratorExp | ast.ListComp) and isinstance(node.elt, ast.Call):
            return node.generators[0].iter if self.resolve_name(node.elt.func) == "chr" else None
        return None

    def _evaluate_call(self, node: ast.Call, depth: int) -> str:
        function = self.resolve_name(node.func)
        arguments = [self.evaluate_text(argument, depth + 1) for argument in node.args]
        if function in (
            "os.path.expanduser",
            "os.path.abspath",
            "os.path.realpath",
            "pathlib.Path",
            "Path",
            "str",
            "os.fspath",
            "pathlib.PurePath",
        ):
            return "/".join(arguments)
        if function.endswith(
            (".expanduser", ".resolve", ".absolute", ".strip", ".decode", ".encode", ".lower")
        ) and isinstance(node.func, ast.Attribute):
            return self.evaluate_text(node.func.value, depth + 1)
        if function in ("os.path.join",) or (function.endswith(".joinpath") and isinstance(node.func, ast.Attribute)):
            if function != "os.path.join" and isinstance(node.func, ast.Attribute):
                arguments.insert(0, self.evaluate_text(node.func.value, depth + 1))
            return "/".join(
                argument.rstrip("/") if index < len(arguments) - 1 else argument
                for index, argument in enumerate(arguments)
            )
        if function in ("pathlib.Path.iterdir", "os.listdir", "os.scandir") or function.endswith(".iterdir"):
            inside = self.evaluate_text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else UNKNOWN
            return f"{(arguments[0] if arguments else inside).rstrip('/')}/*"
        if function in ("pathlib.Path.home", "Path.home") or (
            function in ("os.environ.get", "os.getenv") and arguments[:1] == ["HOME"]
        ):
            return "~"
        if function.startswith("tempfile."):
            return "/tmp/made-by-python"
        if function in ("glob.glob", "glob.iglob", "sorted", "list") and arguments:
            return arguments[0]
        if function.endswith((".glob", ".rglob")) and isinstance(node.func, ast.Attribute) and arguments:
            deep = "**/" if function.endswith(".rglob") else ""
            return f"{self.evaluate_text(node.func.value, depth + 1).rstrip('/')}/{deep}{arguments[0]}"
        if function in DECODER_FUNCTIONS and arguments and UNKNOWN not in arguments[0]:
            return _decode_constant(function, arguments[0])
        if function in ("os.getcwd", "pathlib.Path.cwd", "Path.cwd"):
            return "."
        if (
            function.endswith(".join")
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Constant)
            and node.args
            and isinstance(node.args[0], ast.List | ast.Tuple)
        ):
            return _get_string(node.func.value).join(self.evaluate_text(item, depth + 1) for item in node.args[0].elts)
        return self._evaluate_characters(node, function, arguments)

    def _evaluate_characters(self, node: ast.Call, function: str, arguments: list[str]) -> str:
        """Text that is made of letters by their numbers."""
        if function in ("bytes", "bytearray") and len(node.args) == 1:
            return _decode_characters(node.args[0])
        if (
            function.endswith(".join")
            and node.args
            and (listed := self._find_character_codes(node.args[0])) is not None
        ):
            return _decode_characters(listed)
        if function == "chr" and arguments and arguments[0].isdigit() and int(arguments[0]) < 0x110000:
            return chr(int(arguments[0]))
        return UNKNOWN


def _decode_characters(node: ast.expr) -> str:
    """Text that is given as the numbers of its letters."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    numbers = [item.value for item in items if isinstance(item, ast.Constant)]
    if not numbers or len(numbers) != len(items):
        return UNKNOWN
    return "".join(chr(n) if isinstance(n, int) and 0 < n < 0x110000 else UNKNOWN for n in numbers)


def _is_filtered_loop(node: ast.For | ast.comprehension) -> bool:
    """Whether a loop passes over some of what it goes through."""
    if isinstance(node, ast.comprehension):
        return bool(node.ifs)
    return any(
        isinstance(inner, ast.If | ast.IfExp) or (isinstance(inner, ast.comprehension) and inner.ifs)
        for inner in ast.walk(node)
    )


def _get_string(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def quote_shell_word(word: str) -> str:
    """A word as it stands in a text for a shell."""
    if word and all(c.isalnum() or c in "-_./=:,@%+~*" for c in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


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
