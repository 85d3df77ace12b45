"""Many threads, few waits for the disk: what is written together is made durable together, and never promised before."""

import fcntl
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from verdikt.errors import LedgerError
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.model.entry import EntryKind

THREADS = 8
EACH = 12


class SlowDisk:
    """`os.fsync`, slow as a disk, that counts for files of the log and remembers what was durable when it returned."""

    def __init__(self) -> None:
        self._fsync = os.fsync
        self._lock = threading.Lock()
        self.calls = 0
        self.running = 0
        self.at_once = 0
        self.durable: dict[int, int] = {}
        self.broken = False

    def __call__(self, fd: int) -> None:
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
    """A slow disk under everything."""
    slow = SlowDisk()
    monkeypatch.setattr(os, "fsync", slow)
    return slow


def append_all(store: FileStore, session_of: "list[str]", disk: SlowDisk) -> list[str]:
    """Every thread appends its entries; what was promised and not durable."""
    early: list[str] = []

    def work(who: int) -> None:
        path = store.reader.hot_file_path(session_of[who])
        for number in range(EACH):
            entry = store.append(session_of[who], EntryKind.CRASH, {"who": who, "number": number})
            known = disk.durable.get(path.stat().st_ino, 0)
            if f'"hash":"{entry.hash}"'.encode() not in path.read_bytes()[:known]:
                early.append(f"{who}-{number}")

    threads = [threading.Thread(target=work, args=(who,)) for who in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return early


def test_threads_of_one_session_share_one_wait(tmp_path: Path, disk: SlowDisk) -> None:
    """Far fewer waits than entries, and none was promised before it was on the disk."""
    store = FileStore(tmp_path)
    store.append("s", EntryKind.CRASH, {})
    disk.calls = 0

    early = append_all(store, ["s"] * THREADS, disk)

    assert early == []
    assert disk.calls <= THREADS * EACH // 3
    assert len(list(store.read_entries("s"))) == THREADS * EACH + 1


def test_threads_of_several_sessions_wait_side_by_side(tmp_path: Path, disk: SlowDisk) -> None:
    """Each session has a file of its own: their waits overlap, so that the file system can take them together."""
    store = FileStore(tmp_path)

    early = append_all(store, [f"s{who}" for who in range(THREADS)], disk)

    assert early == []
    assert disk.at_once >= THREADS // 2


def test_a_disk_that_fails_once_fails_everybody_who_waited(tmp_path: Path, disk: SlowDisk) -> None:
    """Nobody takes the next success for their own: what failed may be lost. Later entries are written as ever."""
    store = FileStore(tmp_path)
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


def test_what_is_written_while_a_sync_fails_is_lost_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports a failed write once; a second sync that succeeds says nothing about it."""
    store = FileStore(tmp_path)
    store.append("s", EntryKind.GAP, {})
    calls, under_way, go_on = [], threading.Event(), threading.Event()

    def failing(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            under_way.set()
            go_on.wait(10)
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
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


def test_a_lock_that_somebody_keeps_ends_in_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path)
    store.append("s", EntryKind.GAP, {})
    monkeypatch.setattr("verdikt.ledger.log_file.LOCK_TIMEOUT_SECONDS", 0.2)
    with open(tmp_path / "ledger" / "s.jsonl", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="locked by another process"):
            store.append("s", EntryKind.GAP, {})
    store.append("s", EntryKind.GAP, {})


def test_a_call_that_takes_long_is_not_taken_for_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody finds one with `fuser`."""
    store = FileStore(tmp_path)
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


def test_closing_waits_for_nobody_who_waits_for_it(tmp_path: Path) -> None:
    """An update that asks for another session while the store closes must not find the door barred for ever."""
    store = FileStore(tmp_path)
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


def test_a_new_file_has_its_name_on_the_disk_before_anything_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that somebody made who was killed before he had seen to that."""
    synced: list[Path] = []
    monkeypatch.setattr("verdikt.ledger.log_file.sync_directory", synced.append)
    store = FileStore(tmp_path)
    for session in ("made", "found", "found"):
        (store.reader.ledger / "found.jsonl").touch()
        store.append(session, EntryKind.TOOL_CALL, {})

    assert synced == [store.reader.ledger] * 2


def test_what_waits_is_begun_once_until_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each log by itself; an entry that waits for nobody needs no beginning."""
    begun: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *_: begun.append(fd))
    store = FileStore(tmp_path, group_commit=(later := GroupCommit()))
    store.append("a", EntryKind.GAP, {})
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
