"""How a stretch continues a stored chain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.team.chains import build_lines, find_head
from verdikt.model.chain_head import ChainHead
from verdikt.team.chain_extension import ChainExtension, Continuation, extend_chain, find_overlap_seq
from verdikt.team.wire import parse_batch

CHAIN = build_lines("s", range(1, 11))
OTHER = build_lines("s", range(1, 6)) + build_lines("s", range(6, 11), head=find_head(CHAIN[:5]), flavour="another")


def extend(stored: list[bytes], sent: list[bytes]) -> ChainExtension:
    """Extend a chain of stored lines by a stretch of sent ones, as a store does."""
    head = find_head(stored)
    stretch = parse_batch(b"".join(sent))[0]
    seq = find_overlap_seq(head, stretch)
    return extend_chain(head, stretch, find_head(stored[:seq]).hash if seq else "")


@pytest.mark.parametrize(
    ("stored", "sent", "continuation", "new"),
    [
        (0, slice(0, 3), Continuation.EXTENDS, slice(0, 3)),
        (3, slice(3, 6), Continuation.EXTENDS, slice(3, 6)),
        (3, slice(1, 6), Continuation.EXTENDS, slice(3, 6)),
        (3, slice(2, 4), Continuation.EXTENDS, slice(3, 4)),
        (6, slice(1, 4), Continuation.REPEATS, slice(0, 0)),
        (6, slice(0, 6), Continuation.REPEATS, slice(0, 0)),
        (3, slice(4, 6), Continuation.MISSING, slice(0, 0)),
        (0, slice(1, 3), Continuation.MISSING, slice(0, 0)),
    ],
)
def test_extend_chain_takes_each_line_once(stored: int, sent: slice, continuation: Continuation, new: slice) -> None:
    """What is stored already is not stored again, and what comes too early is asked for again."""
    extension = extend(CHAIN[:stored], CHAIN[sent])

    assert (extension.continuation, [line.line for line in extension.new_lines]) == (continuation, CHAIN[new])


@pytest.mark.parametrize(
    ("stored", "sent"), [(10, slice(5, 10)), (8, slice(3, 10)), (8, slice(5, 6)), (6, slice(6, 8)), (10, slice(0, 7))]
)
def test_extend_chain_finds_a_fork(stored: int, sent: slice) -> None:
    """A line that contradicts a stored one is a fork, wherever the stretch begins and ends."""
    assert extend(CHAIN[:stored], OTHER[sent]).continuation is Continuation.FORKS


def test_extend_chain_before_the_fork_repeats() -> None:
    """What both chains share is no fork."""
    assert extend(CHAIN, OTHER[:5]).continuation is Continuation.REPEATS


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10)), max_size=30))
def test_stretches_in_any_order_give_a_prefix(cuts: list[tuple[int, int]]) -> None:
    """Whatever is sent, repeated or out of order, the stored lines are a prefix of the chain."""
    stored: list[bytes] = []
    for first, last in cuts:
        if first < last:
            stored += [line.line for line in extend(stored, CHAIN[first:last]).new_lines]

    assert stored == CHAIN[: len(stored)]
    assert find_overlap_seq(ChainHead(), parse_batch(CHAIN[0])[0]) == 0
