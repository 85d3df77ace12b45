"""Adverse conditions, each really produced: a full disk, a read-only directory, a kill, a newer log."""

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger.audit import audit
from verdikt.ledger.files import FileStore
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projections import Projection
from verdikt.model.entry import Entry, EntryKind, seal_entry

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, PRIVATE = 0x00020000, (1 << 18) | (1 << 14)
UNPRIVILEGED_ID = 65534


def open_store(home: Path, *, durable: bool = True) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(), (COUNT,), durable=durable))


def run_in_child(work: Callable[[], None]) -> None:
    """Run work in a child process, whose mounts, limits and user may change; fail when it fails."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            work()
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-60_000:])
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        trouble = pipe.read().decode()
    os.waitpid(pid, 0)
    assert not trouble, trouble


def mount_small_disk(directory: Path, kilobytes: int) -> bool:
    """Mount a disk of that size, visible to this process only; return False where that is not permitted."""
    if os.geteuid() != 0:
        # In a user namespace without a mapping every new file fails with EOVERFLOW, so a limit stands in for the disk.
        return False
    if LIBC.unshare(NEW_MOUNTS) != 0 or LIBC.mount(None, b"/", None, PRIVATE, None) != 0:
        return False
    options = f"size={kilobytes}k,mode=777".encode()
    return bool(LIBC.mount(b"tmpfs", str(directory).encode(), b"tmpfs", 0, options) == 0)


def exhaust_space(directory: Path) -> Path:
    """Fill the small disk; return the file to remove to make room again."""
    ballast = directory / "ballast"
    with open(ballast, "wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    return ballast


@pytest.mark.root
@pytest.mark.parametrize("durable", [True, False])
def test_append_on_a_full_disk_raises_and_loses_nothing(tmp_path: Path, durable: bool) -> None:
    """Acknowledged entries stay, the error names the file and the remedy, and with room appending works again."""

    def work() -> None:
        # A limit on file sizes cannot stand in for the disk: SQLite's files would meet it before the log does.
        assert mount_small_disk(tmp_path, 512)
        home = tmp_path / "home"
        store = open_store(home, durable=durable)
        acknowledged = [store.append("s", "tool_call", {"at": at, "fill": "x" * 300}).hash for at in range(20)]
        ballast = exhaust_space(tmp_path)
        message = ""
        for at in range(1000):
            try:
                acknowledged.append(store.append("s", "tool_call", {"at": at, "fill": "x" * 3000}).hash)
            except LedgerError as error:
                message = str(error)
                break
        assert "free some space" in message, message
        assert str(home) in message, message
        with pytest.raises(LedgerError):
            store.append("s", "tool_call", {}, artifacts={"out": b"x" * 600_000})
        stored = {entry.hash for entry in open_store(home).read_entries("s")}
        assert set(acknowledged) <= stored
        ballast.unlink()
        store.append("s", "tool_call", {"at": "with room"})
        assert [f for f in audit(home).findings if not f.is_note] == []
        assert store.read_projection("count", "s") == len(list(store.read_entries("s")))

    run_in_child(work)


def test_disk_that_fills_within_a_line_leaves_no_partial_entry(tmp_path: Path) -> None:
    """An entry is written completely or not at all."""

    def work() -> None:
        home = tmp_path / "home"
        open_store(home).append("s", "tool_call", {"at": 0})
        size = (home / "ledger" / "s.jsonl").stat().st_size
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = open_store(home)
        store.read_projection("count", "s")
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        with pytest.raises(LedgerError, match=r"s\.jsonl`: File too large; free some space and try again"):
            store.append("s", "tool_call", {"fill": "x" * 300_000})
        assert (home / "ledger" / "s.jsonl").stat().st_size == size
        assert store.append("s", "tool_call", {"at": 1}).seq == 2
        assert audit(home).findings == []

    run_in_child(work)


def drop_privileges(home: Path) -> None:
    """Stop being root, because permissions do not bind it."""
    if os.geteuid() == 0:
        for path in [home, *home.rglob("*")]:
            os.chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        for parent in home.parents:
            if parent.stat().st_mode & 0o001 == 0:
                parent.chmod(parent.stat().st_mode | 0o011)
        os.setgid(UNPRIVILEGED_ID)
        os.setuid(UNPRIVILEGED_ID)


def test_append_without_write_permission_names_the_file(tmp_path: Path) -> None:
    """The error names the file; reading and verifying still work."""
    home = tmp_path / "home"
    store = open_store(home)
    store.append("s", "posture", {})
    store.close()

    def work() -> None:
        drop_privileges(home)
        for path in [*home.rglob("*"), home]:
            path.chmod(0o500 if path.is_dir() else 0o400)
        for session in ("s", "t"):
            with pytest.raises(LedgerError, match="make it writable"):
                open_store(home).append(session, "tool_call", {})
        assert len(list(open_store(home).read_entries("s"))) == 1
        with pytest.raises(LedgerError, match=f"cannot make `{home}/sub`: Permission denied; make it writable"):
            open_store(home / "sub")

    run_in_child(work)


def test_append_on_a_read_only_disk_raises_and_loses_nothing(tmp_path: Path) -> None:
    """The error names the file, and nothing is lost; without mounts, permissions are used instead."""

    def work() -> None:
        mounted = mount_small_disk(tmp_path, 4096)
        home = tmp_path / "home"
        store = open_store(home)
        store.append("s", "tool_call", {})
        store.close()
        if mounted:
            assert LIBC.mount(None, str(tmp_path).encode(), None, 32 | 1, None) == 0  # remount, read-only
        else:
            drop_privileges(home)
            for path in [*home.rglob("*"), home]:
                path.chmod(0o500 if path.is_dir() else 0o400)
        with pytest.raises(LedgerError, match="make it writable"):
            store.append("s", "tool_call", {})
        with pytest.raises(LedgerError, match="make it writable"):
            open_store(home).append("t", "tool_call", {})
        assert len(list(open_store(home).read_entries("s"))) == 1
        assert audit(home).is_intact

    run_in_child(work)


def test_signing_with_a_key_of_another_user_raises(tmp_path: Path) -> None:
    """The log goes on without signatures: the signer may be another user on purpose."""
    home = tmp_path / "home"
    kid = open_store(home).keyring.create_first_key().kid

    def work() -> None:
        drop_privileges(home)
        (home / "keys" / f"{kid}.key").chmod(0)
        store = open_store(home)
        assert store.append("s", "tool_call", {}).seq == 1
        with pytest.raises(
            LedgerError, match=rf"cannot read `.*{kid}\.key`: Permission denied; sign as the user who owns it"
        ):
            store.append("s", "validator_pass", {})
        assert Keyring(home / "keys").list_keys()[0].kid == kid

    run_in_child(work)


def test_append_to_a_log_of_a_newer_version_raises(tmp_path: Path) -> None:
    """A log that this version cannot read is neither read nor continued."""
    store = open_store(tmp_path, durable=False)
    entry = store.append("s", "tool_call", {})
    newer = Entry(seq=2, ts=entry.ts, session="s", kind=EntryKind.TOOL_CALL, prev=entry.hash, v=3)
    path = tmp_path / "ledger" / "s.jsonl"
    path.write_bytes(path.read_bytes() + seal_entry(newer)[1])

    with pytest.raises(
        LedgerError, match=r"cannot append to `.*s\.jsonl`: expected an entry of version 1 or 2, found version `3`"
    ):
        open_store(tmp_path, durable=False).append("s", "tool_call", {})
    with pytest.raises(LedgerError, match="upgrade to read it"):
        list(store.read_entries("s"))


def test_database_of_a_newer_version_is_left_unchanged(tmp_path: Path) -> None:
    """The error says to upgrade."""
    import sqlite3

    open_store(tmp_path, durable=False).append("s", "tool_call", {})
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(LedgerError, match=r"state\.db` was written by a newer verdikt \(version 99\): upgrade"):
        open_store(tmp_path, durable=False).append("s", "tool_call", {})


WRITER = """
import sys
from pathlib import Path
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import Projection
count = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
store = FileStore(Path(sys.argv[1]), projections=(count,), checkpoint_every=7)
while True:
    entry = store.append("s", "tool_call", {"fill": "x" * 2000}, artifacts={"out": b"y" * 100})
    sys.stdout.write(f"{entry.seq} {entry.hash}\\n")
    sys.stdout.flush()
