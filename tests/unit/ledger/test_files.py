"""The file store: what it does about a file or a `state.db` that is not as it left it."""

import json
import multiprocessing
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

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


def opened(home: Path, *made: Projection, every: int = 1000) -> FileStore:
    """A store as a new process would open it."""
    return FileStore(home, FakeClock(), made, durable=False, checkpoint_every=every)


def filled(home: Path, count: int = 5) -> Path:
    """A session of tool calls; its file."""
    store = opened(home, COUNT, CALLS)
    for at in range(count):
        store.append("s", "tool_call", {"tool": f"t{at}"})
    store.close()
    return home / "ledger" / "s.jsonl"


def kinds(home: Path, session: str = "s") -> list[tuple[Corruption, int]]:
    """What verification says."""
    return [(fault.kind, fault.seq) for fault in audit(home, [session], projections=(COUNT, CALLS)).findings]


def test_directories_and_files_are_their_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask."""
    old = os.umask(0)
    try:
        path = filled(tmp_path / "home")
    finally:
        os.umask(old)

    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "home" / "state.db").stat().st_mode & 0o777 == 0o600


def test_a_torn_last_line_is_repaired_with_a_gap(tmp_path: Path) -> None:
    """Nothing before it is lost, and what was torn is kept as an artifact of the gap."""
    path = filled(tmp_path)
    whole = path.read_bytes()
    torn = whole.splitlines(keepends=True)[-1][:40]
    path.write_bytes(whole + torn)

    store = opened(tmp_path, COUNT)
    entry = store.append("s", "tool_call", {"tool": "next"})

    entries = list(store.read_entries("s"))
    assert [e.kind.value for e in entries] == ["tool_call"] * 5 + ["gap", "tool_call"]
    assert entries[5].body["reason"] == "torn"
    assert store.read_artifact("s", 6, "torn") == torn
    assert entry.seq == 7
    assert path.read_bytes().startswith(whole)
    assert kinds(tmp_path) == [(Corruption.GAP, 6)]
    assert audit(tmp_path, ["s"]).is_intact


def test_a_torn_line_longer_than_its_repair_is_replaced_whole(tmp_path: Path) -> None:
    """No bytes of it stay behind."""
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"body":"' + b"x" * 100_000)

    store = opened(tmp_path)
    store.append("s", "tool_call", {"tool": "next"})

    assert [entry.seq for entry in store.read_entries("s")] == [1, 2, 3, 4, 5, 6, 7]
    assert audit(tmp_path, ["s"]).is_intact


def test_what_was_found_wrong_is_written_although_the_first_who_found_it_failed(tmp_path: Path) -> None:
    """A store that stays open has the next one look again: torn bytes, an end that was cut off, states that were behind."""
    path = filled(tmp_path)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]) + b'{"torn')
    store = opened(tmp_path, COUNT, CALLS)

    for _ in range(2):
        with pytest.raises(ArithmeticError), store.session("s"):
            raise ArithmeticError
    store.append("s", "tool_call", {})

    gaps = [entry.body["reason"] for entry in store.reader.read_intact_entries("s") if entry.kind is EntryKind.GAP]
    assert gaps == [GAP_LOST, "torn"]
    assert Corruption.STATE not in [kind for kind, _ in kinds(tmp_path)]


def test_states_that_were_behind_are_caught_up_although_the_first_who_saw_it_failed(tmp_path: Path) -> None:
    """What `state.db` says is folded up to the end is."""
    filled(tmp_path)
    other = opened(tmp_path, COUNT)  # leaves the calls behind
    other.append("s", "tool_call", {})
    other.close()
    store = opened(tmp_path, COUNT, CALLS)

    with pytest.raises(ArithmeticError), store.session("s"):
        raise ArithmeticError
    store.append("s", "gap", {"reason": "test"})
    store.close()

    assert opened(tmp_path, COUNT, CALLS).read_projection("calls", "s") == [1, 2, 3, 4, 5, 6]
    assert [kind for kind, _ in kinds(tmp_path)] == [Corruption.GAP]


def test_a_line_that_lost_only_its_newline_is_kept(tmp_path: Path) -> None:
    """It is a whole entry."""
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])

    store = opened(tmp_path)
    assert store.append("s", "tool_call", {}).seq == 6
    assert audit(tmp_path, ["s"]).is_intact


def test_a_crash_between_log_and_database_is_caught_up(tmp_path: Path) -> None:
    """The log is the truth; the database follows."""
    path = filled(tmp_path, 3)
    behind = path.read_bytes()
    store = opened(tmp_path, COUNT, CALLS)
    store.append("s", "tool_call", {})
    store.append("s", "crash", {})
    ahead = path.read_bytes()
    contents = _contents(store)
    store.close()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    path.write_bytes(behind)
    opened(tmp_path, COUNT, CALLS).reindex()
    path.write_bytes(ahead)

    store = opened(tmp_path, COUNT, CALLS)
    assert store.read_projection("count", "s") == 5
    assert store.read_projection("calls", "s") == [1, 2, 3, 4]
    assert _contents(store)["state"] == contents["state"]
    assert [row for row in _contents(store)["heads"] if row[0] == "s"] == contents["heads"]


def test_a_cut_off_end_shows_for_ever(tmp_path: Path) -> None:
    """The next append says so in the log, and goes on from the head that was known, so lost lines could be put back."""
    path = filled(tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    assert kinds(tmp_path) == [(Corruption.TRUNCATION, 4)]

    store = opened(tmp_path, COUNT)
    assert store.append("s", "tool_call", {}).seq == 7
    assert kinds(tmp_path) == [(Corruption.TRUNCATION, 4), (Corruption.GAP, 6)]
    store.append("s", "tool_call", {})
    store.close()

    restored = lines[3] + lines[4]
    path.write_bytes(b"".join(lines[:3]) + restored + path.read_bytes()[len(b"".join(lines[:3])) :])
    assert kinds(tmp_path) == [(Corruption.GAP, 6)]


def test_an_emptied_file_shows_for_ever(tmp_path: Path) -> None:
    """Before and after the next append."""
    path = filled(tmp_path)
    path.write_bytes(b"")
    assert kinds(tmp_path) == [(Corruption.EMPTIED, 1)]

    opened(tmp_path).append("s", "tool_call", {})

    assert kinds(tmp_path) == [(Corruption.TRUNCATION, 1), (Corruption.GAP, 6)]


def test_a_removed_file_shows(tmp_path: Path) -> None:
    """Because `state.db` knew it."""
    filled(tmp_path).unlink()

    assert kinds(tmp_path) == [(Corruption.MISSING, 1)]
    assert [fault.kind for fault in audit(tmp_path).findings] == [Corruption.MISSING]


def test_a_rewritten_end_shows_for_ever(tmp_path: Path) -> None:
    """Even when every hash was computed anew and somebody appended since."""
    path = filled(tmp_path)
    filled(tmp_path / "other", 3)
    store = opened(tmp_path / "other")
    store.append("s", "tool_call", {"tool": "forged"})
    store.append("s", "tool_call", {"tool": "t4"})
    other = (tmp_path / "other" / "ledger" / "s.jsonl").read_bytes()
    path.write_bytes(other)
    assert kinds(tmp_path) == [(Corruption.FORGERY, 5)]

    opened(tmp_path).append("s", "tool_call", {})

    assert (Corruption.FORGERY, 5) in kinds(tmp_path)


def test_a_damaged_last_line_does_not_stop_the_log(tmp_path: Path) -> None:
    """The next entry is a gap that says so, and verification still names the damaged one."""
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"t4"', b'"t9"'))

    store = opened(tmp_path)
    assert store.append("s", "tool_call", {}).seq == 7

    assert kinds(tmp_path) == [(Corruption.EDIT, 5), (Corruption.GAP, 6)]


def test_a_removed_database_is_recorded(tmp_path: Path) -> None:
    """Heads that only it knew are gone, so the operator's log says since when."""
    filled(tmp_path)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert kinds(tmp_path) == [(Corruption.NO_HEAD, 5)]

    store = opened(tmp_path, COUNT)
    assert store.append("s", "tool_call", {}).seq == 6
    assert store.read_projection("count", "s") == 6

    (gap,) = store.read_entries(OPERATOR)
    assert (gap.kind, gap.body["reason"]) == (EntryKind.GAP, "state.db was missing")
    assert kinds(tmp_path) == []


