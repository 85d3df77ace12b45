"""Many literal beginnings, looked up at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any


class PrefixTable:
    """Which of many literal beginnings a text has, found by one binary search however many there are."""

    __slots__ = ("_parent", "_prefixes", "_values")

    def __init__(self, values_by_prefix: Mapping[str, list[int]]) -> None:
        self._prefixes = sorted(values_by_prefix)
        self._values = [values_by_prefix[prefix] for prefix in self._prefixes]
        self._parent: list[int] = []
        open_: list[int] = []
        for number, prefix in enumerate(self._prefixes):
            while open_ and not prefix.startswith(self._prefixes[open_[-1]]):
                open_.pop()
            self._parent.append(open_[-1] if open_ else -1)
            open_.append(number)

    def dump(self) -> tuple[Any, ...]:
        """The table as plain data."""
        return self._prefixes, self._values, self._parent

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> PrefixTable:
        """The table that `dump` gave."""
        table = cls.__new__(cls)
        table._prefixes, table._values, table._parent = data
        return table

    def find_values(self, text: str) -> list[int]:
        """What is filed under every beginning of the text."""
        # Whatever sorts between a beginning of the text and the text itself also begins with it, so the chain of
        # parents from the nearest entry at or before the text passes through every beginning.
        found: list[int] = []
        number = bisect_right(self._prefixes, text) - 1
        while number >= 0:
            if text.startswith(self._prefixes[number]):
                found += self._values[number]
            number = self._parent[number]
        return found
