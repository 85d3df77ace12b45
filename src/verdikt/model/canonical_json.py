"""Canonical bytes (RFC 8785) and their digest; and the border where foreign JSON comes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha1
from hashlib import sha256 as _sha256
from json import JSONDecoder
from json import loads as load
from json.encoder import encode_basestring as _quote
from typing import Any

import rfc8785

from verdikt.errors import CanonicalError

MAX_DEPTH = 200
"""How deeply a value may be nested: a fixed number, so that the same value fails or passes everywhere."""

MAX_SAFE_INTEGER = 2**53 - 1

_MAX_CACHED_CHARS = 1000
"""Characters of a mapping's keys up to which their layout is remembered."""

AppendText = Callable[[str], None]


class CanonicalText:
    """Canonical text that was written before and is taken over as it is, wherever it stands in a value."""

    __slots__ = ("bracket_count", "text")

    def __init__(self, data: bytes) -> None:
        self.text = data.decode()
        self.bracket_count = data.count(b"{") + data.count(b"[")
        """Only many of them can nest deeply; what may do so is looked at as if it had not been written before."""


def encode_canonical(value: Any) -> bytes:
    """The one byte string that stands for a value made of mappings, sequences, strings, numbers, bools and None."""
    parts: list[str] = []
    try:
        _write_value(value, parts.append, MAX_DEPTH)
        return "".join(parts).encode()
    except UnicodeEncodeError:
        raise CanonicalError("expected Unicode text, found a lone surrogate") from None


def hash_canonical(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical bytes."""
    return sha256_hex(encode_canonical(value))


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256 of bytes."""
    return _sha256(data).hexdigest()


def git_blob_id(data: bytes, id_length: int = 40) -> str:
    """The name that git gives to these contents; `length` is that of the repository's names."""
    whole = b"blob %d\0%s" % (len(data), data)
    if id_length == 64:
        return sha256_hex(whole)
    return sha1(whole, usedforsecurity=False).hexdigest()


def _write_value(value: Any, append: AppendText, depth: int) -> None:
    """Appends the canonical text of a value; exact types come first because nearly every value has one."""
    kind = type(value)
    if kind is str:
        append(_quote(value))
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


# In the two loops the commonest types are told apart once more: a call for each of them would double the time.


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
    for key, before in layout:
        inner = value[key]
        kind = type(inner)
        if kind is str:
            append(before + _quote(inner))
        elif not inner and depth > 1 and kind in _FALSY_JSON:
            append(before + _FALSY_JSON[kind])
        elif kind is bool:
            append(before + ("true" if inner else "false"))
        elif kind is int and -MAX_SAFE_INTEGER <= inner <= MAX_SAFE_INTEGER:
            append(f"{before}{inner}")
        elif kind is dict:
            append(before)
            _write_mapping(inner, append, depth - 1)
        elif kind is list or kind is tuple:
            append(before)
            _write_sequence(inner, append, depth - 1)
        else:
            append(before)
            _write_value(inner, append, depth - 1)
    append("}")


_FALSY_JSON = {type(None): "null", bool: "false", int: "0", float: "0", dict: "{}", list: "[]", tuple: "[]"}
"""What is written of whatever counts as false: many values do."""


def _build_layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The keys of a mapping in their order, each with what is written before its value."""
    try:
        keys = sorted(names)
        if not "".join(keys).isascii():
            # By UTF-16 code units, which is the order of code points until a key leaves the basic plane.
            keys.sort(key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    except TypeError:
        odd = next(key for key in names if not isinstance(key, str))
        raise CanonicalError(f"expected text as keys, found {type(odd).__name__}") from None
    return tuple((key, f"{opening}{_quote(key)}:") for opening, key in zip("{" + "," * len(keys), keys, strict=False))


@lru_cache(maxsize=256)
def _lookup_layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The same, remembered: nearly every mapping has the keys of one written before."""
    layout = _build_layout(names)
    if sum(len(before) for _, before in layout) > _MAX_CACHED_CHARS:
        raise _KeysTooLongError  # what is raised is not remembered
    return layout


class _KeysTooLongError(Exception):
    """Keys that are too long to be remembered: they come from outside, and memory must stay bounded."""


def _write_sequence(value: list[Any] | tuple[Any, ...], append: AppendText, depth: int) -> None:
    if not depth:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
    opening = "["
    for inner in value:
        append(opening)
        opening = ","
        kind = type(inner)
        if kind is str:
            append(_quote(inner))
        elif kind is dict:
            _write_mapping(inner, append, depth - 1)
        else:
            _write_value(inner, append, depth - 1)
    append("[]" if opening == "[" else "]")


def _format_number(value: float) -> str:
    """A number as ECMAScript writes it."""
    if value.is_integer() and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return str(int(value))
    text = repr(value)
    if "n" in text:
        raise CanonicalError(f"expected a finite number, found {text}")
    if "e" in text or value.is_integer():
        return rfc8785.dumps(value).decode()
    return text


def _format_big_integer(value: int) -> str:
    """An integer beyond 2⁵³, if a double holds it: JSON has no other numbers, and no digit may be lost."""
    try:
        text = _format_number(float(value))
    except OverflowError:
        text = ""
    if text != str(value):
        raise CanonicalError(f"expected an integer that a double can hold, found {value}")
    return text


def _to_plain(value: Any) -> Any:
    """The plain form of an enum member, a read-only mapping or another subclass of what JSON knows."""
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
    """Strict JSON: a key twice, NaN, Infinity, lone surrogates and bottomless nesting are refused."""
    try:
        # Python would also take UTF-16 and UTF-32; JSON on a wire is UTF-8.
        text = text.removeprefix(b"\xef\xbb\xbf").decode() if isinstance(text, bytes) else text
        text.encode()
        value = _load_strict(text)
    except RecursionError:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more") from None
    except UnicodeDecodeError as error:
        raise CanonicalError(f"expected UTF-8, found the byte 0x{error.object[error.start]:02x}") from error
    except UnicodeEncodeError as error:
        raise CanonicalError("expected Unicode text, found a lone surrogate") from error
    except ValueError as error:
        raise CanonicalError(str(error)) from error
    # Only an escape can still bring in a surrogate, and only many brackets can nest deeply.
    if "\\ud" in text or "\\uD" in text or text.count("[") + text.count("{") > MAX_DEPTH:
        _check_value(value, MAX_DEPTH)
    return value


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise CanonicalError(f"expected each key once, found `{key}` twice")
            seen.add(key)
    return found


def _reject_constant(name: str) -> Any:
    raise CanonicalError(f"expected a finite number, found {name}")


def _parse_finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise CanonicalError(f"expected a finite number, found {text}")
    return value


def _check_value(value: Any, depth: int) -> None:
    """Refuses lone surrogates and nesting beyond the limit."""
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
