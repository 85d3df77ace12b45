"""A long-running process that syncs and records heads later, without losing or hiding anything."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger.audit import audit
from verdikt.ledger.chain_reader import GAP_LOST, GAP_REWRITTEN
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.log_index import STORE_INTERVAL
from verdikt.ledger.projections import Projection
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
OTHER = Projection(name="other", initial=0, fold=lambda state, entry: state + 10)


def open_warm_store(home: Path, later: GroupCommit | None = None, *projections: Projection) -> FileStore:
    """Open a store as the warm process does."""
    return close_after_test(
        FileStore(home, FakeClock(), projections or (COUNT,), group_commit=later or GroupCommit(), durable=True)
    )


def open_cold_store(home: Path, *projections: Projection) -> FileStore:
    """Open a store as a hook process does."""
    return close_after_test(FileStore(home, FakeClock(), projections or (COUNT,), durable=False))


def recorded_seq(store: FileStore, session: str = "s") -> int:
    """Return the head that `state.db` has."""
    with store.state.hold_connection() as db:
        row = db.read_head(session)
    return row.head.seq if row else 0


def append_entries(store: FileStore, count: int, session: str = "s") -> None:
    """Append entries."""
    for _ in range(count):
        store.append(session, EntryKind.TOOL_CALL, {})


def list_gap_reasons(store: FileStore) -> list[object]:
    """Return the gap entries of the session."""
    return [entry.body["reason"] for entry in store.reader.read_intact_entries("s") if entry.kind is EntryKind.GAP]


def test_batch_defers_every_sync_and_returns_the_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sync serves everything written before it."""
    later = GroupCommit()
    store, synced = open_warm_store(tmp_path, later), []
    append_entries(store, 1)
    original = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), original(fd)))

    later.begin_batch()
    append_entries(store, 3)
    written = later.end_batch()
    assert (len(written), synced) == (3, [])
    for log, write_count in written:
        log.sync(write_count)
    assert len(synced) == 1
    append_entries(store, 1)
    assert len(synced) == 2


