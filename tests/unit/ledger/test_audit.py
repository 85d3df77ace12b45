"""Verification of a whole data directory, with witnesses stored elsewhere."""

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger import checkpoint
from verdikt.ledger.audit import ACCEPTED, audit
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.files import FileStore
from verdikt.ledger.key_introduction import IntroducedKeys, is_introduced
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import Keyring
from verdikt.ledger.pause import begin_pause, find_active_pause
from verdikt.ledger.projections import Projection, load_projections
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind, decode_entry


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


def erase_body(home: Path, session: str, seq: int) -> None:
    """Leave out the body of one entry of a log of version 2."""
    path = home / "ledger" / f"{session}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[seq - 1] = decode_entry(lines[seq - 1]).to_line(with_body=False)
    path.write_bytes(b"".join(lines))


def test_audit_of_an_erased_body_is_a_problem_unless_accepted(tmp_path: Path) -> None:
    """An agent cannot hide what it did by erasing a body; who asks for the chain alone finds it intact."""
    store = open_store(tmp_path)
    for number in range(4):
        store.append("s", "tool_call", {"n": number})
    erase_body(tmp_path, "s", 2)
    erase_body(tmp_path, "s", 3)
    problems = [finding for finding in audit(tmp_path).findings if not finding.is_note]
    accepted = audit(tmp_path, bodies_required=False)

    assert [(finding.kind, finding.seq) for finding in problems] == [(Corruption.ABSENT_BODY, 2)]
    assert "2 of 4 entries have no body, the first is entry 2" in problems[0].message
    assert accepted.is_intact
    assert accepted.sessions[0].absent_body_count == 2


def test_append_after_an_erased_body_records_a_gap(tmp_path: Path) -> None:
    """The log goes on after an erased end, and says that something was lost."""
    store = open_store(tmp_path)
    store.append("s", "tool_call", {"n": 1})
    store.close()
    erase_body(tmp_path, "s", 1)
    store = open_store(tmp_path)
    store.append("s", "tool_call", {"n": 2})
    kinds = [entry.kind for entry in store.reader.read_intact_entries("s")]

    assert kinds == [EntryKind.GAP, EntryKind.TOOL_CALL]
    assert not audit(tmp_path).is_intact


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
    assert [session_report.session for session_report in report.sessions if session_report.is_intact] == [
        "b",
        "operator",
    ]


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
        ("operator", Corruption.ROLLBACK),
    ]


def test_checkpoint_stays_valid_while_the_log_grows(tmp_path: Path) -> None:
    """Entries after a checkpoint do not contradict it."""
    open_store(tmp_path / "home").append("s", "tool_call", {})
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    open_store(tmp_path / "home").append("s", "tool_call", {})

    witnesses, doubts = read_witnesses(tmp_path / "home", tmp_path / "elsewhere")

    assert ({witness.session for witness in witnesses}, doubts) == ({"operator", "s"}, [])
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
    assert [(f.kind, f.seq) for f in audit(forged, ["s"], witnesses=witnesses).findings] == [(Corruption.FORGERY, 2)]


def test_checkpoint_stays_valid_after_key_rotation(tmp_path: Path) -> None:
    """The key that signed it is retired and still known."""
    open_store(tmp_path / "home").append("s", "tool_call", {})
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    rotate_key(open_store(tmp_path / "home"))

    witnesses, doubts = read_witnesses(tmp_path / "home", witness)

    assert ({witness.session for witness in witnesses}, doubts) == ({"operator", "s"}, [])


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

    assert checkpoint.sign_session_ends(store, ["s", "t"]) == 1
    assert checkpoint.sign_session_ends(store, store.list_sessions()) == 0
    assert [report.last_covered_seq for report in audit(tmp_path, ["s", "t"]).sessions] == [2, 1]


def test_audit_with_corrupt_database_reports_it_and_verifies_the_chains(tmp_path: Path) -> None:
    """The chains are verified without `state.db`."""
    open_store(tmp_path).append("s", "tool_call", {})
    for path in tmp_path.glob("state.db*"):
        path.unlink()
    (tmp_path / "state.db").write_bytes(b"garbage" * 1000)

    report = audit(tmp_path)

    assert report.entry_count == 2
    assert [fault.kind for fault in report.findings] == [Corruption.NO_HEAD] * 3
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
    connection.execute("UPDATE state SET state = '0' WHERE session = 's'")
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


