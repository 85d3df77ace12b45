"""Any damage to a stored log is found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes import FakeClock
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import Corruption, Witness
from verdikt.ledger.chain_verifier import verify_chain
from verdikt.ledger.data_directory import decode_session_filename, encode_session_filename
from verdikt.ledger.files import FileStore
from verdikt.ledger.keys import Keyring
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.entry import GENESIS_HASH, Entry, EntryKind, decode_entry, seal_entry

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
BODIES = st.lists(st.dictionaries(TEXT, PLAIN, max_size=3), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    """One key for all examples."""
    keyring = Keyring(tmp_path_factory.mktemp("keys"), FakeClock())
    keyring.create_first_key()
    return keyring


def build_chain(bodies: list[dict[str, object]], keyring: Keyring) -> list[bytes]:
    """Return a chain of these bodies, every second entry signed."""
    lines, prev = [], GENESIS_HASH
    signer = keyring.get_signing_key()
    for seq, body in enumerate(bodies, start=1):
        signed = seq % 2 == 0
        draft = Entry(
            seq=seq,
            ts=seq,
            session="s",
            kind=EntryKind.VALIDATOR_PASS if signed else EntryKind.TOOL_CALL,
            body=body,
            prev=prev,
            kid=signer.kid if signed else "",
            v=1 if seq % 3 == 0 else 2,  # both versions in one chain
        )
        entry, line = seal_entry(draft, signer.sign if signed else None)
        prev = entry.hash
        lines.append(line)
    return lines


def find_damage(text: bytes, keyring: Keyring, *witnesses: Witness) -> list[Corruption]:
    """Return the findings for a file with this text; a torn end counts as truncation."""
    lines = text.split(b"\n")
    torn = lines.pop()
    report = verify_chain(
        lambda: [line + b"\n" for line in lines],
        session="s",
        witnesses=witnesses,
        verify_signature=keyring.check_entry_signature,
    )
    kinds = [fault.kind for fault in report.findings]
    return [*kinds, Corruption.TRUNCATION] if torn or not report.entry_count else kinds


@given(BODIES, st.data())
def test_any_single_byte_change_is_found(
    keyring: Keyring, bodies: list[dict[str, object]], data: st.DataObject
) -> None:
    """In a field, a hash, a signature or a newline."""
    text = b"".join(build_chain(bodies, keyring))
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[at]))
    head = Witness("s", len(bodies), decode_entry(text.splitlines(keepends=True)[-1]).hash)

    assert find_damage(text, keyring, head) == []
    assert find_damage(text[:at] + bytes([byte]) + text[at + 1 :], keyring, head) != []


@given(BODIES, st.data())
def test_any_truncation_is_found_given_the_head(
    keyring: Keyring, bodies: list[dict[str, object]], data: st.DataObject
) -> None:
    """At any byte."""
    lines = build_chain(bodies, keyring)
    text = b"".join(lines)
    head = Witness("s", len(bodies), decode_entry(lines[-1]).hash)
    at = data.draw(st.integers(0, len(text) - 1))

    assert find_damage(text[:at], keyring, head) != []


@given(st.lists(st.dictionaries(TEXT, PLAIN, max_size=2), min_size=3, max_size=8), st.data())
def test_any_rearrangement_is_found(keyring: Keyring, bodies: list[dict[str, object]], data: st.DataObject) -> None:
    """Lines may be dropped, doubled or moved."""
    lines = build_chain(bodies, keyring)
    head = Witness("s", len(bodies), decode_entry(lines[-1]).hash)
    other = data.draw(
        st.lists(st.sampled_from(lines), max_size=len(lines) + 2).filter(lambda candidate: candidate != lines)
    )

    assert find_damage(b"".join(other), keyring, head) != []


@given(BODIES)
def test_written_entries_are_read_back(keyring: Keyring, bodies: list[dict[str, object]]) -> None:
    """Bodies come back in canonical form."""
    read = [decode_entry(line) for line in build_chain(bodies, keyring)]

    assert [encode_canonical(entry.body) for entry in read] == [encode_canonical(body) for body in bodies]
    assert all(parse_json(entry.to_line())["hash"] == entry.hash for entry in read)


@given(st.binary(max_size=300))
def test_any_bytes_are_found_to_be_no_log(keyring: Keyring, text: bytes) -> None:
    """A file may hold anything; what is no chain is reported, and nothing is raised."""
    assert find_damage(text, keyring) != []


@given(BODIES, st.binary(max_size=60), st.data())
def test_inserted_bytes_are_found_without_raising(
    keyring: Keyring, bodies: list[dict[str, object]], junk: bytes, data: st.DataObject
) -> None:
    """Any bytes inserted into an intact log are found."""
    text = b"".join(build_chain(bodies, keyring))
    at = data.draw(st.integers(0, len(text)))
    head = Witness("s", len(bodies), decode_entry(text.splitlines(keepends=True)[-1]).hash)

    assert (find_damage(text[:at] + junk + text[at:], keyring, head) != []) == bool(junk)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, max_size=5, unique=True))
def test_session_filenames_are_unique_and_safe(ids: list[str]) -> None:
    """They differ even on a file system that ignores case, and none leaves its directory."""
    names = [encode_session_filename(id) for id in ids]

    assert len({name.lower() for name in names}) == len(ids)
    for id, name in zip(ids, names, strict=True):
        assert "/" not in name
        assert "\0" not in name
        assert not name.startswith((".", "_"))
        assert len(name) <= 150
        assert decode_session_filename(name) in (id, None)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_single_byte_change_of_a_stored_file_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The same through the real store and the real verification."""
    home = tmp_path_factory.mktemp("home")
    store = FileStore(home, FakeClock(), durable=False, checkpoint_every=4)
    for at in range(6):
        store.append("s", "tool_call", {"at": at}, artifacts={"out": b"%d" % at})
    store.close()
    assert audit(home).is_intact
    path = data.draw(st.sampled_from(sorted(p for p in _write_session(home))))
    text = path.read_bytes()
    at = data.draw(st.integers(0, len(text) - 1))
    path.write_bytes(
        text[:at] + bytes([data.draw(st.integers(0, 255).filter(lambda v: v != text[at]))]) + text[at + 1 :]
    )

    assert not audit(home).is_intact


def _write_session(home: Path) -> list[Path]:
    return [*(home / "ledger").glob("*.jsonl"), *(home / "artifacts").glob("*/*/*")]
