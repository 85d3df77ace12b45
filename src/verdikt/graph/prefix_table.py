"""Lookup of all prefixes of a text in a table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any


class PrefixTable:
    """Finds which of many literal prefixes a text has, by one binary search."""

    __slots__ = ("_parent", "_prefixes", "_values")

    def __init__(self, values_by_prefix: Mapping[str, list[int]]) -> None:
        self._prefixes = sorted(values_by_prefix)
        self._values = [values_by_prefix[prefix] for prefix in self._prefixes]
        self._parent: list[int] = []
        # Sorted, the prefixes of an entry come before it, so a stack of enclosing prefixes gives each its parent.
        enclosing: list[int] = []
        for number, prefix in enumerate(self._prefixes):
            while enclosing and not prefix.startswith(self._prefixes[enclosing[-1]]):
                enclosing.pop()
            self._parent.append(enclosing[-1] if enclosing else -1)
            enclosing.append(number)

    def dump(self) -> tuple[Any, ...]:
        """Return the table as plain data."""
        return self._prefixes, self._values, self._parent

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> PrefixTable:
        """Return the table that `dump` wrote."""
        table = cls.__new__(cls)
        table._prefixes, table._values, table._parent = data
        return table

    def find_values(self, text: str) -> list[int]:
        """Return the values of every prefix of the text."""
        # Every entry that sorts between a prefix of the text and the text itself has that prefix too, so the chain of
        # parents from the nearest entry at or before the text passes through every prefix of the text.
        values: list[int] = []
        number = bisect_right(self._prefixes, text) - 1
        while number >= 0:
            if text.startswith(self._prefixes[number]):
                values += self._values[number]
            number = self._parent[number]
        return values
