"""The file store, when a file or `state.db` is not as the store left it."""

import json
import multiprocessing
import os
import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger.audit import audit
from verdikt.ledger.audit_finding import Corruption
from verdikt.ledger.chain_reader import GAP_LOST
from verdikt.ledger.files import FileStore
from verdikt.ledger.log_index import STORE_INTERVAL
from verdikt.ledger.projections import Projection, load_projections
from verdikt.ledger.state_database import StateRow
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
CALLS = Projection(
    name="calls", initial=[], fold=lambda state, entry: [*state, entry.seq], kinds=frozenset({EntryKind.TOOL_CALL})
)


def open_store(home: Path, *projections: Projection, every: int = 1000) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(), projections, durable=False, checkpoint_every=every))


def fill_session(home: Path, count: int = 5) -> Path:
    """Write a session of tool calls and return its file."""
    store = open_store(home, COUNT, CALLS)
    for at in range(count):
        store.append("s", "tool_call", {"tool": f"t{at}"})
    store.close()
    return home / "ledger" / "s.jsonl"


def audit_kinds(home: Path, session: str = "s") -> list[tuple[Corruption, int]]:
    """Return the kinds of the findings of a verification."""
    return [(fault.kind, fault.seq) for fault in audit(home, [session], projections=(COUNT, CALLS)).findings]


def test_store_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """Directories are 0700 and files 0600, whatever the umask."""
    old = os.umask(0)
    try:
        path = fill_session(tmp_path / "home")
    finally:
        os.umask(old)

    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "home" / "state.db").stat().st_mode & 0o777 == 0o600


def test_torn_last_line_is_replaced_by_a_gap_entry(tmp_path: Path) -> None:
    """No earlier entry is lost, and the torn bytes become an artifact of the gap entry."""
    path = fill_session(tmp_path)
    complete = path.read_bytes()
    torn = complete.splitlines(keepends=True)[-1][:40]
    path.write_bytes(complete + torn)

    store = open_store(tmp_path, COUNT)
    entry = store.append("s", "tool_call", {"tool": "next"})

    entries = list(store.read_entries("s"))
    assert [e.kind.value for e in entries] == ["tool_call"] * 5 + ["gap", "tool_call"]
    assert entries[5].body["reason"] == "torn"
    assert store.read_artifact("s", 6, "torn") == torn
    assert entry.seq == 7
    assert path.read_bytes().startswith(complete)
    assert audit_kinds(tmp_path) == [(Corruption.GAP, 6)]
    assert audit(tmp_path, ["s"]).is_intact


def test_torn_line_longer_than_its_repair_leaves_no_bytes(tmp_path: Path) -> None:
    """All torn bytes are removed."""
    path = fill_session(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"body":"' + b"x" * 100_000)

    store = open_store(tmp_path)
    store.append("s", "tool_call", {"tool": "next"})

    assert [entry.seq for entry in store.read_entries("s")] == [1, 2, 3, 4, 5, 6, 7]
    assert audit(tmp_path, ["s"]).is_intact


def test_damage_is_recorded_although_the_first_update_failed(tmp_path: Path) -> None:
    """An open store looks at the file again after a failed update: torn bytes, a cut end, stale states."""
    path = fill_session(tmp_path)
    complete = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(complete[:3]) + b'{"torn')
    store = open_store(tmp_path, COUNT, CALLS)

    for _ in range(2):
        with pytest.raises(ArithmeticError), store.session("s"):
            raise ArithmeticError
    store.append("s", "tool_call", {})

    gaps = [entry.body["reason"] for entry in store.reader.read_intact_entries("s") if entry.kind is EntryKind.GAP]
    assert gaps == [GAP_LOST, "torn"]
    assert Corruption.STATE not in [kind for kind, _ in audit_kinds(tmp_path)]


