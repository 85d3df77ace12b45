"""What is computed from the log, entry by entry, and kept beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from json import loads as load
from typing import TYPE_CHECKING, Any

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import encode_canonical

if TYPE_CHECKING:
    from verdikt.model.entry import Entry, EntryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A state of plain data for each session, folded from its entries in order.

    `fold(state, entry)` is pure and returns the next state; it must keep the state of bounded size, because the state is
    written with every entry that concerns it. `kinds` names the entries that do (None: all). Raise `version` when the fold
    changes: every stored state is then rebuilt from the log when it is next needed.
    """

    name: str
    fold: Callable[[Any, Entry], Any]
    initial: Any = None
    kinds: frozenset[EntryKind] | None = None
    version: int = 1

    @property
    def label(self) -> str:
        """Name and version, which together say what a stored state means."""
        return f"{self.name}:{self.version}"

    def applies_to(self, entry: Entry) -> bool:
        """Whether the entry can change the state."""
        return self.kinds is None or entry.kind in self.kinds

    def create_initial_state(self) -> Any:
        """A first state of one's own."""
        return load(encode_canonical(self.initial))


def index_by_name(projections: tuple[Projection, ...]) -> dict[str, Projection]:
    """The projections by name; two of one name are refused."""
    found = {projection.name: projection for projection in projections}
    if len(found) != len(projections):
        names = [projection.name for projection in projections]
        twice = next(name for name in names if names.count(name) > 1)
        raise LedgerError(f"expected each projection once, found `{twice}` twice")
    return found
