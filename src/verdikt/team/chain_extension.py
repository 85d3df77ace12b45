"""How a stretch of lines continues a stored chain. This is where exactly once is decided; the store only does it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdikt.model.chain_head import ChainHead

if TYPE_CHECKING:
    from verdikt.team.wire import ReceivedLine, Stretch


class Continuation(enum.StrEnum):
    """What a stretch is to a stored chain."""

    EXTENDS = "extends"  # some of its lines are new
    REPEATS = "repeats"  # all of it is stored already
    MISSING = "missing"  # lines before it have not arrived: the sender goes back to the stored head
    FORKS = "forks"  # it contradicts what is stored


@dataclass(frozen=True, slots=True)
class ChainExtension:
    """The answer for one stretch: what it is, and the lines that are to be stored."""

    continuation: Continuation
    new_lines: tuple[ReceivedLine, ...] = ()
    fork_seq: int = 0
    """With FORKS: an entry that is stored with another hash."""


def find_overlap_seq(head: ChainHead, stretch: Stretch) -> int:
    """Return the entry whose stored hash decides whether a stretch agrees with the chain; 0 when none is needed.

    Hashes chain, so one equal hash proves that everything before it is equal too.
    """
    if stretch.first_seq > head.seq + 1:
        return 0
    return min(stretch.head.seq, head.seq) if stretch.first_seq <= head.seq else head.seq


def extend_chain(head: ChainHead, stretch: Stretch, stored_hash: str) -> ChainExtension:
    """Return what a stretch adds to a chain with this head; `stored_hash` is that of the entry `find_overlap_seq`."""
    first, last = stretch.first_seq, stretch.head.seq
    if first > head.seq + 1:
        return ChainExtension(Continuation.MISSING)
    if first == head.seq + 1:
        agrees = stretch.lines[0].prev == head.hash
        return (
            ChainExtension(Continuation.EXTENDS, stretch.lines)
            if agrees
            else ChainExtension(Continuation.FORKS, fork_seq=head.seq)
        )
    seq = min(last, head.seq)
    if stretch.lines[seq - first].hash != stored_hash:
        return ChainExtension(Continuation.FORKS, fork_seq=seq)
    if last <= head.seq:
        return ChainExtension(Continuation.REPEATS)
    return ChainExtension(Continuation.EXTENDS, stretch.lines[head.seq + 1 - first :])
