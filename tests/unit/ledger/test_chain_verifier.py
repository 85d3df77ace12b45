"""Diagnosis of damaged chains: the kind of damage and the entry."""

from collections.abc import Callable

import pytest

from verdikt.ledger.audit_finding import Corruption, Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import GENESIS_HASH, Entry, EntryKind, decode_entry, seal_entry

Lines = list[bytes]


def build_chain(count: int, session: str = "s", *, prev: str = GENESIS_HASH, first: int = 1, word: str = "x") -> Lines:
    """Return the lines of an intact chain."""
    lines = []
    for seq in range(first, first + count):
        draft = Entry(seq=seq, ts=seq, session=session, kind=EntryKind.TOOL_CALL, body={"w": word}, prev=prev)
        entry, line = seal_entry(draft)
        prev = entry.hash
        lines.append(line)
    return lines


def verify_lines(lines: Lines, *witnesses: Witness, start: ChainHead = ChainHead()) -> ChainReport:  # noqa: B008
    """Verify these lines."""
    return verify_chain(lambda: lines, session="s", witnesses=witnesses, start=start)


def rewrite_entry(line: bytes, **changes: object) -> bytes:
    """Return the entry of a line with other fields and a right hash."""
    return seal_entry(Entry(**{**decode_entry(line).to_record(), **changes, "hash": "", "sig": ""}))[1]


def edit_a_field(lines: Lines) -> Lines:
    """Change a value in the fifth entry."""
    lines[4] = lines[4].replace(b'"x"', b'"y"')
    return lines


def edit_the_hash(lines: Lines) -> Lines:
    """Change the hash of the fifth entry."""
    lines[4] = lines[4].replace(decode_entry(lines[4]).hash.encode(), b"f" * 64)
    return lines


def replace_with_garbage(lines: Lines) -> Lines:
    """Replace the fifth entry with bytes that are no JSON."""
    lines[4] = b"\x00\xff garbage\n"
    return lines


def drop_an_entry(lines: Lines) -> Lines:
    """Drop the fifth entry."""
    return lines[:4] + lines[5:]


def drop_three_entries(lines: Lines) -> Lines:
    """Drop three entries in the middle."""
    return lines[:4] + lines[7:]


def drop_the_first(lines: Lines) -> Lines:
    """Drop the first entry."""
    return lines[1:]


def swap_neighbours(lines: Lines) -> Lines:
    """Swap two neighbouring entries."""
    lines[4], lines[5] = lines[5], lines[4]
    return lines


def swap_distant_entries(lines: Lines) -> Lines:
    """Swap two entries that are apart."""
    lines[4], lines[8] = lines[8], lines[4]
    return lines


def repeat_an_entry(lines: Lines) -> Lines:
    """Repeat the fifth entry."""
    return [*lines[:5], lines[4], *lines[5:]]


def insert_garbage(lines: Lines) -> Lines:
    """Insert a line that is no JSON."""
    return [*lines[:4], b"hello\n", *lines[4:]]


def insert_an_impostor(lines: Lines) -> Lines:
    """Insert a valid entry with the number of another."""
    return [*lines[:4], rewrite_entry(lines[4], body={"w": "y"}), *lines[4:]]


def insert_from_another_session(lines: Lines) -> Lines:
    """Insert a valid entry of another session."""
    return [*lines[:4], build_chain(5, "t")[4], *lines[4:]]


def forge_an_entry(lines: Lines) -> Lines:
    """Replace the fifth entry with another whose own hash is right."""
    lines[4] = rewrite_entry(lines[4], body={"w": "y"})
    return lines


def forge_the_rest(lines: Lines) -> Lines:
    """Replace every entry from the fifth on with a chain that continues the fourth."""
    before = decode_entry(lines[3])
    return lines[:4] + build_chain(6, prev=before.hash, first=5, word="y")


def truncate_the_end(lines: Lines) -> Lines:
    """Cut off the last entries."""
    return lines[:7]


def merge_two_lines(lines: Lines) -> Lines:
    """Join two entries on one line."""
    lines[4] = lines[4].rstrip(b"\n") + b" " + lines[5]
    del lines[5]
    return lines