def remove_database(home: Path) -> None:
    """Remove `state.db`, as an agent would that wants to hide what it cut off."""
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (home / name).unlink(missing_ok=True)


def reindex(home: Path) -> None:
    """Rebuild `state.db` from what is left."""
    with closing(FileStore(home, FakeClock(), load_projections(), durable=False)) as store:
        store.reindex()


def find_problems(home: Path) -> set[tuple[str, Corruption]]:
    """Return the session and kind of everything that verification does not only note."""
    return {(f.session, f.kind) for f in audit(home, projections=load_projections()).findings if not f.is_note}


def test_every_session_is_introduced_and_its_checkpoints_are_repeated(tmp_path: Path) -> None:
    """The operator's log names each session with its first entry, and each checkpoint of it."""
    store = open_store(tmp_path)
    for session in ("a", "b"):
        first = store.append(session, "tool_call", {})
        sealed = store.append_checkpoint(session)
        told = [entry for entry in store.read_entries(OPERATOR) if entry.body.get("session") == session]
        assert [(entry.kind, entry.body["seq"], entry.body["hash"]) for entry in told] == [
            (EntryKind.SESSION, 1, first.hash),
            (EntryKind.CHECKPOINT, 2, sealed.hash),
        ]
        assert told[1].sig
    store.append("a", "tool_call", {})

    assert len(list(store.read_entries(OPERATOR))) == 5  # and the introduction of the key
    assert audit(tmp_path).is_intact


@pytest.mark.parametrize("rebuilt", [False, True])
def test_removed_session_is_found_without_the_database(tmp_path: Path, rebuilt: bool) -> None:
    """A session whose file is gone is missed, also after `state.db` was removed and rebuilt."""
    store = open_store(tmp_path)
    for session in ("a", "b"):
        store.append(session, "tool_call", {})
    store.close()
    (tmp_path / "ledger" / "a.jsonl").unlink()
    if rebuilt:
        remove_database(tmp_path)
        reindex(tmp_path)

    assert ("a", Corruption.MISSING) in find_problems(tmp_path)
    assert [f.kind for f in audit(tmp_path, ["a"]).sessions[0].findings] == [Corruption.MISSING]


def test_log_cut_below_a_checkpoint_is_found_without_the_database(tmp_path: Path) -> None:
    """The repeated checkpoint says how far the session reached."""
    store = open_store(tmp_path)
    for _ in range(3):
        store.append("a", "tool_call", {})
    store.append_checkpoint("a")
    store.close()
    path = tmp_path / "ledger" / "a.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    remove_database(tmp_path)
    reindex(tmp_path)

    findings = audit(tmp_path, ["a"]).sessions[0].findings
    assert [(f.kind, f.seq) for f in findings] == [(Corruption.TRUNCATION, 3)]
    assert "expected entries up to 4 as the operator's log says, found the end after 2" in findings[0].message


def test_session_written_again_from_the_start_is_found(tmp_path: Path) -> None:
    """A session that is removed and recorded once more differs from its introduction."""
    store = open_store(tmp_path)
    store.append("a", "tool_call", {"w": "real"})
    store.close()
    (tmp_path / "ledger" / "a.jsonl").unlink()
    remove_database(tmp_path)
    store = open_store(tmp_path)
    store.append("a", "tool_call", {"w": "forged"})

    assert ("a", Corruption.FORGERY) in find_problems(tmp_path)


def test_session_that_the_operators_log_does_not_know_is_found(tmp_path: Path) -> None:
    """Cutting the introduction of one session off takes the later ones with it, and those are still there."""
    store = open_store(tmp_path)
    for session in ("a", "b", "c"):
        store.append(session, "tool_call", {})
    store.close()
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    (tmp_path / "ledger" / "b.jsonl").unlink()
    remove_database(tmp_path)
    reindex(tmp_path)

    assert ("c", Corruption.NOT_INTRODUCED) in find_problems(tmp_path)


