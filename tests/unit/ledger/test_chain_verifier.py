"""What was done to a damaged chain is told, and where."""

from collections.abc import Callable

import pytest

from verdikt.ledger.audit_finding import Corruption, Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.store import ChainHead
from verdikt.model.entry import GENESIS_HASH, Entry, EntryKind, decode_entry, seal_entry

Lines = list[bytes]


def chain(count: int, session: str = "s", *, prev: str = GENESIS_HASH, first: int = 1, word: str = "x") -> Lines:
    """An intact chain."""
    lines = []
    for seq in range(first, first + count):
        draft = Entry(seq=seq, ts=seq, session=session, kind=EntryKind.TOOL_CALL, body={"w": word}, prev=prev)
        entry, line = seal_entry(draft)
        prev = entry.hash
        lines.append(line)
    return lines


def look(lines: Lines, *witnesses: Witness, start: ChainHead = ChainHead()) -> ChainReport:  # noqa: B008
    """An examination of these lines."""
    return verify_chain(lambda: lines, session="s", witnesses=witnesses, start=start)


def rewritten(line: bytes, **changes: object) -> bytes:
    """The entry of a line with other fields and a right hash."""
    return seal_entry(Entry(**{**decode_entry(line).to_record(), **changes, "hash": "", "sig": ""}))[1]


def edit(lines: Lines) -> Lines:
    lines[4] = lines[4].replace(b'"x"', b'"y"')
    return lines


def edit_the_hash(lines: Lines) -> Lines:
    lines[4] = lines[4].replace(decode_entry(lines[4]).hash.encode(), b"f" * 64)
    return lines


def garbage(lines: Lines) -> Lines:
    lines[4] = b"\x00\xff garbage\n"
    return lines


def drop(lines: Lines) -> Lines:
    return lines[:4] + lines[5:]


def drop_three(lines: Lines) -> Lines:
    return lines[:4] + lines[7:]


def drop_the_first(lines: Lines) -> Lines:
    return lines[1:]


def swap(lines: Lines) -> Lines:
    lines[4], lines[5] = lines[5], lines[4]
    return lines


def swap_far(lines: Lines) -> Lines:
    lines[4], lines[8] = lines[8], lines[4]
    return lines


def double(lines: Lines) -> Lines:
    return [*lines[:5], lines[4], *lines[5:]]


def insert_garbage(lines: Lines) -> Lines:
    return [*lines[:4], b"hello\n", *lines[4:]]


def insert_an_impostor(lines: Lines) -> Lines:
    return [*lines[:4], rewritten(lines[4], body={"w": "y"}), *lines[4:]]


def insert_from_another_session(lines: Lines) -> Lines:
    return [*lines[:4], chain(5, "t")[4], *lines[4:]]


def forge(lines: Lines) -> Lines:
    lines[4] = rewritten(lines[4], body={"w": "y"})
    return lines


def forge_the_rest(lines: Lines) -> Lines:
    before = decode_entry(lines[3])
    return lines[:4] + chain(6, prev=before.hash, first=5, word="y")


def truncate(lines: Lines) -> Lines:
    return lines[:7]


def merge(lines: Lines) -> Lines:
    lines[4] = lines[4].rstrip(b"\n") + b" " + lines[5]
    del lines[5]
    return lines


@pytest.mark.parametrize(
    ("harm", "kind", "seq"),
    [
        (edit, Corruption.EDIT, 5),
        (edit_the_hash, Corruption.EDIT, 5),
        (garbage, Corruption.EDIT, 5),
        (merge, Corruption.EDIT, 5),
        (drop, Corruption.DROP, 5),
        (drop_three, Corruption.DROP, 5),
        (drop_the_first, Corruption.DROP, 1),
        (swap, Corruption.SWAP, 5),
        (swap_far, Corruption.SWAP, 5),
        (double, Corruption.INSERT, 5),
        (insert_garbage, Corruption.INSERT, 5),
        (insert_an_impostor, Corruption.INSERT, 5),
        (insert_from_another_session, Corruption.INSERT, 5),
        (forge, Corruption.FORGERY, 5),
        (forge_the_rest, Corruption.FORGERY, 10),
        (truncate, Corruption.TRUNCATION, 8),
    ],
)
def test_each_kind_of_damage_is_told_apart(harm: Callable[[Lines], Lines], kind: Corruption, seq: int) -> None:
    """By its name and its first entry."""
    lines = chain(10)
    head = Witness("s", 10, decode_entry(lines[-1]).hash)
    assert look(list(lines), head).is_intact

    found = look(harm(lines), head)

    assert not found.is_intact
    assert (found.findings[0].kind, found.findings[0].seq) == (kind, seq), found.findings


def test_the_rest_of_a_damaged_chain_is_still_examined() -> None:
    """One fault does not hide the next."""
    lines = chain(20)
    lines[3] = lines[3].replace(b'"x"', b'"y"')
    del lines[10]
    lines[15], lines[16] = lines[16], lines[15]

    found = look(lines)

    assert [(fault.kind, fault.seq) for fault in found.findings] == [
        (Corruption.EDIT, 4),
        (Corruption.DROP, 11),
        (Corruption.SWAP, 17),
    ]


def test_nothing_is_not_intact() -> None:
    """An empty log holds nothing, so it does not hold."""
    assert not look([]).is_intact


def test_an_older_copy_shows_against_a_witness_from_elsewhere() -> None:
    """It is called a rollback, because the log's own directory knows nothing of what is missing."""
    lines = chain(10)
    witness = Witness("s", 10, decode_entry(lines[-1]).hash, "checkpoint.json", is_external=True)

    found = look(lines[:6], witness)

    assert [(fault.kind, fault.seq) for fault in found.findings] == [(Corruption.ROLLBACK, 7)]
    assert "expected entries up to 10 as checkpoint.json says, found the end after 6" in found.findings[0].message


def test_a_chain_may_begin_after_an_expired_archive() -> None:
    """When somebody vouches for where it was cut."""
    lines = chain(10)
    cut = ChainHead(4, decode_entry(lines[3]).hash)

    assert look(lines[4:], start=cut).is_intact
    assert look(lines[4:], start=ChainHead(4, "e" * 64)).findings[0].kind is Corruption.FORGERY
    assert look(lines[4:]).findings[0].kind is Corruption.DROP


def test_a_newer_entry_is_told() -> None:
    """It cannot be judged, so it is not called intact."""
    lines = chain(2)
    lines[1] = rewritten(lines[1], v=2)

    assert look(lines).findings[0].kind is Corruption.NEWER


def test_signatures_have_three_different_faults() -> None:
    """Unsigned, unknown key, bad signature."""
    kinds = {"none": None, "unknown": Corruption.UNKNOWN_KEY, "bad": Corruption.BAD_SIGNATURE}
    lines, prev = [], GENESIS_HASH
    for seq, kid in enumerate(["", "unknown", "bad", "good"], start=1):
        draft = Entry(seq=seq, ts=seq, session="s", kind=EntryKind.POSTURE, prev=prev, kid=kid)
        entry, line = seal_entry(draft, (lambda _: "00") if kid else None)
        prev = entry.hash
        lines.append(line)

    found = verify_chain(lambda: lines, session="s", verify_signature=lambda kid, *_: kinds.get(kid))

    assert [(fault.kind, fault.seq) for fault in found.findings] == [
        (Corruption.UNSIGNED, 1),
        (Corruption.UNKNOWN_KEY, 2),
        (Corruption.BAD_SIGNATURE, 3),
    ]
    assert (found.signature_count, found.last_covered_seq) == (1, 4)
