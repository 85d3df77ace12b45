"""Evaluate Python expressions as far as imports, assignments, classes and functions of the module tell."""

import ast
import base64
import binascii
import re
from collections.abc import Sequence
from posixpath import basename, dirname

from verdikt.effects.arguments import word_set
from verdikt.effects.code import quote_shell_word
from verdikt.effects.code.python_sequences import find_item, list_elements
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

DECODER_FUNCTIONS = word_set(
    "base64.b64decode base64.b32decode base64.b16decode base64.urlsafe_b64decode base64.a85decode bytes.fromhex "
    "codecs.decode "
    "binascii.unhexlify zlib.decompress"
)

DYNAMIC_ATTRIBUTE = "?"
"""Stands for the name of an attribute that is computed at run time."""

_PATH_FUNCTIONS = frozenset(
    "os.path.expanduser os.path.abspath os.path.realpath pathlib.Path Path str os.fspath pathlib.PurePath "
    "shlex.split os.path.expandvars os.path.normpath sqlalchemy.text sqlalchemy.sql.text psycopg.sql.SQL "
    "psycopg2.sql.SQL".split()
)
"""Functions whose result is the path they are given."""
_IDENTITY_METHODS = (".expanduser", ".resolve", ".absolute", ".strip", ".decode", ".encode", ".split", ".as_posix")
"""Methods whose result is close enough to the value they are called on."""
_LISTING_FUNCTIONS = ("pathlib.Path.iterdir", "os.listdir", "os.scandir")
_PERCENT_FIELD = compile_lazily(r"%[sdr]")
_FORMAT_FIELD = compile_lazily(r"\{([^{}]*)\}")
_PATH_CONSTANTS = {"os.sep": "/", "os.path.sep": "/", "os.curdir": ".", "os.pardir": ".."}
_OWN_OBJECTS = ("self", "cls")
_MAX_DEPTH = 20
_NO_NUMBER = 1 << 62
"""Stands for a number that the text does not show."""
# In an argument list a folded `~` stands for the home directory, and a `*` for the files of a listing.
UNQUOTED = "~*"