@pytest.mark.parametrize(
    ("harm", "kind", "seq"),
    [
        (edit_a_field, Corruption.EDIT, 5),
        (edit_the_hash, Corruption.EDIT, 5),
        (replace_with_garbage, Corruption.EDIT, 5),
        (merge_two_lines, Corruption.EDIT, 5),
        (drop_an_entry, Corruption.DROP, 5),
        (drop_three_entries, Corruption.DROP, 5),
        (drop_the_first, Corruption.DROP, 1),
        (swap_neighbours, Corruption.SWAP, 5),
        (swap_distant_entries, Corruption.SWAP, 5),
        (repeat_an_entry, Corruption.INSERT, 5),
        (insert_garbage, Corruption.INSERT, 5),
        (insert_an_impostor, Corruption.INSERT, 5),
        (insert_from_another_session, Corruption.INSERT, 5),
        (forge_an_entry, Corruption.FORGERY, 5),
        (forge_the_rest, Corruption.FORGERY, 10),
        (truncate_the_end, Corruption.TRUNCATION, 8),
    ],
)
def test_each_kind_of_damage_is_reported_at_its_entry(
    harm: Callable[[Lines], Lines], kind: Corruption, seq: int
) -> None:
    """Every damage is reported with its kind and its first entry."""
    lines = build_chain(10)
    head = Witness("s", 10, decode_entry(lines[-1]).hash)
    assert verify_lines(list(lines), head).is_intact

    report = verify_lines(harm(lines), head)

    assert not report.is_intact
    assert (report.findings[0].kind, report.findings[0].seq) == (kind, seq), report.findings


def test_damage_does_not_hide_later_damage() -> None:
    """The rest of a damaged chain is examined too."""
    lines = build_chain(20)
    lines[3] = lines[3].replace(b'"x"', b'"y"')
    del lines[10]
    lines[15], lines[16] = lines[16], lines[15]

    report = verify_lines(lines)

    assert [(fault.kind, fault.seq) for fault in report.findings] == [
        (Corruption.EDIT, 4),
        (Corruption.DROP, 11),
        (Corruption.SWAP, 17),
    ]


def test_empty_chain_is_not_intact() -> None:
    """An empty log proves nothing."""
    assert not verify_lines([]).is_intact


def test_older_copy_is_a_rollback_by_an_external_witness() -> None:
    """An older copy contradicts a witness stored elsewhere, and is called a rollback."""
    lines = build_chain(10)
    witness = Witness("s", 10, decode_entry(lines[-1]).hash, "checkpoint.json", is_external=True)

    report = verify_lines(lines[:6], witness)

    assert [(fault.kind, fault.seq) for fault in report.findings] == [(Corruption.ROLLBACK, 7)]
    assert "expected entries up to 10 as checkpoint.json says, found the end after 6" in report.findings[0].message


def test_chain_may_begin_after_an_expired_archive() -> None:
    """A chain may start at a recorded cut."""
    lines = build_chain(10)
    cut = ChainHead(4, decode_entry(lines[3]).hash)

    assert verify_lines(lines[4:], start=cut).is_intact
    assert verify_lines(lines[4:], start=ChainHead(4, "e" * 64)).findings[0].kind is Corruption.FORGERY
    assert verify_lines(lines[4:]).findings[0].kind is Corruption.DROP


def test_entry_of_a_newer_version_is_not_intact() -> None:
    """An entry that this version cannot read is reported."""
    lines = build_chain(2)
    lines[1] = rewrite_entry(lines[1], v=3)

    assert verify_lines(lines).findings[0].kind is Corruption.NEWER


def test_signature_problems_are_distinguished() -> None:
    """A missing signature, an unknown key and a bad signature are different findings."""
    kind_by_kid = {"none": None, "unknown": Corruption.UNKNOWN_KEY, "bad": Corruption.BAD_SIGNATURE}
    lines, prev = [], GENESIS_HASH
    for seq, kid in enumerate(["", "unknown", "bad", "good"], start=1):
        draft = Entry(seq=seq, ts=seq, session="s", kind=EntryKind.POSTURE, prev=prev, kid=kid)
        entry, line = seal_entry(draft, (lambda _: "00") if kid else None)
        prev = entry.hash
        lines.append(line)

    report = verify_chain(lambda: lines, session="s", verify_signature=lambda kid, *_: kind_by_kid.get(kid))

    assert [(fault.kind, fault.seq) for fault in report.findings] == [
        (Corruption.UNSIGNED, 1),
        (Corruption.UNKNOWN_KEY, 2),
        (Corruption.BAD_SIGNATURE, 3),
    ]
    assert (report.signature_count, report.last_covered_seq) == (1, 4)
