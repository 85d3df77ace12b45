"""What guidance remembers of a session between two calls: small values under keys, kept in the log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from verdikt.model.canonical import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    _ByKey = Mapping[str, Any]
else:
    _ByKey = Mapping

FADING = 256
"""Marks that a session keeps; the ones made longest ago fade first, so that a call costs the same after any number of them."""

MARK = "~"
"""How the key of a mark begins, which tells it from the key of a value."""

_LONGEST = 40


class Memory:
    """A session's keys as they were before this call, and what this call adds. `changes` is what the log must keep.

    Values stay for the whole session, so there must be few of them; marks are short words of which any number can be made,
    and may be forgotten: only what is harmless to forget is a mark.
    """

    __slots__ = ("_before", "changes")

    def __init__(self, before: Mapping[str, Any] | None = None) -> None:
        self._before = before if before is not None else {}
        self.changes: dict[str, Any] = {}

    def get(self, *key: str) -> Any:
        """What is kept under a key; None when nothing is."""
        return self._get(keyed(*key))

    def keep(self, value: Any, *key: str) -> None:
        """Keeps plain data under a key; None forgets it."""
        self.changes[keyed(*key)] = value

    def marked(self, *key: str) -> str:
        """The mark under a key; empty when there is none, or none any more."""
        return str(self._get(marking(*key)) or "")

    def mark(self, word: str, *key: str) -> None:
        """Puts a mark under a key: a word without spaces."""
        self.changes[marking(*key)] = word

    def _get(self, name: str) -> Any:
        return self.changes[name] if name in self.changes else self._before.get(name)


def keyed(*parts: str) -> str:
    """The key of a value: of bounded length for any texts, and another for any other texts."""
    name = "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
    plain = len(name) <= _LONGEST and not name.startswith(MARK)
    return name if plain else f"{parts[0][:16].lstrip(MARK)}#{_hash(name)[:24]}"


def marking(*parts: str) -> str:
    """The key of a mark."""
    return MARK + _hash(keyed(*parts))[:12]


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass"))


class Recalled(_ByKey):
    """The state of the projection `memory`, by key; looked up when the first key is asked for."""

    def __init__(self, state: Callable[[], Mapping[str, Any]]) -> None:
        self._state = state

    @cached_property
    def _kept(self) -> Mapping[str, Any]:
        kept: Mapping[str, Any] = self._state().get("kept", {})
        return kept

    @cached_property
    def _marks(self) -> str:
        return str(self._state().get("marks", ""))

    def __getitem__(self, key: str) -> Any:
        value = self._word(key) if key.startswith(MARK) else self._kept.get(key)
        if value is None:
            raise KeyError(key)
        # The state outlives the call in a warm process: what a policy does to a list it was given must stay with the policy.
        if not isinstance(value, dict | list):
            return value
        from copy import deepcopy  # loads more than most calls need

        return deepcopy(value)

    def __iter__(self) -> Iterator[str]:
        yield from self._kept
        yield from (mark.partition("=")[0] for mark in self._marks.split())

    def __len__(self) -> int:
        return len(self._kept) + len(self._marks.split())

    def _word(self, key: str) -> str | None:
        at = f" {self._marks}".find(f" {key}=")
        return self._marks[at:].split(" ", 1)[0].partition("=")[2] if at >= 0 else None


def folded(state: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The state after an entry that kept something. Marks are one text, the newest last, because that is cheap to write."""
    kept = dict(state.get("kept", {}))
    marks = str(state.get("marks", ""))
    for key, value in changes.items():
        if key.startswith(MARK):
            marks = _remarked(marks, key, value)
        elif value is None:
            kept.pop(key, None)
        else:
            kept[key] = value
    return {"kept": kept, "marks": marks}


def _remarked(marks: str, key: str, word: Any) -> str:
    at = f" {marks}".find(f" {key}=")
    if at >= 0:
        end = marks.find(" ", at)
        marks = marks[:at] + (marks[end + 1 :] if end >= 0 else "")
    marks = marks.strip()
    if isinstance(word, str) and word and not word.isspace():
        marks = f"{marks} {key}={''.join(word.split())}".strip()
    if marks.count(" ") >= FADING:
        marks = marks.partition(" ")[2]
    return marks
