"""What guidance remembers of a session between two calls: small values under keys, kept in the log."""

from collections.abc import Mapping
from typing import Any

from verdikt.model.canonical import sha256

LIMIT = 768
"""Keys that a session keeps; the ones touched longest ago are forgotten, so that a call costs the same after any number of them."""


class Memory:
    """A session's keys as they were before this call, and what this call adds. `changes` is what the log must keep."""

    __slots__ = ("_before", "changes")

    def __init__(self, before: Mapping[str, Any] | None = None) -> None:
        self._before = before or {}
        self.changes: dict[str, Any] = {}

    def get(self, *key: str) -> Any:
        """What is kept under a key; None when nothing is."""
        name = keyed(*key)
        return self.changes[name] if name in self.changes else self._before.get(name)

    def keep(self, value: Any, *key: str) -> None:
        """Keeps plain data under a key; None forgets it."""
        self.changes[keyed(*key)] = value


def keyed(*parts: str) -> str:
    """A key of bounded length for any texts."""
    name = "|".join(parts)
    return name if len(name) <= 40 else f"{parts[0][:20]}|{sha256(name.encode('utf-8', 'surrogatepass'))[:18]}"


def folded(state: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A session's keys after an entry that kept something; the newest last, the oldest dropped."""
    kept = {key: value for key, value in state.items() if key not in changes}
    kept |= {key: value for key, value in changes.items() if value is not None}
    if len(kept) > LIMIT:
        for key in list(kept)[: len(kept) - LIMIT]:
            del kept[key]
    return kept
