"""What a person named in their own words, and which names of a tool call are not among it.

The words are kept by digest: a receipt that depends on them holds nothing of what the person wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.model.action import UNKNOWN
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.lazy_regex import compile_lazily

MAX_NAMED_WORDS = 400
"""Number of words of a session's prompts that are kept, the newest ones."""

_DIGEST_LENGTH = 8
_MAX_PROMPT = 20_000
_MAX_NAMES = 256
_MAX_NAME_LENGTH = 80
"""Longer values are text for people, of which only the addresses count."""
_MIN_WORD_LENGTH = 3
_MIN_NUMBER_LENGTH = 5
# Mail addresses, hosts with what follows them, and numbers of accounts, cards and documents: each is one name.
_ADDRESS = compile_lazily(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://)?(?:[\w-]+\.)+[A-Za-z]{2,}(?:[/?#][^\s\"'<>]*)?"
    r"|\b[A-Za-z]{1,4}\d{6,}\w*\b|\b\d{4}(?:[ -]\d{4}){2,3}\b|\b\d{9,}\b"
)
_WORD = compile_lazily(r"[^\W_]+")
_TEXT_KEYS = frozenset(
    "subject body content contents text message description note notes comment summary query location reason".split()
)
"""Keys of values that people read; whatever they say, they decide neither who gets it nor what is changed."""


def fold_named_words(before: str, text: str) -> str:
    """Return the digests of the words that were named before and in this text, the oldest dropped first."""
    digests = dict.fromkeys(before.split())
    for name in _iter_names(text[:_MAX_PROMPT]):
        digest = _hash_name(name)
        digests.pop(digest, None)
        digests[digest] = None
    return " ".join(list(digests)[-MAX_NAMED_WORDS:])


def _iter_names(text: str) -> Iterator[str]:
    for match in _ADDRESS.finditer(text):
        yield _normalize_address(match[0])
    for word in _WORD.findall(text):
        yield word.lower()


def _normalize_address(address: str) -> str:
    return address.lower().removeprefix("https://").removeprefix("http://").rstrip(".,;:!?/)")


def _hash_name(name: str) -> str:
    return sha256_hex(name.encode("utf-8", "surrogatepass"))[:_DIGEST_LENGTH]


def find_unnamed_value(payload: Any, named: str, *, with_numbers: bool) -> str:
    """Return the first value of a call that the person did not name; empty when there is none.

    An address must be named as a whole, other values word by word. Numbers count only with `with_numbers`: they are
    amounts and dates, but what is deleted often has no other name. A short one names nothing: it may be any date.
    """
    known = frozenset(named.split())
    for count, (key, value) in enumerate(_iter_values("", payload)):
        if count >= _MAX_NAMES or not _is_named(key, value, known, with_numbers=with_numbers):
            return value[:_MAX_NAME_LENGTH]
    return ""


def _iter_values(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a call's arguments, each with its key."""
    if isinstance(value, Mapping):
        for inner_key, inner in value.items():
            yield from _iter_values(str(inner_key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _iter_values(key, inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield key, str(value)


def _is_named(key: str, value: str, known: frozenset[str], *, with_numbers: bool) -> bool:
    # A value that is a secret was masked before: whether the person named this very one is not known.
    if UNKNOWN in value:
        return False
    if any(_hash_name(_normalize_address(match[0])) not in known for match in _ADDRESS.finditer(value)):
        return False
    if key.lower() in _TEXT_KEYS or len(value) > _MAX_NAME_LENGTH or "\n" in value:
        return True
    words = [word.lower() for word in _WORD.findall(_ADDRESS.sub(" ", value))]
    counted = [word for word in words if len(word) >= _MIN_WORD_LENGTH and not word.isdigit()]
    if with_numbers:
        counted += [word if len(word) >= _MIN_NUMBER_LENGTH else "" for word in words if word.isdigit()]
    return all(_hash_name(word) in known for word in counted)
