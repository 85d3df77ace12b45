"""Verification of a whole data directory, with witnesses from elsewhere."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger import checkpoint
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projections import Projection


def opened(home: Path) -> FileStore:
    """A store as a new process would open it."""
    return FileStore(home, FakeClock(), durable=False)


def exported(home: Path, directory: Path) -> Path:
    """A checkpoint of everything, taken elsewhere."""
    store = opened(home)
    checkpoint.sign_session_ends(store, store.list_sessions())
    heads = {session: store.read_head(session) for session in store.list_sessions()}
    return checkpoint.write_checkpoint(checkpoint.build_checkpoint(heads, store.keyring, store.clock.now()), directory)


def words(home: Path, path: Path) -> tuple[list[Witness], list[AuditFinding]]:
    """What the checkpoint says."""
    return checkpoint.verify_checkpoints(checkpoint.read_checkpoints(path), Keyring(home / "keys"), str(path))


def test_nothing_to_verify_does_not_hold(tmp_path: Path) -> None:
    """A missing, an empty and an unused directory alike."""
    assert not audit(tmp_path / "nowhere").is_intact
    opened(tmp_path / "home")
    assert not audit(tmp_path / "home").is_intact
    assert not audit(tmp_path / "home", ["s"]).is_intact


def test_verification_changes_nothing(tmp_path: Path) -> None:
    """Not even a directory that was missing."""
    audit(tmp_path / "nowhere")

    assert not (tmp_path / "nowhere").exists()


def test_one_damaged_session_does_not_hide_another(tmp_path: Path) -> None:
    """Each is told by name."""
    store = opened(tmp_path)
    for session in ("a", "b", "c"):
        store.append(session, "tool_call", {"w": "x"})
    for session in ("a", "c"):
        path = tmp_path / "ledger" / f"{session}.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"x"', b'"y"'))

    found = audit(tmp_path)

    assert [(fault.session, fault.kind) for fault in found.findings] == [("a", Corruption.EDIT), ("c", Corruption.EDIT)]
    assert [one.session for one in found.sessions if one.is_intact] == ["b"]


def test_changed_and_missing_artifacts_are_found(tmp_path: Path) -> None:
    """They are under the hash through their digests."""
    store = opened(tmp_path)
    store.append("s", "tool_call", {}, artifacts={"out": b"1", "err": b"2"})
    (tmp_path / "artifacts" / "s" / "1" / "out").write_bytes(b"9")
    (tmp_path / "artifacts" / "s" / "1" / "err").unlink()

    faults = audit(tmp_path).findings

    assert [fault.kind for fault in faults] == [Corruption.ARTIFACT, Corruption.ARTIFACT]
    assert audit(tmp_path, artifacts=False).is_intact


def test_a_rollback_of_everything_shows_against_a_checkpoint_from_elsewhere(tmp_path: Path) -> None:
    """The whole data directory is an older copy, keys and `state.db` included; only the witness knows better."""
    home = tmp_path / "home"
    store = opened(home)
    store.append("s", "posture", {})
    store.close()
    shutil.copytree(home, tmp_path / "copy")
    store = opened(home)
    store.append("s", "tool_call", {"w": "forget me"})
    store.append("t", "tool_call", {"w": "forget me too"})
    store.close()
    witness = exported(home, tmp_path / "elsewhere")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "copy", home)

    assert audit(home).is_intact
    said, doubts = words(home, witness)
    found = audit(home, witnesses=said)

    assert doubts == []
    assert [(fault.session, fault.kind) for fault in found.findings] == [
        ("s", Corruption.ROLLBACK),
        ("t", Corruption.MISSING),
    ]


def test_a_checkpoint_holds_while_the_log_grows(tmp_path: Path) -> None:
    """What came after it is no contradiction."""
    opened(tmp_path / "home").append("s", "tool_call", {})
    witness = exported(tmp_path / "home", tmp_path / "elsewhere")
    opened(tmp_path / "home").append("s", "tool_call", {})

    said, doubts = words(tmp_path / "home", tmp_path / "elsewhere")

    assert (len(said), doubts) == (1, [])
    assert audit(tmp_path / "home", witnesses=said).is_intact
    assert words(tmp_path / "home", witness)[0] == said or said[0].source != str(witness)


def test_a_forged_past_shows_against_a_checkpoint(tmp_path: Path) -> None:
    """Same length, every hash right, `state.db` rebuilt: the witness remembers another entry."""
    home = tmp_path / "home"
    opened(home).append("s", "tool_call", {"w": "real"})
    witness = exported(home, tmp_path / "elsewhere")
    forged = tmp_path / "forged"
    shutil.copytree(home / "keys", forged / "keys")
    store = opened(forged)
    store.append("s", "tool_call", {"w": "forged"})
    store.append_checkpoint("s")

    said, _ = words(forged, witness)

    assert audit(forged).is_intact
    assert [(f.kind, f.seq) for f in audit(forged, witnesses=said).findings] == [(Corruption.FORGERY, 2)]


def test_a_checkpoint_survives_key_rotation(tmp_path: Path) -> None:
    """Its key is old and still known."""
    opened(tmp_path / "home").append("s", "tool_call", {})
    witness = exported(tmp_path / "home", tmp_path / "elsewhere")
    rotate_key(opened(tmp_path / "home"))

    said, doubts = words(tmp_path / "home", witness)

    assert (len(said), doubts) == (1, [])


def test_a_checkpoint_that_was_changed_says_nothing(tmp_path: Path) -> None:
    """And is a fault by itself; so is one of another keyring."""
    opened(tmp_path / "home").append("s", "tool_call", {})
    opened(tmp_path / "other").append("s", "tool_call", {})
    witness = exported(tmp_path / "home", tmp_path / "elsewhere")
    changed = json.loads(witness.read_text())
    changed["heads"] = {}
    witness.write_text(json.dumps(changed))

    assert [fault.kind for fault in words(tmp_path / "home", witness)[1]] == [Corruption.BAD_SIGNATURE]
    stranger = exported(tmp_path / "other", tmp_path / "elsewhere2")
    assert [fault.kind for fault in words(tmp_path / "home", stranger)[1]] == [Corruption.UNKNOWN_KEY]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no json", '{"heads":[]}', '{"heads":{"s":{}},"ts":1,"sig":"","kid":""}']
)
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, text: str) -> None:
    """With its name."""
    path = tmp_path / "w.json"
    path.write_text(text)

    with pytest.raises(LedgerError, match=r"expected a (checkpoint|seq and a hash).*w\.json"):
        checkpoint.read_checkpoints(path)


def test_covering_signs_each_session_once(tmp_path: Path) -> None:
    """A session whose end is signed needs nothing."""
    store = opened(tmp_path)
    store.append("s", "tool_call", {})
    store.append("t", "posture", {})

    assert checkpoint.sign_session_ends(store, store.list_sessions()) == 1
    assert checkpoint.sign_session_ends(store, store.list_sessions()) == 0
    assert [one.last_covered_seq for one in audit(tmp_path).sessions] == [2, 1]


def test_a_corrupt_database_is_told_and_the_chains_are_examined_all_the_same(tmp_path: Path) -> None:
    """The log does not need it."""
    opened(tmp_path).append("s", "tool_call", {})
    for path in tmp_path.glob("state.db*"):
        path.unlink()
    (tmp_path / "state.db").write_bytes(b"garbage" * 1000)

    found = audit(tmp_path)

    assert found.entry_count == 1
    assert [fault.kind for fault in found.findings] == [Corruption.NO_HEAD, Corruption.NO_HEAD]
    assert "run `verdikt ledger reindex`" in found.findings[0].message


def test_a_long_end_without_signature_is_noted(tmp_path: Path) -> None:
    """It is no fault: the hashes hold."""
    store = FileStore(tmp_path, FakeClock(), durable=False, checkpoint_every=10_000)
    for _ in range(520):
        store.append("s", "tool_call", {})

    found = audit(tmp_path)

    assert found.is_intact
    assert [fault.kind for fault in found.findings] == [Corruption.UNCOVERED]


def test_a_doctored_database_is_told(tmp_path: Path) -> None:
    """Whoever changes a counter or a posture there contradicts the log."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    store = FileStore(tmp_path, FakeClock(), (count,), durable=False)
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
    FileStore(tmp_path, FakeClock(), (count,), durable=False).reindex()
    assert audit(tmp_path, projections=(count,)).is_intact


def test_a_state_of_entries_that_never_were_is_told_and_not_used(tmp_path: Path) -> None:
    """A mark beyond the end of the log would keep whatever stands beside it from being compared."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    store = FileStore(tmp_path, FakeClock(), (count,), durable=False)
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
    assert FileStore(tmp_path, FakeClock(), (count,), durable=False).read_projection("count", "s") == 3


def test_a_projection_that_lags_is_no_fault(tmp_path: Path) -> None:
    """Somebody appended who did not know it; whoever does catches up."""
    count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
    FileStore(tmp_path, FakeClock(), (count,), durable=False).append("s", "tool_call", {})
    opened(tmp_path).append("s", "tool_call", {})

    assert audit(tmp_path, projections=(count,)).is_intact
