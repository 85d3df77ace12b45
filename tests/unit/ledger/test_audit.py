"""Verification of a whole data directory, with witnesses stored elsewhere."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger import checkpoint
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projections import Projection


def open_store(home: Path) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(), durable=False))


def export_checkpoint(home: Path, directory: Path) -> Path:
    """Write a checkpoint of everything into another directory."""
    store = open_store(home)
    checkpoint.sign_session_ends(store, store.list_sessions())
    heads = {session: store.read_head(session) for session in store.list_sessions()}
    return checkpoint.write_checkpoint(checkpoint.build_checkpoint(heads, store.keyring, store.clock.now()), directory)


def read_witnesses(home: Path, path: Path) -> tuple[list[Witness], list[AuditFinding]]:
    """Return what the checkpoint says."""
    return checkpoint.verify_checkpoints(checkpoint.read_checkpoints(path), Keyring(home / "keys"), str(path))


def test_audit_without_entries_is_not_intact(tmp_path: Path) -> None:
    """A missing, an empty and an unused directory are not intact."""
    assert not audit(tmp_path / "nowhere").is_intact
    open_store(tmp_path / "home")
    assert not audit(tmp_path / "home").is_intact
    assert not audit(tmp_path / "home", ["s"]).is_intact


def test_audit_changes_no_file(tmp_path: Path) -> None:
    """Verification writes nothing, not even a missing directory."""
    audit(tmp_path / "nowhere")

    assert not (tmp_path / "nowhere").exists()


def test_audit_reports_every_damaged_session(tmp_path: Path) -> None:
    """Each damaged session is reported by name."""
    store = open_store(tmp_path)
    for session in ("a", "b", "c"):
        store.append(session, "tool_call", {"w": "x"})
    for session in ("a", "c"):
        path = tmp_path / "ledger" / f"{session}.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"x"', b'"y"'))

    report = audit(tmp_path)

    assert [(fault.session, fault.kind) for fault in report.findings] == [
        ("a", Corruption.EDIT),
        ("c", Corruption.EDIT),
    ]
    assert [session_report.session for session_report in report.sessions if session_report.is_intact] == ["b"]


def test_audit_finds_changed_and_missing_artifacts(tmp_path: Path) -> None:
    """Artifacts are covered by the hash through their digests."""
    store = open_store(tmp_path)
    store.append("s", "tool_call", {}, artifacts={"out": b"1", "err": b"2"})
    (tmp_path / "artifacts" / "s" / "1" / "out").write_bytes(b"9")
    (tmp_path / "artifacts" / "s" / "1" / "err").unlink()

    faults = audit(tmp_path).findings

    assert [fault.kind for fault in faults] == [Corruption.ARTIFACT, Corruption.ARTIFACT]
    assert audit(tmp_path, artifacts=False).is_intact


def test_audit_finds_rollback_of_the_whole_directory_by_an_external_checkpoint(tmp_path: Path) -> None:
    """When the whole directory is an older copy, keys and `state.db` included, the witness shows it."""
    home = tmp_path / "home"
    store = open_store(home)
    store.append("s", "posture", {})
    store.close()
    shutil.copytree(home, tmp_path / "copy")
    store = open_store(home)
    store.append("s", "tool_call", {"w": "forget me"})
    store.append("t", "tool_call", {"w": "forget me too"})
    store.close()
    witness = export_checkpoint(home, tmp_path / "elsewhere")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "copy", home)

    assert audit(home).is_intact
    witnesses, doubts = read_witnesses(home, witness)
    report = audit(home, witnesses=witnesses)

    assert doubts == []
    assert [(fault.session, fault.kind) for fault in report.findings] == [
        ("s", Corruption.ROLLBACK),
        ("t", Corruption.MISSING),
    ]


def test_checkpoint_stays_valid_while_the_log_grows(tmp_path: Path) -> None:
    """Entries after a checkpoint do not contradict it."""
    open_store(tmp_path / "home").append("s", "tool_call", {})
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    open_store(tmp_path / "home").append("s", "tool_call", {})

    witnesses, doubts = read_witnesses(tmp_path / "home", tmp_path / "elsewhere")

    assert (len(witnesses), doubts) == (1, [])
    assert audit(tmp_path / "home", witnesses=witnesses).is_intact
    assert read_witnesses(tmp_path / "home", witness)[0] == witnesses or witnesses[0].source != str(witness)


def test_audit_finds_forged_history_by_a_checkpoint(tmp_path: Path) -> None:
    """A log of equal length with right hashes and a rebuilt `state.db` contradicts the witness."""
    home = tmp_path / "home"
    open_store(home).append("s", "tool_call", {"w": "real"})
    witness = export_checkpoint(home, tmp_path / "elsewhere")
    forged = tmp_path / "forged"
    shutil.copytree(home / "keys", forged / "keys")
    store = open_store(forged)
    store.append("s", "tool_call", {"w": "forged"})
    store.append_checkpoint("s")

    witnesses, _ = read_witnesses(forged, witness)

    assert audit(forged).is_intact
    assert [(f.kind, f.seq) for f in audit(forged, witnesses=witnesses).findings] == [(Corruption.FORGERY, 2)]


def test_checkpoint_stays_valid_after_key_rotation(tmp_path: Path) -> None:
    """The key that signed it is retired and still known."""
    open_store(tmp_path / "home").append("s", "tool_call", {})
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    rotate_key(open_store(tmp_path / "home"))

    witnesses, doubts = read_witnesses(tmp_path / "home", witness)

    assert (len(witnesses), doubts) == (1, [])


def test_changed_checkpoint_is_a_finding_and_no_witness(tmp_path: Path) -> None:
    """A checkpoint with a wrong signature, or of another key ring, is reported and not used."""
    open_store(tmp_path / "home").append("s", "tool_call", {})
    open_store(tmp_path / "other").append("s", "tool_call", {})
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    changed = json.loads(witness.read_text())
    changed["heads"] = {}
    witness.write_text(json.dumps(changed))

    assert [fault.kind for fault in read_witnesses(tmp_path / "home", witness)[1]] == [Corruption.BAD_SIGNATURE]
    stranger = export_checkpoint(tmp_path / "other", tmp_path / "elsewhere2")
    assert [fault.kind for fault in read_witnesses(tmp_path / "home", stranger)[1]] == [Corruption.UNKNOWN_KEY]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no json", '{"heads":[]}', '{"heads":{"s":{}},"ts":1,"sig":"","kid":""}']
)
def test_read_checkpoints_of_another_file_raises(tmp_path: Path, text: str) -> None:
    """A file that is not a checkpoint is refused by name."""
    path = tmp_path / "w.json"
    path.write_text(text)

    with pytest.raises(LedgerError, match=r"expected a (checkpoint|seq and a hash).*w\.json"):
        checkpoint.read_checkpoints(path)


def test_sign_session_ends_signs_each_session_once(tmp_path: Path) -> None:
    """A session whose end is signed gets no second checkpoint."""
    store = open_store(tmp_path)
    store.append("s", "tool_call", {})
    store.append("t", "posture", {})

    assert checkpoint.sign_session_ends(store, store.list_sessions()) == 1
    assert checkpoint.sign_session_ends(store, store.list_sessions()) == 0
    assert [report.last_covered_seq for report in audit(tmp_path).sessions] == [2, 1]


def test_audit_with_corrupt_database_reports_it_and_verifies_the_chains(tmp_path: Path) -> None:
    """The chains are verified without `state.db`."""
    open_store(tmp_path).append("s", "tool_call", {})
    for path in tmp_path.glob("state.db*"):
        path.unlink()
    (tmp_path / "state.db").write_bytes(b"garbage" * 1000)

    report = audit(tmp_path)

    assert report.entry_count == 1
    assert [fault.kind for fault in report.findings] == [Corruption.NO_HEAD, Corruption.NO_HEAD]
    assert "run `verdikt ledger reindex`" in report.findings[0].message


def test_audit_notes_a_long_unsigned_end(tmp_path: Path) -> None:
    """Many unsigned entries at the end are a note, because their hashes hold."""
    store = close_after_test(FileStore(tmp_path, FakeClock(), durable=False, checkpoint_every=10_000))
    for _ in range(520):
        store.append("s", "tool_call", {})

    report = audit(tmp_path)

    assert report.is_intact
    assert [fault.kind for fault in report.findings] == [Corruption.UNCOVERED]


def test_audit_finds_changed_state_in_the_database(tmp_path: Path) -> None:
    """A counter or a posture changed in `state.db` contradicts the log."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    store = close_after_test(FileStore(tmp_path, FakeClock(), (count,), durable=False))
    for _ in range(3):
        store.append("s", "tool_call", {})
    store.close()
    assert audit(tmp_path, projections=(count,)).is_intact
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE state SET state = '0'")
    connection.commit()
    connection.close()

    (fault,) = audit(tmp_path, projections=(count,)).findings

    assert (fault.kind, fault.session) == (Corruption.STATE, "s")
    assert "holds another `count` than the log gives: run `verdikt ledger reindex`" in fault.message
    close_after_test(FileStore(tmp_path, FakeClock(), (count,), durable=False)).reindex()
    assert audit(tmp_path, projections=(count,)).is_intact


def test_state_beyond_the_end_of_the_log_is_reported_and_not_used(tmp_path: Path) -> None:
    """A state marked beyond the end of the log is never trusted."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    store = close_after_test(FileStore(tmp_path, FakeClock(), (count,), durable=False))
    for _ in range(3):
        store.append("s", "tool_call", {})
    store.close()
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE state SET state = '700'")
    connection.execute("UPDATE heads SET folded = ''")
    connection.execute("INSERT INTO lag VALUES ('s', ?, 1000)", (count.label,))
    connection.commit()
    connection.close()

    (fault,) = audit(tmp_path, projections=(count,)).findings

    assert (fault.kind, fault.session) == (Corruption.STATE, "s")
    assert (
        close_after_test(FileStore(tmp_path, FakeClock(), (count,), durable=False)).read_projection("count", "s") == 3
    )


def test_lagging_projection_is_not_a_finding(tmp_path: Path) -> None:
    """A process that does not know a projection leaves it behind; the next one that does catches up."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    close_after_test(FileStore(tmp_path, FakeClock(), (count,), durable=False)).append("s", "tool_call", {})
    open_store(tmp_path).append("s", "tool_call", {})

    assert audit(tmp_path, projections=(count,)).is_intact
