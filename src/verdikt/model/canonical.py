"""Canonical bytes (RFC 8785) and their digest; and the border where foreign JSON comes in."""

import hashlib
import json
from typing import Any

from verdikt.errors import CanonicalError

MAX_EXACT = 2**53 - 1


def canonical(value: Any) -> bytes:
    """The one byte string that stands for a value made of dict, list, str, int, float, bool and None."""
    try:
        if _plain(value):
            text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            return text.encode()
        import rfc8785  # floats, big integers and astral keys are rare: only they pay for the import

        return rfc8785.dumps(value)
    except CanonicalError:
        raise
    except RecursionError:
        raise CanonicalError("expected a value of bounded depth, found one nested too deeply") from None
    except (ValueError, TypeError) as error:
        raise CanonicalError(f"no canonical bytes: {error}") from error


def digest(value: Any) -> str:
    """Lower-case hex SHA-256 of the canonical bytes."""
    return sha256(canonical(value))


def sha256(data: bytes) -> str:
    """Lower-case hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> bool:
    """Whether the standard encoder already writes the canonical form of this value."""
    if value is None or value is True or value is False or type(value) is str:
        return True
    if type(value) is int:
        return -MAX_EXACT <= value <= MAX_EXACT
    if type(value) is dict:
        return all(type(k) is str and k.isascii() and _plain(v) for k, v in value.items())
    if type(value) in (list, tuple):
        return all(map(_plain, value))
    return False


def parse(text: str | bytes) -> Any:
    """Strict JSON: a key twice, NaN, Infinity and lone surrogates are refused."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
        text.encode() if isinstance(text, str) else text.decode()
    except RecursionError:
        raise CanonicalError("expected JSON of bounded depth, found it nested too deeply") from None
    except (ValueError, UnicodeError) as error:
        raise CanonicalError(str(error)) from error
    _refuse_surrogates(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise CanonicalError(f"expected each key once, found `{twice}` twice")
    return found


def _constant(name: str) -> Any:
    raise CanonicalError(f"expected a finite number, found {name}")


def _refuse_surrogates(value: Any) -> None:
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            raise CanonicalError("expected Unicode text, found a lone surrogate")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_surrogates(inner)
