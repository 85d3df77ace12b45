"""A YAML file as plain data in which everything knows where it was written.

The YAML is that of JSON with comments and indentation: `yes` is a text and not a truth, and there are no aliases, tags,
merge keys or second documents, because a policy must mean what a reader thinks it means.
"""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.errors import PolicyError
from verdikt.model.canonical import MAX_EXACT
from verdikt.model.regex import regex
from verdikt.model.value import Record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

Path = tuple[str | int, ...]
"""The keys and positions that lead from the top of a document to a value."""

Mark = tuple[int, int]
"""Line and column, both counted from one."""

MAX_BYTES = 1 << 20
MAX_DEPTH = 64

_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = regex(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = regex(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")


class Document(Record):
    """Plain data with the place of each value; `faults` collects whatever is found wrong with it."""

    file: str
    value: Any = None
    values: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    faults: list[PolicyError] = field(default_factory=list)

    def where(self, path: Path, *, key: bool = False) -> str:
        """`file:line:column` of a value, or of its key; of what stands around it when it has no place of its own."""
        marks = self.keys if key else self.values
        while path and path not in marks:
            path, marks = path[:-1], self.values
        if path not in marks:
            return self.file
        line, column = marks[path]
        return f"{self.file}:{line}:{column}"

    def fault(self, message: str, path: Path = (), *, key: bool = False) -> None:
        """Records that something is wrong there."""
        self.faults.append(PolicyError(message, where=self.where(path, key=key)))

    def refuse(self) -> None:
        """Raises everything found wrong as one `PolicyError`, if anything was."""
        if self.faults:
            raise PolicyError.of(self.faults)

    def dump(self) -> dict[str, Any]:
        """A document without faults as plain data, the places included and the file's name not."""
        return {"value": self.value, "values": _told(self.values), "keys": _told(self.keys)}

    @classmethod
    def load(cls, file: str, dumped: Any) -> Document | None:
        """The document that was dumped; None for anything else."""
        match dumped:
            case {"value": value, "values": dict() as values, "keys": dict() as keys}:
                return cls(file, value, _Marks(values), _Marks(keys))
        return None


class _Marks(dict[Path, Mark]):
    """Places as they were dumped, each made a path only when somebody asks for it, which is seldom."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__()
        self._told = told

    def __contains__(self, path: object) -> bool:
        return isinstance(path, tuple) and _joined(path) in self._told

    def __getitem__(self, path: Path) -> Mark:
        line, column = self._told[_joined(path)]
        return int(line), int(column)


def _joined(path: Path) -> str:
    # A position and a key that looks like one must not meet.
    return "\0".join(f"\1{part}" if isinstance(part, int) else part for part in path)


def _told(marks: Mapping[Path, Mark]) -> dict[str, list[int]]:
    return {_joined(path): list(mark) for path, mark in marks.items()}


def parse_document(data: bytes | str, file: str) -> Document:
    """A document with one `PolicyError` for whatever is not YAML as described above; never any other exception."""
    document = Document(file)
    text = _decoded(data, file)
    import yaml  # costs more than the rest of a decision: only whoever reads a file pays

    try:
        _Reader(document).read(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise PolicyError(f"expected YAML, found a fault in it: {problem}", where=where) from error
    except yaml.YAMLError as error:
        raise PolicyError(f"expected YAML, found a fault in it: {' '.join(str(error).split())}", where=file) from error
    document.refuse()
    return document


def _decoded(data: bytes | str, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise PolicyError(f"expected at most {MAX_BYTES} bytes, found {len(data)}", where=file)
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.encode().decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PolicyError(
            "expected UTF-8 text, found other bytes: save the file as UTF-8", where=f"{file}:{line}"
        ) from None
    except UnicodeEncodeError:
        raise PolicyError("expected Unicode text, found a lone surrogate", where=file) from None
    return text


class _Reader:
    """Builds a document from YAML events, with a stack of its own so that depth is bounded."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.stack: list[_Open] = []
        self.documents = 0

    def read(self, events: Iterator[Any]) -> None:
        for event in events:
            kind = type(event).__name__
            mark = (event.start_mark.line + 1, event.start_mark.column + 1)
            match kind:
                case "DocumentStartEvent":
                    self.documents += 1
                    if self.documents > 1:
                        raise self._refusal(mark, "expected one document, found a second: remove the `---`")
                case "AliasEvent":
                    raise self._refusal(
                        mark, f"expected a value, found the alias `*{event.anchor}`: write the value out"
                    )
                case "ScalarEvent":
                    self._check(event, mark)
                    self._put(_scalar(event) if event.implicit[0] else event.value, mark, text=event.value)
                case "SequenceStartEvent" | "MappingStartEvent":
                    self._check(event, mark)
                    self._open([] if kind == "SequenceStartEvent" else {}, mark)
                case "SequenceEndEvent" | "MappingEndEvent":
                    self.stack.pop()

    def _refusal(self, mark: Mark, message: str) -> PolicyError:
        return PolicyError(message, where=f"{self.document.file}:{mark[0]}:{mark[1]}")

    def _check(self, event: Any, mark: Mark) -> None:
        if event.tag is not None and not (type(event).__name__ == "ScalarEvent" and any(event.implicit)):
            raise self._refusal(mark, f"expected a value without a tag, found `{event.tag}`")

    def _open(self, value: Any, mark: Mark) -> None:
        path = self._put(value, mark, text="a mapping" if isinstance(value, dict) else "a list")
        if len(self.stack) >= MAX_DEPTH:
            raise self._refusal(mark, f"expected at most {MAX_DEPTH} levels, found more")
        self.stack.append(_Open(value, path))

    def _put(self, value: Any, mark: Mark, *, text: str) -> Path:
        """Puts a value where it belongs; the first of each pair in a mapping is its key."""
        if not self.stack:
            self.document.value = value
            self.document.values[()] = mark
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
        elif top.key is None:
            if isinstance(value, dict | list):
                raise self._refusal(mark, f"expected a name as key, found {text}")
            if text == "<<":
                raise self._refusal(mark, "expected a name as key, found the merge key `<<`: write the values out")
            path = (*top.path, text)
            if text in top.value:
                first = self.document.where(path, key=True)
                raise self._refusal(mark, f"expected each key once, found `{text}` again (first at {first})")
            self.document.keys[path] = mark
            top.key = text
            top.value[text] = None
            return path
        else:
            path = (*top.path, top.key)
            top.value[top.key] = value
            top.key = None
        self.document.values[path] = mark
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_EXACT:
            raise self._refusal(mark, f"expected a number up to {MAX_EXACT}, found a larger one")
        return path


class _Open(Record):
    """A collection that is being filled; `key` is set between a key and its value."""

    value: Any
    path: Path
    key: str | None = None


def _scalar(event: Any) -> Any:
    """What a plain scalar stands for in YAML 1.2."""
    text: str = event.value
    if text.lower() in _WORDS and (text in _WORDS or text in (text.capitalize(), text.upper())):
        return _WORDS[text.lower()]
    if len(text) < 64 and _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if len(text) < 64 and _FLOAT.fullmatch(text):
        return float(text)
    return text


def plain(value: Any) -> Any:
    """A copy made of dict, list and scalars only."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value  # nearly every value; asking for abstract types costs ten times as much
    if kind is dict or isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if kind is list or isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
