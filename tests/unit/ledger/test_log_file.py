"""Parallel appends share syncs, and nothing is promised before it is durable."""

import fcntl
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from verdikt.errors import LedgerError
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.model.entry import EntryKind

THREADS = 8
EACH = 12


class SlowDisk:
    """A slow `os.fsync` that counts syncs of log files and remembers what was durable when it returned."""

    def __init__(self) -> None:
        self._fsync = os.fsync
        self._lock = threading.Lock()
        self.calls = 0
        self.running = 0
        self.at_once = 0
        self.durable: dict[int, int] = {}
        self.broken = False

    def __call__(self, fd: int) -> None:
        """Sync one file slowly, and remember how much of it is durable."""
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            self._fsync(fd)
            return
        size = os.fstat(fd).st_size
        with self._lock:
            self.calls += 1
            self.running += 1
            self.at_once = max(self.at_once, self.running)
        time.sleep(0.02)
        with self._lock:
            self.running -= 1
        if self.broken:
            raise OSError(5, "Input/output error")
        self._fsync(fd)
        inode = os.fstat(fd).st_ino
        self.durable[inode] = max(size, self.durable.get(inode, 0))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    """Put a slow disk under every file."""
    slow = SlowDisk()
    monkeypatch.setattr(os, "fsync", slow)
    return slow


def append_all(store: FileStore, session_of: "list[str]", disk: SlowDisk) -> list[str]:
    """Append from every thread; return what was promised and not durable."""
    early: list[str] = []

    def work(who: int) -> None:
        path = store.reader.hot_file_path(session_of[who])
        for number in range(EACH):
            entry = store.append(session_of[who], EntryKind.CRASH, {"who": who, "number": number})
            durable_bytes = disk.durable.get(path.stat().st_ino, 0)
            if f'"hash":"{entry.hash}"'.encode() not in path.read_bytes()[:durable_bytes]:
                early.append(f"{who}-{number}")

    threads = [threading.Thread(target=work, args=(who,)) for who in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return early


def test_threads_of_one_session_share_syncs(tmp_path: Path, disk: SlowDisk) -> None:
    """There are far fewer syncs than entries, and none is promised before it is durable."""
    store = close_after_test(FileStore(tmp_path))
    store.append("s", EntryKind.CRASH, {})
    disk.calls = 0

    early = append_all(store, ["s"] * THREADS, disk)

    assert early == []
    assert disk.calls <= THREADS * EACH // 3
    assert len(list(store.read_entries("s"))) == THREADS * EACH + 1


def test_syncs_of_several_sessions_overlap(tmp_path: Path, disk: SlowDisk) -> None:
    """Each session has its own file, so the file system can sync them together."""
    store = close_after_test(FileStore(tmp_path))

    early = append_all(store, [f"s{who}" for who in range(THREADS)], disk)

    assert early == []
    assert disk.at_once >= THREADS // 2


def test_failed_sync_fails_every_waiting_thread(tmp_path: Path, disk: SlowDisk) -> None:
    """The next success does not count for what failed; later entries are written as usual."""
    store = close_after_test(FileStore(tmp_path))
    store.append("s", EntryKind.CRASH, {})
    disk.broken = True
    refused: list[int] = []

    def work(who: int) -> None:
        try:
            store.append("s", EntryKind.CRASH, {"who": who})
        except LedgerError:
            refused.append(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    disk.broken = False

    assert len(refused) == 4
    assert store.append("s", EntryKind.CRASH, {"after": True}).seq == 6


def test_entry_written_while_a_sync_fails_is_not_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports a failed write once, so a second sync proves nothing."""
    store = close_after_test(FileStore(tmp_path))
    store.append("s", EntryKind.GAP, {})
    calls, under_way, go_on = [], threading.Event(), threading.Event()

    def fail_sync(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            under_way.set()
            go_on.wait(10)
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail_sync)
    refused: list[int] = []

    def append(number: int) -> None:
        try:
            store.append("s", EntryKind.GAP, {"n": number})
        except LedgerError:
            refused.append(number)

    threads = [threading.Thread(target=append, args=(number,)) for number in (1, 2)]
    threads[0].start()
    under_way.wait(10)
    threads[1].start()
    while store.read_head("s").seq < 3:
        time.sleep(0.01)
    go_on.set()
    for thread in threads:
        thread.join()
    assert sorted(refused) == [1, 2]
    store.append("s", EntryKind.GAP, {"n": 3})


def test_lock_held_too_long_raises_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook reports a lock that another process keeps, instead of waiting for ever."""
    store = close_after_test(FileStore(tmp_path))
    store.append("s", EntryKind.GAP, {})
    monkeypatch.setattr("verdikt.ledger.log_file.LOCK_TIMEOUT_SECONDS", 0.2)
    with open(tmp_path / "ledger" / "s.jsonl", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="locked by another process"):
            store.append("s", EntryKind.GAP, {})
    store.append("s", EntryKind.GAP, {})


def test_long_call_in_the_same_process_has_its_own_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fuser` would not find another process."""
    store = close_after_test(FileStore(tmp_path))
    monkeypatch.setattr("verdikt.ledger.log_file.LOCK_TIMEOUT_SECONDS", 0.01)
    inside, go_on = threading.Event(), threading.Event()

    def hold_session() -> None:
        with store.session("s"):
            inside.set()
            go_on.wait(60)

    worker = threading.Thread(target=hold_session)
    worker.start()
    assert inside.wait(60)
    with pytest.raises(LedgerError, match="still being written for another call; check the disk"):
        store.append("s", EntryKind.GAP, {})
    go_on.set()
    worker.join()


def test_close_does_not_deadlock_with_an_update(tmp_path: Path) -> None:
    """An update that opens another session while the store closes can finish."""
    store = close_after_test(FileStore(tmp_path))
    inside, closing = threading.Event(), threading.Event()

    def append_to_other_session() -> None:
        with store.session("s"):
            inside.set()
            closing.wait(10)
            time.sleep(0.1)
            store.append("other", EntryKind.GAP, {})

    worker = threading.Thread(target=append_to_other_session, daemon=True)
    worker.start()
    inside.wait(10)
    closer = threading.Thread(target=lambda: (closing.set(), store.close()), daemon=True)
    closer.start()
    worker.join(20)
    closer.join(20)
    assert not worker.is_alive()
    assert not closer.is_alive()


def test_directory_is_synced_before_the_first_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for an empty file whose creator was killed before its name was durable."""
    synced: list[Path] = []
    monkeypatch.setattr("verdikt.ledger.log_file.sync_directory", synced.append)
    store = close_after_test(FileStore(tmp_path))
    for session in ("made", "found", "found"):
        (store.reader.ledger / "found.jsonl").touch()
        store.append(session, EntryKind.TOOL_CALL, {})

    assert synced == [store.reader.ledger] * 3  # the third is the operator's log, which introduces the sessions


def test_writeback_is_started_once_before_each_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each log starts its own, and an entry that is synced at once needs none."""
    begun: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *_: begun.append(fd))
    store = close_after_test(FileStore(tmp_path, group_commit=(later := GroupCommit())))
    for session in ("a", "b"):
        store.append(session, EntryKind.GAP, {})
    assert begun == []

    for round_ in (1, 2):
        later.begin_batch()
        for session in ("a", "b", "a", "b", "a"):
            store.append(session, EntryKind.GAP, {})
        assert len(begun) == 2 * round_
        for log, written in later.end_batch():
            log.sync(written)
    assert len(set(begun)) == 2
    store.close()