class PythonConstants:
    """The names of one module and the constants that they stand for."""

    def __init__(self) -> None:
        self.qualified_names: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.elements: dict[str, Sequence[ast.expr]] = {}
        """Names of lists and dictionaries, with their items."""
        self.alternatives: dict[str, list[str]] = {}
        """Names that stand for several texts in turn: the variables of loops, and what a condition chooses from."""
        self.results: dict[str, tuple[list[str], ast.expr]] = {}
        """Functions with one `return`: their parameters, and what they return."""
        self.classes: dict[str, ast.FunctionDef | None] = {}
        """Classes of the module, with their `__init__`."""
        self.instances: set[str] = set()
        """Names of objects of those classes."""

    def resolve_name(self, node: ast.expr) -> str:
        """Return `os.path.join` for the expression that means it, however it was imported; empty if unknown."""
        if isinstance(node, ast.Name):
            return self.qualified_names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.resolve_name(node.value)
            return f"{inner}.{node.attr}" if inner else f".{node.attr}"
        if isinstance(node, ast.Subscript):
            return self._resolve_subscript(node)
        if isinstance(node, ast.NamedExpr):
            return self.resolve_name(node.value)
        if isinstance(node, ast.Call):
            function = self.resolve_name(node.func)
            if function == "__import__" and len(node.args) == 1:
                return self._evaluate_known(node.args[0]).split(".")[0]  # the package, whatever of it is named
            if function in ("__import__", "importlib.import_module", "sys.modules.get") and node.args:
                return self._evaluate_known(node.args[0])
            if function == "getattr" and len(node.args) > 1:
                name = self.evaluate_text(node.args[1])
                return f"{self.resolve_name(node.args[0])}.{DYNAMIC_ATTRIBUTE if UNKNOWN in name else name}"
        return ""

    def _evaluate_known(self, node: ast.expr) -> str:
        text = self.evaluate_text(node)
        return "" if UNKNOWN in text else text

    def _resolve_subscript(self, node: ast.Subscript) -> str:
        """Return what `sys.modules["os"]`, `vars(os)["system"]` and `os.__dict__["system"]` mean."""
        owner, name = node.value, self.evaluate_text(node.slice)
        if self.resolve_name(owner) == "sys.modules":
            return name
        if isinstance(owner, ast.Attribute) and owner.attr == "__dict__":
            return f"{self.resolve_name(owner.value)}.{name}"
        if isinstance(owner, ast.Call) and self.resolve_name(owner.func) == "vars" and owner.args:
            return f"{self.resolve_name(owner.args[0])}.{name}"
        if isinstance(owner, ast.Call) and self.resolve_name(owner.func) in ("globals", "locals"):
            return self.qualified_names.get(name, name)
        # A table of functions: `{"run": os.system}["run"]`.
        item = find_item(owner, name, self.elements)
        return self.resolve_name(item) if isinstance(item, ast.Name | ast.Attribute) else ""

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
            # Words of a command stay apart: `["git", "branch", "-D"] + names`.
            sign = " " if isinstance(node.left, ast.List | ast.Tuple) else ""
            return self.evaluate_text(node.left, depth + 1) + sign + self.evaluate_text(node.right, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            return self._evaluate_percent(node, depth)
        # `/` joins paths of pathlib.
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return f"{self.evaluate_text(node.left, depth + 1).rstrip('/')}/{self.evaluate_text(node.right, depth + 1)}"
        if isinstance(node, ast.List | ast.Tuple):
            return " ".join(quote_shell_word(self.evaluate_text(item, depth + 1), UNQUOTED) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._evaluate_call(node, depth)
        if isinstance(node, ast.Attribute):
            return self._evaluate_attribute(node, depth)
        if isinstance(node, ast.Subscript):
            return self._evaluate_subscript(node, depth)
        choices = list_choices(node)
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
            choices = [node.value]
        texts = (self.evaluate_text(choice, depth + 1) for choice in choices)
        return next((text for text in texts if UNKNOWN not in text), UNKNOWN)

    def _evaluate_attribute(self, node: ast.Attribute, depth: int) -> str:
        """Return the text of an attribute: of a class, an object of it, an enumeration, a path."""
        owner, name = node.value, node.attr
        if isinstance(owner, ast.Name):
            if (text := self.values.get(f"{owner.id}.{name}")) is not None:
                return text
            if owner.id in _OWN_OBJECTS or owner.id in self.instances or owner.id in self.classes:
                return self.values.get(f"self.{name}", UNKNOWN)
        if isinstance(owner, ast.Call) and self.resolve_name(owner.func) in self.classes:
            return self.values.get(f"self.{name}", UNKNOWN)
        if (text := _PATH_CONSTANTS.get(self.resolve_name(node))) is not None:
            return text
        # An entry of `os.scandir`, a member of an enumeration, a path.
        if name in ("path", "value", "parent"):
            text = self.evaluate_text(owner, depth + 1)
            return text if name != "parent" or UNKNOWN in text else dirname(text.rstrip("/")) or "."
        return UNKNOWN

    def _evaluate_subscript(self, node: ast.Subscript, depth: int) -> str:
        """Return an item of a list or dictionary that the text shows, or a part of a string."""
        owner = node.value
        if isinstance(node.slice, ast.Slice):
            text = self.evaluate_text(owner, depth + 1)
            lower, upper, step = map(_read_number, (node.slice.lower, node.slice.upper, node.slice.step))
            is_known = UNKNOWN not in text and _NO_NUMBER not in (lower, upper, step) and step != 0
            return text[lower:upper:step] if is_known else UNKNOWN
        number = _read_number(node.slice)
        key = str(number) if number not in (None, _NO_NUMBER) else self.evaluate_text(node.slice, depth + 1)
        if self.resolve_name(owner) == "os.environ":
            return "~" if key == "HOME" else UNKNOWN
        if isinstance(owner, ast.Attribute) and owner.attr == "parents" and isinstance(number, int) and number >= 0:
            return _find_ancestor(self.evaluate_text(owner.value, depth + 1), number)
        item = find_item(owner, key, self.elements)
        return self.evaluate_text(item, depth + 1) if item is not None else UNKNOWN

    def _evaluate_percent(self, node: ast.BinOp, depth: int) -> str:
        """Return the result of `"…%s…" % value`, and of one with several values."""
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        texts = iter([self.evaluate_text(value, depth + 1) for value in values])
        return _PERCENT_FIELD.sub(lambda match: next(texts, UNKNOWN), get_string(node.left))

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
            self._evaluate_lookup(node, function, arguments, depth),
            _apply_string_method(function, owner, arguments),
            self._evaluate_result(node, function, arguments, depth),
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
        if function in ("os.environ.get", "os.getenv"):
            # What stands in for a variable that is not set is what the program is meant to take.
            return "~" if arguments[:1] == ["HOME"] else arguments[1] if len(arguments) > 1 else UNKNOWN
        if function in ("os.path.dirname", "os.path.basename") and arguments and UNKNOWN not in arguments[0]:
            return dirname(arguments[0]) if function.endswith("dirname") else basename(arguments[0])
        # The real name is random; all that matters is that it is temporary.
        if function.startswith("tempfile."):
            return "/tmp/made-by-python"
        if function in ("os.getcwd", "pathlib.Path.cwd", "Path.cwd"):
            return "."
        return None

    def _evaluate_join(self, node: ast.Call, function: str, depth: int) -> str | None:
        """Return the result of `"…".join([…])`, also with a list that a name stands for."""
        if not function.endswith(".join") or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
            return None
        separator, joined = self.evaluate_text(node.func.value, depth + 1), node.args[0]
        if UNKNOWN in separator:
            return None
        items = list_elements(joined, self.elements)
        if items is not None:
            texts = [self.evaluate_text(item, depth + 1) for item in items]
            reverses = isinstance(joined, ast.Call) and self.resolve_name(joined.func) == "reversed"
            return separator.join(reversed(texts) if reverses else texts)
        if isinstance(joined, ast.Call) and self.resolve_name(joined.func) == "reversed" and joined.args:
            text = self.evaluate_text(joined.args[0], depth + 1)
            return separator.join(reversed(text)) if UNKNOWN not in text else None
        return None

    def _evaluate_lookup(self, node: ast.Call, function: str, arguments: list[str], depth: int) -> str | None:
        """Return the item that `table.get("key")` finds, and the attribute that `getattr(config, "command")` reads."""
        if function.endswith(".pop") and isinstance(node.func, ast.Attribute):
            item = find_item(node.func.value, arguments[0] if arguments else "-1", self.elements)
            return self.evaluate_text(item, depth + 1) if item is not None else None
        if function.endswith(".get") and arguments and isinstance(node.func, ast.Attribute):
            item = find_item(node.func.value, arguments[0], self.elements)
            return self.evaluate_text(item, depth + 1) if item is not None else None
        if function == "getattr" and len(arguments) > 1 and arguments[1].isidentifier():
            text = self._evaluate_attribute(ast.Attribute(node.args[0], arguments[1], ast.Load()), depth + 1)
            return text if UNKNOWN not in text else None
        return None

    def _evaluate_result(self, node: ast.Call, function: str, arguments: list[str], depth: int) -> str | None:
        """Return what a function of the module returns for these arguments, if it returns in one place."""
        parameters, value = self.results.get(function.rpartition(".")[2], ([], None))
        if value is None:
            return None
        before = self.values
        given = {k.arg: self.evaluate_text(k.value, depth + 1) for k in node.keywords if k.arg}
        self.values = before | dict(zip(parameters, arguments, strict=False)) | given
        text = self.evaluate_text(value, depth + 1)
        self.values = before
        return text

    def _evaluate_characters(self, node: ast.Call, function: str, arguments: list[str]) -> str:
        """Return text that is built from character codes."""
        if function in ("bytes", "bytearray") and len(node.args) == 1:
            return _decode_characters(node.args[0])
        if function.endswith(".join") and node.args and (codes := self._find_character_codes(node.args[0])) is not None:
            return _decode_characters(codes)
        if function == "chr" and arguments and arguments[0].isdigit() and int(arguments[0]) < 0x110000:
            return chr(int(arguments[0]))
        return UNKNOWN


def list_choices(node: ast.expr) -> list[ast.expr]:
    """Return the values that a condition chooses from: `a if x else b`, `a or b`."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return node.values if isinstance(node, ast.BoolOp) else []


def _read_number(node: ast.expr | None) -> int | None:
    """Return a whole number, None for a bound that is left out, and `_NO_NUMBER` for anything else."""
    if node is None:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if isinstance(node.operand.value, int) else _NO_NUMBER
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else _NO_NUMBER


def _find_ancestor(path: str, number: int) -> str:
    """Return what `Path(path).parents[number]` is; unknown where the path does not show it."""
    parts = path.rstrip("/").split("/")
    return "/".join(parts[: -number - 1]) or "/" if number + 1 < len(parts) and UNKNOWN not in path else UNKNOWN


def _apply_string_method(function: str, owner: str | None, arguments: list[str]) -> str | None:
    """Return what a method makes of a constant string; None for another method, or for what is not known."""
    if owner is None or UNKNOWN in owner:
        return None
    name = function.rpartition(".")[2]
    if name == "replace" and len(arguments) == 2 and UNKNOWN not in "".join(arguments):
        return owner.replace(arguments[0], arguments[1])
    if name in ("lower", "casefold"):
        return owner.lower()
    if name in ("upper", "swapcase"):
        return owner.upper() if name == "upper" else owner.swapcase()
    if name in ("lstrip", "rstrip", "removeprefix", "removesuffix"):
        return owner
    if name == "with_name" and arguments:
        return f"{dirname(owner)}/{arguments[0]}"
    return None


def _decode_characters(node: ast.expr) -> str:
    """Return the text for a list of character codes."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    numbers = [item.value for item in items if isinstance(item, ast.Constant)]
    if not numbers or len(numbers) != len(items):
        return UNKNOWN
    return "".join(chr(n) if isinstance(n, int) and 0 < n < 0x110000 else UNKNOWN for n in numbers)


def get_string(node: ast.expr) -> str:
    """Return a constant string; empty for anything else."""
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
