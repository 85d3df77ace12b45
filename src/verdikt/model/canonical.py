"""Canonical bytes (RFC 8785) and their digest; and the border where foreign JSON comes in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache

from verdikt.errors import CanonicalError
from verdikt.model.notation import load, loader
from verdikt.model.notation import quote as _quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _sha256
    from typing import Any
elif sys.modules.get("_hashlib", ...) is None:  # a process that is over before OpenSSL is loaded
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:
        from hashlib import sha256 as _sha256
else:
    from hashlib import sha256 as _sha256

MAX_DEPTH = 200
"""How deeply a value may be nested: a fixed number, so that the same value fails or passes everywhere."""

MAX_EXACT = 2**53 - 1

_REMEMBERED = 1000
"""Characters of a mapping's keys up to which their layout is remembered."""

Append = Callable[[str], None]


class Written:
    """Canonical text that was written before and is taken over as it is, wherever it stands in a value."""

    __slots__ = ("brackets", "text")

    def __init__(self, data: bytes) -> None:
        self.text = data.decode()
        self.brackets = data.count(b"{") + data.count(b"[")
        """Only many of them can nest deeply; what may do so is looked at as if it had not been written before."""


def canonical(value: Any) -> bytes:
    """The one byte string that stands for a value made of mappings, sequences, strings, numbers, bools and None."""
    parts: list[str] = []
    try:
        _write(value, parts.append, MAX_DEPTH)
        return "".join(parts).encode()
    except UnicodeEncodeError:
        raise CanonicalError("expected Unicode text, found a lone surrogate") from None


def digest(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical bytes."""
    return sha256(canonical(value))


def sha256(data: bytes) -> str:
    """Lower-case hex SHA-256 of bytes."""
    return _sha256(data).hexdigest()


def blob_id(data: bytes, length: int = 40) -> str:
    """The name that git gives to these contents; `length` is that of the repository's names."""
    whole = b"blob %d\0%s" % (len(data), data)
    if length == 64:
        return sha256(whole)
    from hashlib import sha1  # only what is looked up in a repository needs it

    return sha1(whole, usedforsecurity=False).hexdigest()


def _write(value: Any, append: Append, depth: int) -> None:
    """Appends the canonical text of a value; exact types come first because nearly every value has one."""
    kind = type(value)
    if kind is str:
        append(_quote(value))
    elif value is None:
        append("null")
    elif kind is bool:
        append("true" if value else "false")
    elif kind is int:
        append(str(value) if -MAX_EXACT <= value <= MAX_EXACT else _big(value))
    elif kind is dict:
        _write_mapping(value, append, depth)
    elif kind is list or kind is tuple:
        _write_sequence(value, append, depth)
    elif kind is float:
        append(_number(value))
    elif kind is Written:
        append(value.text) if value.brackets <= depth else _write(load(value.text), append, depth)
    else:
        _write(_plain(value), append, depth)


# In the two loops the commonest types are told apart once more: a call for each of them would double the time.


def _write_mapping(value: dict[str, Any], append: Append, depth: int) -> None:
    if not depth:
        raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
    if not value:
        append("{}")
        return
    try:
        layout = _known_layout(tuple(value))
    except _Unwieldy:
        layout = _layout(tuple(value))
    for key, before in layout:
        inner = value[key]
        kind = type(inner)
        if kind is str:
            append(before + _quote(inner))
        elif not inner and depth > 1 and kind in _EMPTY:
            append(before + _EMPTY[kind])
        elif kind is bool:
            append(before + ("true" if inner else "false"))
        elif kind is int and -MAX_EXACT <= inner <= MAX_EXACT:
            append(f"{before}{inner}")
        elif kind is dict:
            append(before)
            _write_mapping(inner, append, depth - 1)
        elif kind is list or kind is tuple:
            append(before)
            _write_sequence(inner, append, depth - 1)
        else:
            append(before)
            _write(inner, append, depth - 1)
    append("}")


_EMPTY = {type(None): "null", bool: "false", int: "0", float: "0", dict: "{}", list: "[]", tuple: "[]"}
"""What is written of whatever counts as false: many values do."""


def _layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
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
def _known_layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The same, remembered: nearly every mapping has the keys of one written before."""
    layout = _layout(names)
    if sum(len(before) for _, before in layout) > _REMEMBERED:
        raise _Unwieldy  # what is raised is not remembered
    return layout


class _Unwieldy(Exception):
    """Keys that are too long to be remembered: they come from outside, and memory must stay bounded."""


def _write_sequence(value: list[Any] | tuple[Any, ...], append: Append, depth: int) -> None:
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
            _write(inner, append, depth - 1)
    append("[]" if opening == "[" else "]")


def _number(value: float) -> str:
    """A number as ECMAScript writes it."""
    if value.is_integer() and -MAX_EXACT <= value <= MAX_EXACT:
        return str(int(value))
    text = repr(value)
    if "n" in text:
        raise CanonicalError(f"expected a finite number, found {text}")
    if "e" in text or value.is_integer():
        import rfc8785  # exponents are rare: only they pay for the import

        return rfc8785.dumps(value).decode()
    return text


def _big(value: int) -> str:
    """An integer beyond 2⁵³, if a double holds it: JSON has no other numbers, and no digit may be lost."""
    try:
        text = _number(float(value))
    except OverflowError:
        text = ""
    if text != str(value):
        raise CanonicalError(f"expected an integer that a double can hold, found {value}")
    return text


def _plain(value: Any) -> Any:
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


def parse(text: str | bytes) -> Any:
    """Strict JSON: a key twice, NaN, Infinity, lone surrogates and bottomless nesting are refused."""
    try:
        # Python would also take UTF-16 and UTF-32; JSON on a wire is UTF-8.
        text = text.removeprefix(b"\xef\xbb\xbf").decode() if isinstance(text, bytes) else text
        text.encode()
        value = _load(text)
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
        _inspect(value, MAX_DEPTH)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise CanonicalError(f"expected each key once, found `{key}` twice")
            seen.add(key)
    return found


def _constant(name: str) -> Any:
    raise CanonicalError(f"expected a finite number, found {name}")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise CanonicalError(f"expected a finite number, found {text}")
    return value


def _inspect(value: Any, depth: int) -> None:
    """Refuses lone surrogates and nesting beyond the limit."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise CanonicalError("expected Unicode text, found a lone surrogate")
    elif isinstance(value, (dict, list)):
        if not depth:
            raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
        for inner in value:
            _inspect(inner, depth - 1)
        if isinstance(value, dict):
            for inner in value.values():
                _inspect(inner, depth - 1)


_load = loader(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
