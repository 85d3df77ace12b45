"""Plain data: its canonical bytes (RFC 8785) and digest, strict parsing of foreign JSON, frozen copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from hashlib import sha1
from hashlib import sha256 as _sha256
from json import JSONDecoder
from json import loads as load
from json.encoder import encode_basestring
from types import MappingProxyType
from typing import Any

import rfc8785

from verdikt.errors import CanonicalError

# A fixed number rather than the interpreter's recursion limit, so that the same value passes or fails everywhere.
MAX_DEPTH = 200
"""How deeply a value may be nested."""

MAX_SAFE_INTEGER = 2**53 - 1

# Keys may come from outside, so only layouts of up to this many characters are cached: memory stays bounded.
_MAX_CACHED_CHARS = 1000

_LONG_TEXT = 32_768

_ESCAPED_BYTES = bytes(range(0x20)) + b'"\\'
"""What JSON escapes in a text."""

AppendText = Callable[[str], None]


class CanonicalText:
    """Text that is already canonical; `encode_canonical` copies it as it is, wherever it stands in a value."""

    __slots__ = ("bracket_count", "text")

    def __init__(self, data: bytes) -> None:
        self.text = data.decode()
        # An upper bound of the nesting: only a text with many brackets has to be parsed to check its depth.
        self.bracket_count = _count_brackets(self.text)


def encode_canonical(value: Any) -> bytes:
    """Return the canonical bytes of a value made of mappings, sequences, strings, numbers, bools and None."""
    parts: list[str] = []
    try:
        _write_value(value, parts.append, MAX_DEPTH)
        return "".join(parts).encode()
    except UnicodeEncodeError:
        raise CanonicalError("expected Unicode text, found a lone surrogate") from None


def quote_text(text: str) -> str:
    """Return a text as JSON, with no more escapes than it needs."""
    if len(text) < _LONG_TEXT:
        return encode_basestring(text)
    # A long text seldom needs an escape, and looking for one takes a third of the time of copying letter by letter.
    data = text.encode("utf-8", "surrogatepass")
    return f'"{text}"' if len(data.translate(None, _ESCAPED_BYTES)) == len(data) else encode_basestring(text)


def hash_canonical(value: Any) -> str:
    """Return the lower-case hex SHA-256 of the canonical bytes."""
    return sha256_hex(encode_canonical(value))


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex SHA-256 of bytes."""
    return _sha256(data).hexdigest()


def git_blob_id(data: bytes, id_length: int = 40) -> str:
    """Return git's object id of a file with this content; `id_length` is 40 for SHA-1, 64 for SHA-256 repositories."""
    blob = b"blob %d\0%s" % (len(data), data)
    if id_length == 64:
        return sha256_hex(blob)
    return sha1(blob, usedforsecurity=False).hexdigest()


def _write_value(value: Any, append: AppendText, depth: int) -> None:
    """Append the canonical text of a value."""
    # Exact types first: nearly every value has one, and `isinstance` with abstract types costs ten times as much.
    kind = type(value)
    if kind is str:
        append(quote_text(value))
    elif value is None:
        append("null")
    elif kind is bool:
        append("true" if value else "false")
    elif kind is int:
        append(str(value) if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _format_big_integer(value))
    elif kind is dict:
        _write_mapping(value, append, depth)
    elif kind is list or kind is tuple:
        _write_sequence(value, append, depth)
    elif kind is float:
        append(_format_number(value))
    elif kind is CanonicalText:
        append(value.text) if value.bracket_count <= depth else _write_value(load(value.text), append, depth)
    else:
        _write_value(_to_plain(value), append, depth)


# The two loops below handle the commonest types themselves: a call of `_write_value` for each would double the time.


def _write_mapping(value: dict[str, Any], append: AppendText, depth: int) -> None:
    if not depth:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
    if not value:
        append("{}")
        return
    try:
        layout = _lookup_layout(tuple(value))
    except _KeysTooLongError:
        layout = _build_layout(tuple(value))
    for key, lead in layout:
        inner = value[key]
        kind = type(inner)
        if kind is str:
            append(lead + (encode_basestring(inner) if len(inner) < _LONG_TEXT else quote_text(inner)))
        elif not inner and depth > 1 and kind in _FALSY_JSON:
            append(lead + _FALSY_JSON[kind])
        elif kind is bool:
            append(lead + ("true" if inner else "false"))
        elif kind is int and -MAX_SAFE_INTEGER <= inner <= MAX_SAFE_INTEGER:
            append(f"{lead}{inner}")
        elif kind is dict:
            append(lead)
            _write_mapping(inner, append, depth - 1)
        elif kind is list or kind is tuple:
            append(lead)
            _write_sequence(inner, append, depth - 1)
        else:
            append(lead)
            _write_value(inner, append, depth - 1)
    append("}")


_FALSY_JSON = {type(None): "null", bool: "false", int: "0", float: "0", dict: "{}", list: "[]", tuple: "[]"}
"""JSON of the empty value of each type; many values in a record are empty."""


