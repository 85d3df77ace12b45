"""Decoding of consecutive lines of a chain. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.model.entry import decode_entry

if TYPE_CHECKING:
    from verdikt.model.entry import Entry

GAP_LOST = "lost"
GAP_REWRITTEN = "rewritten"
"""The `reason` of a gap entry that reports entries cut off, or replaced, before it; `head` is the last one known."""


GAP_DATABASE = "state.db was missing"
"""The `reason` of a gap entry of the operator's log that reports the loss of `state.db`."""


def read_chain(lines: Iterable[bytes], session: str) -> Iterator[Entry]:
    """Yield the entries of consecutive lines; raise `ChainBroken` at one that does not follow."""
    before: Entry | None = None
    for line in lines:
        entry = decode_entry(line)
        if entry.session != session:
            raise ChainBroken(f"entry {entry.seq}: expected session `{session}`, found `{entry.session}`")
        # The first line has no predecessor here: the caller knows where it must link to.
        if before is not None and (entry.prev != before.hash or entry.seq != before.seq + 1):
            raise ChainBroken(f"entry {before.seq + 1}: expected prev {before.hash[:12]}…, found {entry.prev[:12]}…")
        before = entry
        yield entry