def test_failed_sync_fails_every_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later success proves nothing for earlier writes."""
    later = GroupCommit()
    store = open_warm_store(tmp_path, later)
    append_entries(store, 1)

    def fail_sync(_: int) -> None:
        raise OSError(5, "Input/output error")

    later.begin_batch()
    append_entries(store, 2)
    written = later.end_batch()
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_sync)
        with pytest.raises(LedgerError, match="check the disk"):
            written[0][0].sync(written[0][1])
    with pytest.raises(LedgerError, match="an earlier write failed"):
        written[1][0].sync(written[1][1])
    append_entries(store, 1)
    assert store.read_head("s").seq == 4


def test_forked_child_leaves_the_heads_of_its_parent_alone(tmp_path: Path) -> None:
    """The parent may have written more by the time at which the child would record them."""
    store = open_warm_store(tmp_path)
    append_entries(store, 3)
    if (child := os.fork()) == 0:
        store.record_heads()
        append_entries(store, 1, "t")
        store.record_heads()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (recorded_seq(store), recorded_seq(store, "t")) == (1, 1)
    store.record_heads()
    assert recorded_seq(store) == 3


def test_head_recorded_while_another_process_writes_leaves_no_mark_behind(tmp_path: Path) -> None:
    """The mark says that the stored states are old; the writer stores new ones without having seen it."""
    first, second = open_warm_store(tmp_path), open_warm_store(tmp_path)
    append_entries(first, 3)
    with second.session("s") as log:
        first.record_heads()
        log.append(EntryKind.TOOL_CALL, {})
    append_entries(second, 2)
    second.record_heads()

    assert audit(tmp_path, projections=(COUNT,)).findings == []


def test_deferred_heads_are_recorded_together(tmp_path: Path) -> None:
    """All deferred heads are recorded in one transaction, and with the states after enough entries."""
    store = open_warm_store(tmp_path)
    for session in ("s", "t"):
        append_entries(store, 5, session)
    assert (recorded_seq(store, "s"), recorded_seq(store, "t")) == (1, 1)
    store.record_heads()
    assert (recorded_seq(store, "s"), recorded_seq(store, "t")) == (5, 5)
    append_entries(store, STORE_INTERVAL)
    assert recorded_seq(store) >= STORE_INTERVAL
    store.close()
    assert recorded_seq(open_cold_store(tmp_path)) == 5 + STORE_INTERVAL
    assert audit(tmp_path, projections=(COUNT,)).is_intact


@pytest.mark.parametrize("was_idle", [False, True], ids=["before it was idle", "after it was idle"])
@pytest.mark.parametrize("count", [2, 7, STORE_INTERVAL + 5])
def test_next_process_after_a_kill_folds_the_remaining_entries(tmp_path: Path, count: int, was_idle: bool) -> None:
    """Also for projections that only the next process knows."""
    first = open_cold_store(tmp_path, COUNT, OTHER)
    append_entries(first, 3)
    first.close()
    store = open_warm_store(tmp_path)
    append_entries(store, count)
    if was_idle:
        store.record_heads()
        append_entries(store, 1)
    killed, entries = tmp_path / "killed", 3 + count + was_idle
    shutil.copytree(tmp_path, killed, ignore=shutil.ignore_patterns("killed"))

    assert audit(killed, projections=(COUNT,)).is_intact
    other = open_cold_store(killed, COUNT, OTHER)
    assert (other.read_projection("count", "s"), other.read_projection("other", "s")) == (entries, 10 * entries)
    append_entries(other, 1)
    assert list_gap_reasons(other) == []
    assert audit(killed, projections=(COUNT, OTHER)).is_intact


def test_record_heads_keeps_a_newer_head_of_another_process(tmp_path: Path) -> None:
    """A hook process that wrote in between has the newer head."""
    store = open_warm_store(tmp_path)
    append_entries(store, 4)
    append_entries(open_cold_store(tmp_path), 2)
    store.record_heads()
    assert recorded_seq(store) == 6
    append_entries(store, 1)
    assert store.read_projection("count", "s") == 7
    store.record_heads()
    assert recorded_seq(store) == 7
    assert list_gap_reasons(store) == []


def test_entries_cut_before_their_head_was_recorded_are_reported(tmp_path: Path) -> None:
    """The process that wrote them still knows its head."""
    store = open_warm_store(tmp_path)
    append_entries(store, 5)
    path = tmp_path / "ledger/s.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    append_entries(store, 1)

    assert list_gap_reasons(open_cold_store(tmp_path)) == [GAP_LOST]


def test_entries_rewritten_before_their_head_was_recorded_are_reported(tmp_path: Path) -> None:
    """Entries of another process in place of its own are not a continuation."""
    store = open_warm_store(tmp_path)
    append_entries(store, 3)
    store.record_heads()
    before = (tmp_path / "ledger/s.jsonl").read_bytes()
    append_entries(store, 1)
    other = tmp_path / "other"
    shutil.copytree(tmp_path, other, ignore=shutil.ignore_patterns("other"))
    (other / "ledger/s.jsonl").write_bytes(before)
    shutil.rmtree(other / "artifacts", ignore_errors=True)
    forger = close_after_test(FileStore(other, FakeClock(), (COUNT,), durable=False))
    forger.append("s", EntryKind.TOOL_CALL, {"forged": True})
    forger.append("s", EntryKind.TOOL_CALL, {"forged": True})
    (tmp_path / "ledger/s.jsonl").write_bytes((other / "ledger/s.jsonl").read_bytes())
    append_entries(store, 1)

    assert list_gap_reasons(open_cold_store(tmp_path)) == [GAP_REWRITTEN]


def test_heads_that_cannot_be_recorded_are_tried_again(tmp_path: Path) -> None:
    """The log has the entries in any case."""
    store = open_warm_store(tmp_path)
    append_entries(store, 2)
    holder = open_cold_store(tmp_path)
    with store.state.hold_connection() as db:
        db._execute("PRAGMA busy_timeout = 1")
    with holder.state.write_transaction():
        store.record_heads()
    assert recorded_seq(store) == 1
    append_entries(store, 1)
    store.record_heads()
    assert recorded_seq(store) == 3


def test_database_removed_before_heads_are_recorded_is_reported(tmp_path: Path) -> None:
    """Recording must not create a new database silently, because the loss would go unreported."""
    store = open_warm_store(tmp_path)
    append_entries(store, 3)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)

    store.record_heads()
    append_entries(store, 1)

    *_, gap = store.read_entries(OPERATOR)
    assert gap.body["reason"] == "state.db was missing"


@pytest.mark.parametrize("lost", [".", "ledger"])
def test_removed_directory_is_an_error_to_every_later_writer(tmp_path: Path, lost: str) -> None:
    """A process that is still running neither crashes nor starts a new log, in which the loss could not be seen."""
    home = tmp_path / "home"
    store = open_warm_store(home)
    append_entries(store, 3)
    shutil.rmtree(home / lost)

    store.record_heads()
    for session in ("s", "t"):
        with pytest.raises(LedgerError, match="its directory was removed"):
            append_entries(store, 1, session)
    store.record_heads()
    assert not (home / "ledger").exists()