def _build_layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the keys of a mapping in canonical order, each with the text that precedes its value."""
    try:
        keys = sorted(names)
        if not "".join(keys).isascii():
            # RFC 8785 sorts by UTF-16 code units, which differs from code points only beyond the basic plane.
            keys.sort(key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    except TypeError:
        key = next(key for key in names if not isinstance(key, str))
        raise CanonicalError(f"expected text as keys, found {type(key).__name__}") from None
    return tuple(
        (key, f"{opening}{quote_text(key)}:") for opening, key in zip("{" + "," * len(keys), keys, strict=False)
    )


@lru_cache(maxsize=256)
def _lookup_layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the cached layout: nearly every mapping has the keys of an earlier one."""
    layout = _build_layout(names)
    if sum(len(lead) for _, lead in layout) > _MAX_CACHED_CHARS:
        raise _KeysTooLongError
    return layout


class _KeysTooLongError(Exception):
    """Keys that are too long for the cache; `lru_cache` does not keep a call that raises."""


def _write_sequence(value: list[Any] | tuple[Any, ...], append: AppendText, depth: int) -> None:
    if not depth:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
    opening = "["
    for inner in value:
        append(opening)
        opening = ","
        kind = type(inner)
        if kind is str:
            append(quote_text(inner))
        elif kind is dict:
            _write_mapping(inner, append, depth - 1)
        else:
            _write_value(inner, append, depth - 1)
    append("[]" if opening == "[" else "]")


def _format_number(value: float) -> str:
    """Return a number as ECMAScript formats it, which RFC 8785 prescribes."""
    if value.is_integer() and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return str(int(value))
    text = repr(value)
    if "n" in text:
        raise CanonicalError(f"expected a finite number, found {text}")
    if "e" in text or value.is_integer():
        return rfc8785.dumps(value).decode()
    return text


def _format_big_integer(value: int) -> str:
    """Return an integer beyond 2⁵³ if a double holds it: JSON numbers are doubles, and no digit may be lost."""
    try:
        text = _format_number(float(value))
    except OverflowError:
        text = ""
    if text != str(value):
        raise CanonicalError(f"expected an integer that a double can hold, found {value}")
    return text


def _to_plain(value: Any) -> Any:
    """Return the plain form of an enum member, a read-only mapping or another subclass of a JSON type."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return list(value)
    raise CanonicalError(f"expected plain data, found {type(value).__name__}")


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON; refuse duplicate keys, NaN, Infinity, lone surrogates and nesting beyond `MAX_DEPTH`."""
    try:
        # `json.loads` would also accept UTF-16 and UTF-32; JSON that is exchanged must be UTF-8 (RFC 8259).
        if isinstance(text, bytes):
            text = text.removeprefix(b"\xef\xbb\xbf").decode()
        else:
            text.encode()  # what was decoded has no surrogates
        value = _load_strict(text)
    except RecursionError:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more") from None
    except UnicodeDecodeError as error:
        raise CanonicalError(f"expected UTF-8, found the byte 0x{error.object[error.start]:02x}") from error
    except UnicodeEncodeError as error:
        raise CanonicalError("expected Unicode text, found a lone surrogate") from error
    except ValueError as error:
        raise CanonicalError(str(error)) from error
    # Only an escape can still bring in a surrogate, and only many brackets can nest deeply. A single character is found
    # a hundred times as fast as two of them.
    has_surrogate = "\\" in text and ("\\ud" in text or "\\uD" in text)
    if has_surrogate or _count_brackets(text) > MAX_DEPTH:
        _check_value(value, MAX_DEPTH)
    return value


def _count_brackets(text: str) -> int:
    """Return how many brackets open in a text; of a long one, no more than exceed `MAX_DEPTH`."""
    if len(text) < _LONG_TEXT:
        return text.count("[") + text.count("{")
    # `find` looks at many characters at once, and `count` at each.
    count = 0
    for bracket in "[{":
        position = text.find(bracket)
        while position >= 0 and count <= MAX_DEPTH:
            count += 1
            position = text.find(bracket, position + 1)
    return count


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise CanonicalError(f"expected each key once, found `{key}` twice")
            seen.add(key)
    return mapping


def _reject_constant(name: str) -> Any:
    raise CanonicalError(f"expected a finite number, found {name}")


def _parse_finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise CanonicalError(f"expected a finite number, found {text}")
    return value


def _check_value(value: Any, depth: int) -> None:
    """Raise for lone surrogates and for nesting beyond the limit."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise CanonicalError("expected Unicode text, found a lone surrogate")
    elif isinstance(value, (dict, list)):
        if not depth:
            raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
        for inner in value:
            _check_value(inner, depth - 1)
        if isinstance(value, dict):
            for inner in value.values():
                _check_value(inner, depth - 1)


_load_strict = JSONDecoder(
    object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant, parse_float=_parse_finite_float
).decode


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a deep copy in which mappings are read-only and sequences are tuples."""
    if isinstance(value, (Mapping, list, tuple)):
        if not depth:
            raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
        if isinstance(value, Mapping):
            return MappingProxyType({key: freeze(inner, depth - 1) for key, inner in value.items()})
        return tuple(freeze(inner, depth - 1) for inner in value)
    return value


def thaw(value: Any) -> Any:
    """Return a deep copy made of dict and list."""
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(inner) for inner in value]
    return value


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, in order, without copying their values as `asdict` does."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def stringify_big_integers(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a payload in which integers that a double cannot hold are text; other invalid values stay."""
    if isinstance(value, Mapping) and depth:
        return {key: stringify_big_integers(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [stringify_big_integers(inner, depth - 1) for inner in value]
    if type(value) is int and abs(value) > 2**53:
        # Decimal conversion of huge integers takes quadratic time, and Python limits it to 4,300 digits.
        return str(value) if value.bit_length() < 10_000 else hex(value)
    return value