def _contents(store: FileStore) -> dict[str, list[tuple[object, ...]]]:
    store.flush_projections()
    with store.state.hold_connection() as db:
        return db.dump_tables()


def test_reindexing_gives_the_same_database(tmp_path: Path) -> None:
    """Row by row, whatever happened on the way."""
    store = opened(tmp_path, COUNT, CALLS, every=4)
    for at in range(10):
        store.append(f"s{at % 3}", "tool_call" if at % 2 else "crash", {"at": at})
    store.append("s0", "posture", {"to": "locked"})
    before = _contents(store)
    assert len(before["heads"]) == 3

    assert store.reindex() == 3

    assert _contents(store) == before


def test_reindexing_replaces_a_corrupt_database(tmp_path: Path) -> None:
    """The damaged one is kept aside, and the loss of its heads is recorded."""
    filled(tmp_path)
    (tmp_path / "state.db").write_bytes(b"this is not a database at all" * 100)
    for name in ("state.db-wal", "state.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    store = opened(tmp_path, COUNT, CALLS)
    with pytest.raises(LedgerError, match=r"state\.db`: file is not a database; run `verdikt ledger reindex`"):
        store.append("s", "tool_call", {})

    store.reindex()

    assert store.append("s", "tool_call", {}).seq == 6
    assert store.read_projection("count", "s") == 6
    assert list(tmp_path.glob("state.db.damaged-*"))
    assert next(store.read_entries(OPERATOR)).kind is EntryKind.GAP
    assert audit(tmp_path).is_intact


def test_a_store_that_does_not_know_a_projection_leaves_it_behind_not_wrong(tmp_path: Path) -> None:
    """Whoever knows it catches up from where it stood."""
    one = opened(tmp_path, COUNT, CALLS)
    one.append("s", "tool_call", {})
    two = opened(tmp_path, COUNT)
    two.append("s", "tool_call", {})
    two.append("s", "crash", {})

    assert one.append("s", "tool_call", {}).seq == 4
    assert one.read_projection("calls", "s") == [1, 2, 4]
    assert one.read_projection("count", "s") == 4
    before = _contents(one)
    one.reindex()
    assert _contents(one) == before


def test_a_changed_projection_is_folded_anew(tmp_path: Path) -> None:
    """A stored state of another version is never mistaken for this one."""
    filled(tmp_path)
    doubled = Projection(name="count", initial=0, fold=lambda state, entry: state + 2, version=2)

    assert opened(tmp_path, doubled).read_projection("count", "s") == 10


def test_a_state_that_an_older_version_wrote_over_is_folded_anew(tmp_path: Path) -> None:
    """Two versions that take turns each start from their own state or from the beginning, never from the other's."""
    doubled = Projection(name="count", initial=0, fold=lambda state, entry: state + 2, version=2)

    for entries in (1, 2, 3):
        opened(tmp_path, COUNT).append("s", "tool_call", {})
        assert opened(tmp_path, doubled).read_projection("count", "s") == 2 * entries
        assert opened(tmp_path, COUNT).read_projection("count", "s") == entries


def test_states_are_stored_now_and_then_and_heads_always(tmp_path: Path) -> None:
    """Whoever comes after a process that was killed finds every head, and folds the rest from the log."""
    store = opened(tmp_path, COUNT, CALLS)
    stored = set()
    for at in range(1, 2 * STORE_INTERVAL):
        store.append("s", "tool_call", {})
        with store.state.hold_connection() as db:
            row = db.read_head("s")
            assert row is not None
            assert row.head.seq == at
            (count,) = (row[4] for row in db.dump_tables()["state"] if row[1] == "count")
            stored.add(count)
        assert kinds(tmp_path) == []
        if at in (1, 7, STORE_INTERVAL, STORE_INTERVAL + 5):
            killed = tmp_path / f"killed-{at}"
            shutil.copytree(tmp_path, killed, ignore=shutil.ignore_patterns("killed-*"))
            other = opened(killed, COUNT, CALLS)
            assert other.read_projection("count", "s") == at
            assert other.read_projection("calls", "s") == list(range(1, at + 1))
            other.append("s", "crash", {})
            assert kinds(killed) == []

    assert stored == {"1", str(1 + STORE_INTERVAL)}
    store.close()
    assert opened(tmp_path, COUNT).read_projection("count", "s") == 2 * STORE_INTERVAL - 1


def test_a_stored_state_that_is_behind_is_still_compared_with_the_log(tmp_path: Path) -> None:
    """Whoever changes it in `state.db` is found out, whether or not the log has gone on since."""
    store = opened(tmp_path, COUNT)
    for _ in range(5):
        store.append("s", "tool_call", {})
    with store.state.write_transaction() as db:
        db.put_state("s", "count", StateRow(1, 1, "7"))

    assert [fault.kind for fault in audit(tmp_path, projections=(COUNT,)).findings] == [Corruption.STATE]


def test_what_a_caller_holds_changes_nothing_that_is_kept(tmp_path: Path) -> None:
    """A state is folded from what was written, so neither a body changed later nor an update that fails shows in it."""
    last = Projection(name="last", initial=None, fold=lambda state, entry: entry.body.get("seen", state))
    store = opened(tmp_path, last)
    body: dict[str, Any] = {"seen": [1, (2, 1.0)]}
    entry = store.append("s", "tool_call", body)
    body["seen"].append(3)

    with pytest.raises(ValueError, match="changed its mind"), store.session("s") as session:
        session.append("tool_call", {"seen": "lost"})
        raise ValueError("changed its mind")

    assert entry.body == {"seen": [1, [2, 1]]}
    assert store.read_projection("last", "s") == [1, [2, 1]]
    assert opened(tmp_path, last).read_projection("last", "s") == [1, [2, 1]]


def test_checkpoints_stand_at_regular_intervals(tmp_path: Path) -> None:
    """Signed, so that they cover what stands before them."""
    store = opened(tmp_path, every=5)
    for _ in range(20):
        store.append("s", "tool_call", {})

    checkpoints = [entry for entry in store.read_entries("s") if entry.kind is EntryKind.CHECKPOINT]
    assert [entry.seq for entry in checkpoints] == [6, 11, 16, 21]
    assert all(entry.sig for entry in checkpoints)
    (found,) = audit(tmp_path, ["s"]).sessions
    assert (found.signature_count, found.last_covered_seq) == (4, 21)


def test_without_a_key_the_log_goes_on(tmp_path: Path) -> None:
    """Checkpoints are missed, entries are not; what must be signed is refused."""
    store = opened(tmp_path, every=2)
    kid = store.keyring.get_signing_key().kid
    (tmp_path / "keys" / f"{kid}.key").unlink()
    store = opened(tmp_path, every=2)

    for _ in range(5):
        store.append("s", "tool_call", {})
    with pytest.raises(LedgerError, match=rf"the secret half of key `{kid}` is missing: expected it in `.*keys rotate"):
        store.append("s", "validator_pass", {})

    assert [entry.kind.value for entry in store.read_entries("s")] == ["tool_call"] * 5


def test_the_tail_is_all_that_appending_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the log."""
    filled(tmp_path, 3)
    for _ in range(3):
        opened(tmp_path).append("s", "tool_call", {"long": "x" * 300_000})
    opened(tmp_path).append("s", "tool_call", {})
    store = opened(tmp_path)
    read = []
    original = os.pread

    def counting(fd: int, count: int, offset: int) -> bytes:
        read.append(count)
        return original(fd, count, offset)

    monkeypatch.setattr(os, "pread", counting)
    assert store.append("s", "tool_call", {}).seq == 8
    assert sum(read) <= 65_536
    read.clear()
    assert store.append("s", "tool_call", {}).seq == 9
    assert read == []


def test_reading_from_the_middle_reads_little(tmp_path: Path) -> None:
    """Found by halving."""
    store = opened(tmp_path, every=10_000)
    for at in range(2000):
        store.append("s", "tool_call", {"at": at, "fill": "x" * 500})

    for since in (0, 1, 999, 1998, 1999, 2000):
        assert [entry.body["at"] for entry in store.read_entries("s", since=since)] == list(range(since, 2000))


def _append_many(home: str, name: str, count: int) -> None:
    store = FileStore(Path(home), projections=(COUNT,), durable=False)
    for at in range(count):
        store.append("s", "tool_call", {"who": name, "at": at})


def test_processes_append_to_one_chain(tmp_path: Path) -> None:
    """Nothing is lost, doubled or out of order, and the counter is right."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(str(tmp_path), name, 40)) for name in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0

    store = opened(tmp_path, COUNT)
    entries = list(store.read_entries("s"))
    assert len(entries) == 160
    for name in "abcd":
        assert [entry.body["at"] for entry in entries if entry.body["who"] == name] == list(range(40))
    assert store.read_projection("count", "s") == 160
    assert audit(tmp_path).is_intact


def test_a_forked_child_has_locks_of_its_own(tmp_path: Path) -> None:
    """A store opened before a fork may be used on both sides."""
    store = opened(tmp_path, COUNT)
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


def test_appends_that_wait_together_reach_the_disk_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fsync for all who wrote while the one before was under way."""
    store = FileStore(tmp_path, FakeClock(), (COUNT,))
    store.append("s", "tool_call", {})
    original, synced, slow = os.fsync, [], threading.Event()

    def slowly(fd: int) -> None:
        synced.append(fd)
        slow.wait(0.02)
        original(fd)

    monkeypatch.setattr(os, "fsync", slowly)
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


def test_many_sessions_do_not_run_out_of_files(tmp_path: Path) -> None:
    """Old ones are closed and opened again when needed."""
    store = opened(tmp_path)
    for round_ in range(2):
        for at in range(80):
            assert store.append(f"s{at}", "crash", {}).seq == round_ + 1
    assert len(store.list_sessions()) == 80


def test_the_log_is_plain_json(tmp_path: Path) -> None:
    """One object a line, for any tool that reads lines."""
    path = filled(tmp_path, 2)

    assert [json.loads(line)["body"]["tool"] for line in path.read_text().splitlines()] == ["t0", "t1"]