"""


def test_killed_writers_lose_no_acknowledged_entry(tmp_path: Path) -> None:
    """Two writers are killed again and again; every acknowledged entry is there."""
    acknowledged: dict[int, str] = {}
    for round_ in range(6):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(3 + 5 * round_):
                writer.stdout.readline()
            writer.kill()
        for writer in writers:
            assert writer.stdout is not None
            for line in writer.stdout.read().splitlines():
                seq, _, hash = line.partition(" ")
                if len(hash) == 64:
                    acknowledged[int(seq)] = hash
            writer.wait()

    store = open_store(tmp_path)
    store.append("s", "tool_call", {})
    stored = {entry.seq: entry.hash for entry in store.read_entries("s")}
    assert len(acknowledged) > 0
    assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged
    assert [fault for fault in audit(tmp_path).findings if not fault.is_note] == []
    assert store.read_projection("count", "s") == len(stored)


def test_data_directory_that_is_a_file_raises(tmp_path: Path) -> None:
    """The error names the path."""
    (tmp_path / "file").write_text("")

    with pytest.raises(LedgerError, match=r"cannot make `.*file`: (Not a directory|File exists)"):
        open_store(tmp_path / "file")


def test_data_directory_comes_from_the_environment() -> None:
    """VERDIKT_HOME comes before XDG_DATA_HOME, and that before HOME; without any it is an error."""
    from verdikt.ledger.data_directory import get_data_directory

    assert get_data_directory({"VERDIKT_HOME": "/v", "XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/v")
    assert get_data_directory({"XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/x/verdikt")
    assert get_data_directory({"HOME": "/h"}) == Path("/h/.local/share/verdikt")
    with pytest.raises(LedgerError, match="set VERDIKT_HOME"):
        get_data_directory({})


def test_copied_data_directory_works_elsewhere(tmp_path: Path) -> None:
    """Nothing in the data directory depends on its path."""
    store = open_store(tmp_path / "a", durable=False)
    store.append("s", "tool_call", {}, artifacts={"out": json.dumps({}).encode()})
    store.close()
    shutil.move(tmp_path / "a", tmp_path / "b")

    assert open_store(tmp_path / "b").append("s", "tool_call", {}).seq == 2
    assert audit(tmp_path / "b").is_intact
