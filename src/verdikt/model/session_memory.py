"""What guidance remembers of a session between two calls: small values under keys, kept in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any

from verdikt.model.canonical_json import sha256_hex

_ByKey = Mapping[str, Any]

MAX_MARKS = 256
"""Marks that a session keeps; the ones made longest ago fade first, so that a call costs the same after any number of them."""

MARK_PREFIX = "~"
"""How the key of a mark begins, which tells it from the key of a value."""

_MAX_KEY_LENGTH = 40


class Memory:
    """A session's keys as they were before this call, and what this call adds. `changes` is what the log must keep.

    Values stay for the whole session, so there must be few of them; marks are short words of which any number can be made,
    and may be forgotten: only what is harmless to forget is a mark.
    """

    __slots__ = ("_stored", "changes")

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self._stored = stored if stored is not None else {}
        self.changes: dict[str, Any] = {}

    def get(self, *key: str) -> Any:
        """What is kept under a key; None when nothing is."""
        return self._get_value(value_key(*key))

    def keep(self, value: Any, *key: str) -> None:
        """Keeps plain data under a key; None forgets it."""
        self.changes[value_key(*key)] = value

    def get_mark(self, *key: str) -> str:
        """The mark under a key; empty when there is none, or none any more."""
        return str(self._get_value(mark_key(*key)) or "")

    def set_mark(self, word: str, *key: str) -> None:
        """Puts a mark under a key: a word without spaces."""
        self.changes[mark_key(*key)] = word

    def _get_value(self, name: str) -> Any:
        return self.changes[name] if name in self.changes else self._stored.get(name)


def value_key(*parts: str) -> str:
    """The key of a value: of bounded length for any texts, and another for any other texts."""
    name = "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
    plain = len(name) <= _MAX_KEY_LENGTH and not name.startswith(MARK_PREFIX)
    return name if plain else f"{parts[0][:16].lstrip(MARK_PREFIX)}#{_hash_text(name)[:24]}"


def mark_key(*parts: str) -> str:
    """The key of a mark."""
    return MARK_PREFIX + _hash_text(value_key(*parts))[:12]


def _hash_text(text: str) -> str:
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


class StoredMemory(_ByKey):
    """The state of the projection `memory`, by key; looked up when the first key is asked for."""

    def __init__(self, load_state: Callable[[], Mapping[str, Any]]) -> None:
        self._load_state = load_state

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        kept: Mapping[str, Any] = self._load_state().get("kept", {})
        return kept

    @cached_property
    def _marks(self) -> str:
        return str(self._load_state().get("marks", ""))

    def __getitem__(self, key: str) -> Any:
        value = self._find_mark(key) if key.startswith(MARK_PREFIX) else self._values.get(key)
        if value is None:
            raise KeyError(key)
        # The state outlives the call in a warm process: what a policy does to a list it was given must stay with the policy.
        if not isinstance(value, dict | list):
            return value

        return deepcopy(value)

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        yield from (mark.partition("=")[0] for mark in self._marks.split())

    def __len__(self) -> int:
        return len(self._values) + len(self._marks.split())

    def _find_mark(self, key: str) -> str | None:
        at = f" {self._marks}".find(f" {key}=")
        return self._marks[at:].split(" ", 1)[0].partition("=")[2] if at >= 0 else None


def fold_changes(state: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The state after an entry that kept something. Marks are one text, the newest last, because that is cheap to write."""
    kept = dict(state.get("kept", {}))
    marks = str(state.get("marks", ""))
    for key, value in changes.items():
        if key.startswith(MARK_PREFIX):
            marks = _update_mark(marks, key, value)
        elif value is None:
            kept.pop(key, None)
        else:
            kept[key] = value
    return {"kept": kept, "marks": marks}


def _update_mark(marks: str, key: str, word: Any) -> str:
    at = f" {marks}".find(f" {key}=")
    if at >= 0:
        end = marks.find(" ", at)
        marks = marks[:at] + (marks[end + 1 :] if end >= 0 else "")
    marks = marks.strip()
    if isinstance(word, str) and word and not word.isspace():
        marks = f"{marks} {key}={''.join(word.split())}".strip()
    if marks.count(" ") >= MAX_MARKS:
        marks = marks.partition(" ")[2]
    return marks
