"""The lock and the socket of the warm process, and its journal."""

import os
import socket
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.daemon.client import find_daemon_pid
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import MAX_BYTES, Journal
from verdikt.errors import DaemonError


def test_lock_is_held_by_one_instance_at_a_time(tmp_path: Path) -> None:
    """A second instance gets the lock only after the first has released it."""
    first, second = DaemonInstance(tmp_path / "run"), DaemonInstance(tmp_path / "run")

    assert first.acquire_lock()
    assert not second.acquire_lock()
    assert find_daemon_pid(tmp_path / "run") == os.getpid()
    first.release()
    assert find_daemon_pid(tmp_path / "run") == 0
    assert second.acquire_lock()
    second.release()


def test_run_directory_and_socket_are_private(tmp_path: Path) -> None:
    """The run directory and the socket are closed to others, also when the directory existed and was not."""
    (tmp_path / "run").mkdir(mode=0o755)
    instance = DaemonInstance(tmp_path / "run")
    assert instance.acquire_lock()
    sock = instance.bind_socket()

    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    assert instance.socket_path.stat().st_mode & 0o777 == 0o600
    assert instance.owns_socket()
    instance.release()
    assert not instance.socket_path.exists()
    sock.close()


def test_release_keeps_a_socket_of_another_process(tmp_path: Path) -> None:
    """Releasing removes only the socket that this instance has bound."""
    instance = DaemonInstance(tmp_path / "run")
    instance.acquire_lock()
    mine = instance.bind_socket()
    instance.socket_path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(instance.socket_path))
        assert not instance.owns_socket()
        instance.release()
        assert instance.socket_path.exists()
    mine.close()


def test_acquire_lock_names_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    """The error names the directory that cannot be used."""
    (tmp_path / "run").write_text("a file")

    with pytest.raises(DaemonError, match="cannot use `.*run`"):
        DaemonInstance(tmp_path / "run").acquire_lock()


def test_journal_keeps_the_last_lines_and_is_bounded(tmp_path: Path) -> None:
    """The journal keeps one older file, both are bounded, and the last lines are there."""
    journal = Journal(tmp_path / "daemon.log", FakeClock(7.0))
    for number in range(2_000):
        journal.write_line(f"{number} " + "x" * 480)

    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["daemon.log", "daemon.log.1"]
    assert all((tmp_path / name).stat().st_size <= MAX_BYTES + 600 for name in files)
    assert [line.split()[2] for line in journal.read_tail(3)] == ["1997", "1998", "1999"]
    assert journal.read_tail(0) == []


def test_line_is_dropped_when_the_journal_cannot_be_written(tmp_path: Path) -> None:
    """A journal without a directory drops its lines and creates nothing."""
    journal = Journal(tmp_path / "nowhere" / "daemon.log")
    journal.write_line("x")

    assert journal.read_tail(10) == []
    assert not (tmp_path / "nowhere").exists()