def test_stale_states_are_stored_although_the_first_update_failed(tmp_path: Path) -> None:
    """A state that `state.db` marks as current is current."""
    fill_session(tmp_path)
    other = open_store(tmp_path, COUNT)  # leaves the calls behind
    other.append("s", "tool_call", {})
    other.close()
    store = open_store(tmp_path, COUNT, CALLS)

    with pytest.raises(ArithmeticError), store.session("s"):
        raise ArithmeticError
    store.append("s", "gap", {"reason": "test"})
    store.close()

    assert open_store(tmp_path, COUNT, CALLS).read_projection("calls", "s") == [1, 2, 3, 4, 5, 6]
    assert [kind for kind, _ in audit_kinds(tmp_path)] == [Corruption.GAP]


def test_line_without_newline_is_completed(tmp_path: Path) -> None:
    """A complete entry without its newline is not lost."""
    path = fill_session(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])

    store = open_store(tmp_path)
    assert store.append("s", "tool_call", {}).seq == 6
    assert audit(tmp_path, ["s"]).is_intact


def test_crash_between_log_and_database_is_caught_up(tmp_path: Path) -> None:
    """The database follows the log."""
    path = fill_session(tmp_path, 3)
    behind = path.read_bytes()
    store = open_store(tmp_path, COUNT, CALLS)
    store.append("s", "tool_call", {})
    store.append("s", "crash", {})
    ahead = path.read_bytes()
    contents = _dump_database(store)
    store.close()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    path.write_bytes(behind)
    open_store(tmp_path, COUNT, CALLS).reindex()
    path.write_bytes(ahead)

    store = open_store(tmp_path, COUNT, CALLS)
    assert store.read_projection("count", "s") == 5
    assert store.read_projection("calls", "s") == [1, 2, 3, 4]
    for table in ("state", "heads"):
        assert [row for row in _dump_database(store)[table] if row[0] == "s"] == [
            row for row in contents[table] if row[0] == "s"
        ]


def test_cut_off_end_stays_visible(tmp_path: Path) -> None:
    """The next entry reports the loss and continues from the known head, so that lost lines could be put back."""
    path = fill_session(tmp_path)
    complete = path.read_bytes()
    lines = complete.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    assert audit_kinds(tmp_path) == [(Corruption.TRUNCATION, 4)]

    store = open_store(tmp_path, COUNT)
    assert store.append("s", "tool_call", {}).seq == 7
    assert audit_kinds(tmp_path) == [(Corruption.TRUNCATION, 4), (Corruption.GAP, 6)]
    store.append("s", "tool_call", {})
    store.close()

    restored = lines[3] + lines[4]
    path.write_bytes(b"".join(lines[:3]) + restored + path.read_bytes()[len(b"".join(lines[:3])) :])
    assert audit_kinds(tmp_path) == [(Corruption.GAP, 6)]


def test_emptied_file_stays_visible(tmp_path: Path) -> None:
    """Verification finds it before and after the next append."""
    path = fill_session(tmp_path)
    path.write_bytes(b"")
    assert audit_kinds(tmp_path) == [(Corruption.EMPTIED, 1)]

    open_store(tmp_path).append("s", "tool_call", {})

    assert audit_kinds(tmp_path) == [(Corruption.TRUNCATION, 1), (Corruption.GAP, 6)]


def test_removed_file_is_found(tmp_path: Path) -> None:
    """`state.db` still knows the session."""
    fill_session(tmp_path).unlink()

    assert audit_kinds(tmp_path) == [(Corruption.MISSING, 1)]
    assert [fault.kind for fault in audit(tmp_path).findings] == [Corruption.MISSING]


def test_rewritten_end_stays_visible(tmp_path: Path) -> None:
    """A rewritten end is found even with right hashes and entries after it."""
    path = fill_session(tmp_path)
    fill_session(tmp_path / "other", 3)
    store = open_store(tmp_path / "other")
    store.append("s", "tool_call", {"tool": "forged"})
    store.append("s", "tool_call", {"tool": "t4"})
    other = (tmp_path / "other" / "ledger" / "s.jsonl").read_bytes()
    path.write_bytes(other)
    assert audit_kinds(tmp_path) == [(Corruption.FORGERY, 5)]

    open_store(tmp_path).append("s", "tool_call", {})

    assert (Corruption.FORGERY, 5) in audit_kinds(tmp_path)


