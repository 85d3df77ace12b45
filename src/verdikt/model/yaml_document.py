"""A YAML file as plain data in which every value has its position.

The accepted YAML is JSON with comments and indentation: `yes` is a text and not a boolean, and there are no aliases,
tags, merge keys or second documents, because a policy must mean what its reader thinks it means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import PolicyError
from verdikt.model.canonical_json import MAX_SAFE_INTEGER
from verdikt.model.lazy_regex import compile_lazily

DocumentPath = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a document to a value."""

Mark = tuple[int, int]
"""Line and column, both counted from one."""

# Limits on what a project's own policy file can cost: parsing happens before any of its rules is trusted.
MAX_BYTES = 1 << 20
MAX_DEPTH = 64

_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = compile_lazily(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = compile_lazily(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")


@dataclass(slots=True)
class YamlDocument:
    """Plain data with the position of each value; `errors` collects the problems found in it."""

    file: str
    value: Any = None
    value_marks: dict[DocumentPath, Mark] = field(default_factory=dict)
    key_marks: dict[DocumentPath, Mark] = field(default_factory=dict)
    errors: list[PolicyError] = field(default_factory=list)
    load_object: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)
    """Imports what `package.module:Name` names, for sections that accept a user's own classes."""

    def format_location(self, path: DocumentPath, *, key: bool = False) -> str:
        """Return `file:line:column` of a value or of its key; that of its parent when it has no position."""
        marks = self.key_marks if key else self.value_marks
        while path and path not in marks:
            path, marks = path[:-1], self.value_marks
        if path not in marks:
            return self.file
        line, column = marks[path]
        return f"{self.file}:{line}:{column}"

    def add_error(self, message: str, path: DocumentPath = (), *, key: bool = False) -> None:
        """Record a problem with the value, or its key, at this path."""
        self.errors.append(PolicyError(message, where=self.format_location(path, key=key)))

    def raise_errors(self) -> None:
        """Raise all recorded problems as one `PolicyError`, if there are any."""
        if self.errors:
            raise PolicyError.from_faults(self.errors)

    def dump(self) -> dict[str, Any]:
        """Return a document without errors as plain data, positions included and the file's name excluded."""
        return {"value": self.value, "values": _encode_marks(self.value_marks), "keys": _encode_marks(self.key_marks)}

    @classmethod
    def load(cls, file: str, data: Any) -> YamlDocument | None:
        """Return the document that `dump` wrote; None for anything else."""
        match data:
            case {"value": value, "values": dict() as values, "keys": dict() as keys}:
                return cls(file, value, _LazyMarks(values), _LazyMarks(keys))
        return None


class _LazyMarks(dict[DocumentPath, Mark]):
    """Dumped positions. A path is encoded only when it is looked up, which only an error message needs."""

    def __init__(self, encoded: Mapping[str, Any]) -> None:
        super().__init__()
        self._encoded = encoded

    def __contains__(self, path: object) -> bool:
        return isinstance(path, tuple) and _encode_path(path) in self._encoded

    def __getitem__(self, path: DocumentPath) -> Mark:
        line, column = self._encoded[_encode_path(path)]
        return int(line), int(column)


def _encode_path(path: DocumentPath) -> str:
    # The index 1 and the key "1" must have different encodings.
    return "\0".join(f"\1{part}" if isinstance(part, int) else part for part in path)


def _encode_marks(marks: Mapping[DocumentPath, Mark]) -> dict[str, list[int]]:
    return {_encode_path(path): list(mark) for path, mark in marks.items()}


def parse_document(data: bytes | str, file: str) -> YamlDocument:
    """Parse a document; raise one `PolicyError`, and no other exception, for anything that is not accepted YAML."""
    document = YamlDocument(file)
    text = _decode_text(data, file)
    import yaml  # takes 30 ms to import, and a cached policy needs no YAML

    try:
        _EventReader(document).read_events(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise PolicyError(f"invalid YAML: {problem}", where=where) from error
    except yaml.YAMLError as error:
        raise PolicyError(f"invalid YAML: {' '.join(str(error).split())}", where=file) from error
    document.raise_errors()
    return document


def _decode_text(data: bytes | str, file: str) -> str:
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


class _EventReader:
    """Builds a document from YAML events, with its own stack so that the depth is bounded."""

    def __init__(self, document: YamlDocument) -> None:
        self.document = document
        self.stack: list[_OpenCollection] = []
        self.document_count = 0

    def read_events(self, events: Iterator[Any]) -> None:
        for event in events:
            kind = type(event).__name__
            mark = (event.start_mark.line + 1, event.start_mark.column + 1)
            match kind:
                case "DocumentStartEvent":
                    self.document_count += 1
                    if self.document_count > 1:
                        raise self._make_error(mark, "expected one document, found a second: remove the `---`")
                case "AliasEvent":
                    raise self._make_error(
                        mark, f"expected a value, found the alias `*{event.anchor}`: write the value out"
                    )
                case "ScalarEvent":
                    self._check_tag(event, mark)
                    self._add_value(_parse_scalar(event) if event.implicit[0] else event.value, mark, text=event.value)
                case "SequenceStartEvent" | "MappingStartEvent":
                    self._check_tag(event, mark)
                    self._open_collection([] if kind == "SequenceStartEvent" else {}, mark)
                case "SequenceEndEvent" | "MappingEndEvent":
                    self.stack.pop()

    def _make_error(self, mark: Mark, message: str) -> PolicyError:
        return PolicyError(message, where=f"{self.document.file}:{mark[0]}:{mark[1]}")

    def _check_tag(self, event: Any, mark: Mark) -> None:
        if event.tag is not None and not (type(event).__name__ == "ScalarEvent" and any(event.implicit)):
            raise self._make_error(mark, f"expected a value without a tag, found `{event.tag}`")

    def _open_collection(self, value: Any, mark: Mark) -> None:
        path = self._add_value(value, mark, text="a mapping" if isinstance(value, dict) else "a list")
        if len(self.stack) >= MAX_DEPTH:
            raise self._make_error(mark, f"expected at most {MAX_DEPTH} levels, found more")
        self.stack.append(_OpenCollection(value, path))

    def _add_value(self, value: Any, mark: Mark, *, text: str) -> DocumentPath:
        """Add a value to the open collection; in a mapping, keys and values alternate."""
        if not self.stack:
            self.document.value = value
            self.document.value_marks[()] = mark
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
        elif top.key is None:
            if isinstance(value, dict | list):
                raise self._make_error(mark, f"expected a name as key, found {text}")
            # PyYAML emits the merge key as an ordinary scalar event.
            if text == "<<":
                raise self._make_error(mark, "expected a name as key, found the merge key `<<`: write the values out")
            path = (*top.path, text)
            if text in top.value:
                first = self.document.format_location(path, key=True)
                raise self._make_error(mark, f"expected each key once, found `{text}` again (first at {first})")
            self.document.key_marks[path] = mark
            top.key = text
            top.value[text] = None
            return path
        else:
            path = (*top.path, top.key)
            top.value[top.key] = value
            top.key = None
        self.document.value_marks[path] = mark
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
            raise self._make_error(mark, f"expected a number up to {MAX_SAFE_INTEGER}, found a larger one")
        return path


@dataclass(slots=True)
class _OpenCollection:
    """A collection that is being filled; `key` is set between a key and its value."""

    value: Any
    path: DocumentPath
    key: str | None = None


def _parse_scalar(event: Any) -> Any:
    """Return the value of a plain scalar in YAML 1.2."""
    text: str = event.value
    if text.lower() in _CONSTANTS and (text in _CONSTANTS or text in (text.capitalize(), text.upper())):
        return _CONSTANTS[text.lower()]
    if len(text) < 64 and _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if len(text) < 64 and _FLOAT.fullmatch(text):
        return float(text)
    return text


def to_plain(value: Any) -> Any:
    """Return a copy made of dict, list and scalars only."""
    # Exact types first: nearly every value has one, and `isinstance` with abstract types costs ten times as much.
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if kind is list or isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    return value
