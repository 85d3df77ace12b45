"""A process that goes on: it waits for the disk later, and records heads later. Nothing is lost by that, and nothing hidden."""

import os
import shutil
from pathlib import Path

import pytest

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


def warm(home: Path, later: GroupCommit | None = None, *projections: Projection) -> FileStore:
    """A store as a warm process holds it."""
    return FileStore(home, FakeClock(), projections or (COUNT,), group_commit=later or GroupCommit(), durable=True)


def cold(home: Path, *projections: Projection) -> FileStore:
    """A store as a hook process opens it."""
    return FileStore(home, FakeClock(), projections or (COUNT,), durable=False)


def recorded(store: FileStore, session: str = "s") -> int:
    """The head that `state.db` knows."""
    with store.state.hold_connection() as db:
        row = db.read_head(session)
    return row.head.seq if row else 0


def fill(store: FileStore, count: int, session: str = "s") -> None:
    """Appends entries."""
    for _ in range(count):
        store.append(session, EntryKind.TOOL_CALL, {})


def gaps(store: FileStore) -> list[object]:
    """What was found wrong with the session."""
    return [entry.body["reason"] for entry in store.reader.read_intact_entries("s") if entry.kind is EntryKind.GAP]


def test_who_collects_waits_for_nothing_and_has_to_see_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One wait is enough for all that was written before it."""
    later = GroupCommit()
    store, synced = warm(tmp_path, later), []
    fill(store, 1)
    original = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), original(fd)))

    later.begin_batch()
    fill(store, 3)
    written = later.end_batch()
    assert (len(written), synced) == (3, [])
    for log, upto in written:
        log.sync(upto)
    assert len(synced) == 1
    fill(store, 1)
    assert len(synced) == 2


def test_a_failed_wait_fails_everybody_who_has_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later success proves nothing for them."""
    later = GroupCommit()
    store = warm(tmp_path, later)
    fill(store, 1)

    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    later.begin_batch()
    fill(store, 2)
    written = later.end_batch()
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        with pytest.raises(LedgerError, match="check the disk"):
            written[0][0].sync(written[0][1])
    with pytest.raises(LedgerError, match="an earlier write failed"):
        written[1][0].sync(written[1][1])
    fill(store, 1)
    assert store.read_head("s").seq == 4


def test_heads_are_recorded_when_there_is_time(tmp_path: Path) -> None:
    """In one go for all sessions; and with the states after so many entries, whether or not there was time."""
    store = warm(tmp_path)
    for session in ("s", "t"):
        fill(store, 5, session)
    assert (recorded(store, "s"), recorded(store, "t")) == (1, 1)
    store.record_heads()
    assert (recorded(store, "s"), recorded(store, "t")) == (5, 5)
    fill(store, STORE_INTERVAL)
    assert recorded(store) >= STORE_INTERVAL
    store.close()
    assert recorded(cold(tmp_path)) == 5 + STORE_INTERVAL
    assert audit(tmp_path, projections=(COUNT,)).is_intact


@pytest.mark.parametrize("rest", [False, True], ids=["before it rested", "after it rested"])
@pytest.mark.parametrize("count", [2, 7, STORE_INTERVAL + 5])
def test_whoever_comes_after_a_killed_process_folds_the_rest(tmp_path: Path, count: int, rest: bool) -> None:
    """Also the projections that only they know."""
    first = cold(tmp_path, COUNT, OTHER)
    fill(first, 3)
    first.close()
    store = warm(tmp_path)
    fill(store, count)
    if rest:
        store.record_heads()
        fill(store, 1)
    killed, entries = tmp_path / "killed", 3 + count + rest
    shutil.copytree(tmp_path, killed, ignore=shutil.ignore_patterns("killed"))

    assert audit(killed, projections=(COUNT,)).is_intact
    other = cold(killed, COUNT, OTHER)
    assert (other.read_projection("count", "s"), other.read_projection("other", "s")) == (entries, 10 * entries)
    fill(other, 1)
    assert gaps(other) == []
    assert audit(killed, projections=(COUNT, OTHER)).is_intact


def test_who_was_overtaken_leaves_the_head_of_the_other(tmp_path: Path) -> None:
    """A hook process that wrote in between knew more."""
    store = warm(tmp_path)
    fill(store, 4)
    fill(cold(tmp_path), 2)
    store.record_heads()
    assert recorded(store) == 6
    fill(store, 1)
    assert store.read_projection("count", "s") == 7
    store.record_heads()
    assert recorded(store) == 7
    assert gaps(store) == []


def test_what_is_cut_off_before_its_head_was_recorded_shows(tmp_path: Path) -> None:
    """The process that wrote it knows."""
    store = warm(tmp_path)
    fill(store, 5)
    path = tmp_path / "ledger/s.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    fill(store, 1)

    assert gaps(cold(tmp_path)) == [GAP_LOST]


def test_what_is_rewritten_before_its_head_was_recorded_shows(tmp_path: Path) -> None:
    """Entries of another process in the place of its own are no continuation of them."""
    store = warm(tmp_path)
    fill(store, 3)
    store.record_heads()
    before = (tmp_path / "ledger/s.jsonl").read_bytes()
    fill(store, 1)
    other = tmp_path / "other"
    shutil.copytree(tmp_path, other, ignore=shutil.ignore_patterns("other"))
    (other / "ledger/s.jsonl").write_bytes(before)
    shutil.rmtree(other / "artifacts", ignore_errors=True)
    forger = FileStore(other, FakeClock(), (COUNT,), durable=False)
    forger.append("s", EntryKind.TOOL_CALL, {"forged": True})
    forger.append("s", EntryKind.TOOL_CALL, {"forged": True})
    (tmp_path / "ledger/s.jsonl").write_bytes((other / "ledger/s.jsonl").read_bytes())
    fill(store, 1)

    assert gaps(cold(tmp_path)) == [GAP_REWRITTEN]


def test_heads_that_cannot_be_recorded_are_next_time(tmp_path: Path) -> None:
    """The log has what counts."""
    store = warm(tmp_path)
    fill(store, 2)
    holder = cold(tmp_path)
    with store.state.hold_connection() as db:
        db._execute("PRAGMA busy_timeout = 1")
    with holder.state.write_transaction():
        store.record_heads()
    assert recorded(store) == 1
    fill(store, 1)
    store.record_heads()
    assert recorded(store) == 3


def test_a_database_that_goes_before_the_heads_are_recorded_is_told_of(tmp_path: Path) -> None:
    """Recording them would make a new one, and nobody would know what went with the old."""
    store = warm(tmp_path)
    fill(store, 3)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)

    store.record_heads()
    fill(store, 1)

    (gap,) = store.read_entries(OPERATOR)
    assert gap.body["reason"] == "state.db was missing"