def test_append_after_a_damaged_last_line_writes_a_gap(tmp_path: Path) -> None:
    """The next entry is a gap, and verification still names the damaged one."""
    path = fill_session(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"t4"', b'"t9"'))

    store = open_store(tmp_path)
    assert store.append("s", "tool_call", {}).seq == 7

    assert audit_kinds(tmp_path) == [(Corruption.EDIT, 5), (Corruption.GAP, 6)]


def test_removed_database_is_recorded_in_the_operator_log(tmp_path: Path) -> None:
    """The operator's log says since when heads may be missing."""
    fill_session(tmp_path)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert audit_kinds(tmp_path) == [(Corruption.NO_HEAD, 5)]

    store = open_store(tmp_path, COUNT)
    assert store.append("s", "tool_call", {}).seq == 6
    assert store.read_projection("count", "s") == 6

    *_, gap = store.read_entries(OPERATOR)
    assert (gap.kind, gap.body["reason"]) == (EntryKind.GAP, "state.db was missing")
    assert audit_kinds(tmp_path) == [(Corruption.NO_HEAD, gap.seq)]


def _dump_database(store: FileStore) -> dict[str, list[tuple[object, ...]]]:
    store.flush_projections()
    with store.state.hold_connection() as db:
        return db.dump_tables()


def test_reindex_gives_the_same_database(tmp_path: Path) -> None:
    """A rebuilt database has the same rows, whatever happened before."""
    store = open_store(tmp_path, COUNT, CALLS, every=4)
    for at in range(10):
        store.append(f"s{at % 3}", "tool_call" if at % 2 else "crash", {"at": at})
    store.append("s0", "posture", {"to": "locked"})
    before = _dump_database(store)
    assert len(before["heads"]) == 4

    assert store.reindex() == 4

    assert _dump_database(store) == before


def test_reindex_replaces_a_corrupt_database(tmp_path: Path) -> None:
    """The damaged file is renamed, and the loss of its heads is recorded."""
    fill_session(tmp_path)
    (tmp_path / "state.db").write_bytes(b"this is not a database at all" * 100)
    for name in ("state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    store = open_store(tmp_path, COUNT, CALLS)
    with pytest.raises(LedgerError, match=r"state\.db`: file is not a database; run `verdikt ledger reindex`"):
        store.append("s", "tool_call", {})

    store.reindex()

    assert store.append("s", "tool_call", {}).seq == 6
    assert store.read_projection("count", "s") == 6
    assert list(tmp_path.glob("state.db.damaged-*"))
    *_, gap = store.read_entries(OPERATOR)
    assert audit_kinds(tmp_path) == [(Corruption.NO_HEAD, gap.seq)]


def test_store_without_a_projection_leaves_it_behind(tmp_path: Path) -> None:
    """The next store that knows the projection continues from where it was."""
    first = open_store(tmp_path, COUNT, CALLS)
    first.append("s", "tool_call", {})
    two = open_store(tmp_path, COUNT)
    two.append("s", "tool_call", {})
    two.append("s", "crash", {})

    assert first.append("s", "tool_call", {}).seq == 4
    assert first.read_projection("calls", "s") == [1, 2, 4]
    assert first.read_projection("count", "s") == 4
    before = _dump_database(first)
    first.reindex()
    assert _dump_database(first) == before


def test_projection_of_another_version_is_folded_again(tmp_path: Path) -> None:
    """A stored state of another version is never used."""
    fill_session(tmp_path)
    doubled = Projection(name="count", initial=0, fold=lambda state, entry: state + 2, version=2)

    assert open_store(tmp_path, doubled).read_projection("count", "s") == 10


def test_versions_that_take_turns_do_not_use_each_others_state(tmp_path: Path) -> None:
    """Each version starts from its own state or from the beginning."""
    doubled = Projection(name="count", initial=0, fold=lambda state, entry: state + 2, version=2)

    for entries in (1, 2, 3):
        open_store(tmp_path, COUNT).append("s", "tool_call", {})
        assert open_store(tmp_path, doubled).read_projection("count", "s") == 2 * entries
        assert open_store(tmp_path, COUNT).read_projection("count", "s") == entries


def test_heads_are_stored_always_and_states_at_intervals(tmp_path: Path) -> None:
    """After a kill, the next process finds every head and folds the remaining entries."""
    store = open_store(tmp_path, COUNT, CALLS)
    stored = set()
    for at in range(1, 2 * STORE_INTERVAL):
        store.append("s", "tool_call", {})
        with store.state.hold_connection() as db:
            row = db.read_head("s")
            assert row is not None
            assert row.head.seq == at
            (count,) = (row[4] for row in db.dump_tables()["state"] if row[:2] == ("s", "count"))
            stored.add(count)
        assert audit_kinds(tmp_path) == []
        if at in (1, 7, STORE_INTERVAL, STORE_INTERVAL + 5):
            killed = tmp_path / f"killed-{at}"
            shutil.copytree(tmp_path, killed, ignore=shutil.ignore_patterns("killed-*"))
            other = open_store(killed, COUNT, CALLS)
            assert other.read_projection("count", "s") == at
            assert other.read_projection("calls", "s") == list(range(1, at + 1))
            other.append("s", "crash", {})
            assert audit_kinds(killed) == []

    assert stored == {"1", str(1 + STORE_INTERVAL)}
    store.close()
    assert open_store(tmp_path, COUNT).read_projection("count", "s") == 2 * STORE_INTERVAL - 1


def test_audit_compares_a_stored_state_that_is_behind(tmp_path: Path) -> None:
    """A state changed in `state.db` is found, whether or not the log has grown since."""
    store = open_store(tmp_path, COUNT)
    for _ in range(5):
        store.append("s", "tool_call", {})
    with store.state.write_transaction() as db:
        db.put_state("s", "count", StateRow(1, 1, "7"))

    assert [fault.kind for fault in audit(tmp_path, projections=(COUNT,)).findings] == [Corruption.STATE]


def test_states_do_not_share_objects_with_callers(tmp_path: Path) -> None:
    """Neither a body changed later nor a failed update changes a state."""
    last = Projection(name="last", initial=None, fold=lambda state, entry: entry.body.get("seen", state))
    store = open_store(tmp_path, last)
    body: dict[str, Any] = {"seen": [1, (2, 1.0)]}
    entry = store.append("s", "tool_call", body)
    body["seen"].append(3)

    with pytest.raises(ValueError, match="changed its mind"), store.session("s") as session:
        session.append("tool_call", {"seen": "lost"})
        raise ValueError("changed its mind")

    assert entry.body == {"seen": [1, [2, 1]]}
    assert store.read_projection("last", "s") == [1, [2, 1]]
    assert open_store(tmp_path, last).read_projection("last", "s") == [1, [2, 1]]


def test_checkpoints_are_written_at_regular_intervals(tmp_path: Path) -> None:
    """A signed checkpoint covers the entries before it."""
    store = open_store(tmp_path, every=5)
    for _ in range(20):
        store.append("s", "tool_call", {})

    checkpoints = [entry for entry in store.read_entries("s") if entry.kind is EntryKind.CHECKPOINT]
    assert [entry.seq for entry in checkpoints] == [6, 11, 16, 21]
    assert all(entry.sig for entry in checkpoints)
    (report,) = audit(tmp_path, ["s"]).sessions
    assert (report.signature_count, report.last_covered_seq) == (4, 21)


def test_append_without_a_key_works_unless_it_must_be_signed(tmp_path: Path) -> None:
    """Without a key, checkpoints are skipped and signed kinds are refused."""
    store = open_store(tmp_path, every=2)
    kid = store.keyring.get_signing_key().kid
    (tmp_path / "keys" / f"{kid}.key").unlink()
    store = open_store(tmp_path, every=2)

    for _ in range(5):
        store.append("s", "tool_call", {})
    with pytest.raises(LedgerError, match=rf"the secret half of key `{kid}` is missing: expected it in `.*keys rotate"):
        store.append("s", "validator_pass", {})

    assert [entry.kind.value for entry in store.read_entries("s")] == ["tool_call"] * 5


def test_append_reads_only_the_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Appending reads a constant number of bytes, however long the log is."""
    fill_session(tmp_path, 3)
    for _ in range(3):
        open_store(tmp_path).append("s", "tool_call", {"long": "x" * 300_000})
    open_store(tmp_path).append("s", "tool_call", {})
    store = open_store(tmp_path)
    read = []
    original = os.pread

    def count_read(fd: int, count: int, offset: int) -> bytes:
        read.append(count)
        return original(fd, count, offset)

    monkeypatch.setattr(os, "pread", count_read)
    assert store.append("s", "tool_call", {}).seq == 8
    assert sum(read) <= 65_536
    read.clear()
    assert store.append("s", "tool_call", {}).seq == 9
    assert read == []


def test_read_entries_since_reads_little(tmp_path: Path) -> None:
    """Reading from the middle uses binary search."""
    store = open_store(tmp_path, every=10_000)
    for at in range(2000):
        store.append("s", "tool_call", {"at": at, "fill": "x" * 500})

    for since in (0, 1, 999, 1998, 1999, 2000):
        assert [entry.body["at"] for entry in store.read_entries("s", since=since)] == list(range(since, 2000))


def _append_many(home: str, name: str, count: int) -> None:
    with closing(FileStore(Path(home), projections=(COUNT,), durable=False)) as store:
        for at in range(count):
            store.append("s", "tool_call", {"who": name, "at": at})


def test_parallel_processes_append_to_one_chain(tmp_path: Path) -> None:
    """No entry is lost, doubled or out of order, and the counter is right."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(str(tmp_path), name, 40)) for name in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0

    store = open_store(tmp_path, COUNT)
    entries = list(store.read_entries("s"))
    assert len(entries) == 160
    for name in "abcd":
        assert [entry.body["at"] for entry in entries if entry.body["who"] == name] == list(range(40))
    assert store.read_projection("count", "s") == 160
    assert audit(tmp_path).is_intact


def test_forked_child_has_its_own_locks(tmp_path: Path) -> None:
    """A store opened before a fork works in both processes."""
    store = open_store(tmp_path, COUNT)
    store.append("s", "tool_call", {})
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for _ in range(20):
                store.append("s", "tool_call", {})
            code = 0
        finally:
            os._exit(code)
    for _ in range(20):
        store.append("s", "tool_call", {})
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    assert len(list(store.read_entries("s"))) == 41
    assert store.read_projection("count", "s") == 41


def test_waiting_appends_share_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fsync serves all appends written while the previous one ran."""
    store = close_after_test(FileStore(tmp_path, FakeClock(), (COUNT,)))
    store.append("s", "tool_call", {})
    original, synced, slow = os.fsync, [], threading.Event()

    def sync_slowly(fd: int) -> None:
        synced.append(fd)
        slow.wait(0.02)
        original(fd)

    monkeypatch.setattr(os, "fsync", sync_slowly)
    threads = [
        threading.Thread(target=lambda: [store.append("s", "tool_call", {}) for _ in range(5)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.read_head("s").seq == 41
    assert len(synced) < 40


def test_projection_names_are_unique() -> None:
    """Every projection has its own name, under which its state is stored."""
    names = [projection.name for projection in load_projections()]

    assert len(set(names)) == len(names)


def test_many_sessions_share_a_bounded_number_of_files(tmp_path: Path) -> None:
    """Old files are closed, and opened again when needed."""
    store = open_store(tmp_path)
    for round_ in range(2):
        for at in range(80):
            assert store.append(f"s{at}", "crash", {}).seq == round_ + 1
    assert len(store.list_sessions()) == 81


def test_log_is_one_json_object_per_line(tmp_path: Path) -> None:
    """Any tool that reads JSON lines can read the log."""
    path = fill_session(tmp_path, 2)

    assert [json.loads(line)["body"]["tool"] for line in path.read_text().splitlines()] == ["t0", "t1"]