def test_sessions_of_an_earlier_version_need_no_introduction(tmp_path: Path) -> None:
    """A session that is older than the first introduction is intact without one."""
    clock = FakeClock()
    with closing(FileStore(tmp_path, clock, durable=False)) as store:
        store.append("old", "tool_call", {})
    (tmp_path / "ledger" / "operator.jsonl").unlink()
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
        connection.execute("DELETE FROM heads WHERE session = 'operator'")
    assert audit(tmp_path).is_intact
    clock.sleep(60)
    with closing(FileStore(tmp_path, clock, durable=False)) as store:
        store.append("new", "tool_call", {})

    assert audit(tmp_path).is_intact


def test_removed_database_is_found_after_reindex_until_a_person_accepts_it(tmp_path: Path) -> None:
    """What only `state.db` knew is lost with it, so the loss stays a problem until it is accepted, signed."""
    store = open_store(tmp_path)
    store.append("a", "tool_call", {})
    store.close()
    remove_database(tmp_path)
    reindex(tmp_path)
    assert find_problems(tmp_path) == {("operator", Corruption.NO_HEAD)}
    (finding,) = [f for f in audit(tmp_path).findings if f.kind is Corruption.NO_HEAD]
    assert "`verdikt ledger checkpoint --accept` accepts the log as it is" in finding.message

    store = open_store(tmp_path)
    store.append_checkpoint("a")
    assert find_problems(tmp_path) == {("operator", Corruption.NO_HEAD)}
    store.append_checkpoint(OPERATOR, ACCEPTED)
    assert find_problems(tmp_path) == set()


def test_introduction_of_a_session_needs_no_key(tmp_path: Path) -> None:
    """The first call of a session signs nothing, so that it need not wait for a cryptography library."""
    open_store(tmp_path).append("a", "tool_call", {})

    assert not (tmp_path / "keys").exists()


def test_key_is_introduced_before_it_signs(tmp_path: Path) -> None:
    """A process that is killed at any time leaves no signature of a key that no entry introduces."""
    store = open_store(tmp_path)
    with suppress(RuntimeError), store.session("a") as session:
        session.append("posture", {})
        raise RuntimeError

    (entry,) = store.read_entries(OPERATOR)
    assert (entry.kind, entry.body["new"], entry.body["old"]) == (EntryKind.KEY_ROTATION, entry.kid, "")


def test_grant_of_a_key_that_no_entry_introduces_does_not_hold(tmp_path: Path) -> None:
    """Planting a key in the key ring grants nothing."""
    with closing(FileStore(tmp_path, FakeClock(), load_projections(), durable=False)) as store:
        store.append("a", "posture", {})
        planted = store.keyring.prepare_key()
        store.keyring.activate_key(planted.kid)
        begin_pause(store, seconds=600, reason="x", by="agent")
        assert find_active_pause(store) is None
        assert not is_introduced(store, planted.kid)

        rotate_key(store)
        begin_pause(store, seconds=600, reason="x", by="agent")
        assert find_active_pause(store) is None

    with closing(FileStore(tmp_path / "other", FakeClock(), load_projections(), durable=False)) as store:
        begin_pause(store, seconds=600, reason="x", by="ada")
        rotate_key(store)
        rotate_key(store)
        begin_pause(store, seconds=600, reason="y", by="ada")
        assert find_active_pause(store) is not None


def test_witness_of_a_key_that_no_entry_introduces_is_no_witness(tmp_path: Path) -> None:
    """A checkpoint stored elsewhere counts only when the log introduces its key."""
    store = open_store(tmp_path / "home")
    store.append("s", "posture", {})
    store.keyring.activate_key(store.keyring.prepare_key().kid)
    witness = export_checkpoint(tmp_path / "home", tmp_path / "elsewhere")
    keys = IntroducedKeys(store.keyring, store.read_entries(OPERATOR))
    witnesses, problems = checkpoint.verify_checkpoints(checkpoint.read_checkpoints(witness), keys, "x")

    assert witnesses == []
    assert [problem.kind for problem in problems] == [Corruption.UNKNOWN_KEY]
