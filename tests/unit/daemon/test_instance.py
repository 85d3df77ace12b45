"""Where a warm process lives, and its log."""

import os
import socket
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.daemon.client import find_daemon_pid
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import MAX_BYTES, Journal
from verdikt.errors import DaemonError


def test_one_lives_there_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second is told no, until the first leaves."""
    first, second = DaemonInstance(tmp_path / "run"), DaemonInstance(tmp_path / "run")

    assert first.acquire_lock()
    assert not second.acquire_lock()
    assert find_daemon_pid(tmp_path / "run") == os.getpid()
    first.release()
    assert find_daemon_pid(tmp_path / "run") == 0
    assert second.acquire_lock()
    second.release()


def test_it_is_private(tmp_path: Path) -> None:
    """Also when the directory was there before and was not."""
    (tmp_path / "run").mkdir(mode=0o755)
    residence = DaemonInstance(tmp_path / "run")
    assert residence.acquire_lock()
    sock = residence.bind_socket()

    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    assert residence.socket_path.stat().st_mode & 0o777 == 0o600
    assert residence.owns_socket()
    residence.release()
    assert not residence.socket_path.exists()
    sock.close()


def test_a_socket_of_another_is_left_alone(tmp_path: Path) -> None:
    """Leaving takes away only what is one's own."""
    residence = DaemonInstance(tmp_path / "run")
    residence.acquire_lock()
    mine = residence.bind_socket()
    residence.socket_path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(residence.socket_path))
        assert not residence.owns_socket()
        residence.release()
        assert residence.socket_path.exists()
    mine.close()


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """With what is wrong with it."""
    (tmp_path / "run").write_text("a file")

    with pytest.raises(DaemonError, match="cannot use `.*run`"):
        DaemonInstance(tmp_path / "run").acquire_lock()


def test_the_journal_is_bounded(tmp_path: Path) -> None:
    """What is older than its predecessor goes; the last lines are there."""
    journal = Journal(tmp_path / "daemon.log", FakeClock(7.0))
    for number in range(2_000):
        journal.write_line(f"{number} " + "x" * 480)

    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["daemon.log", "daemon.log.1"]
    assert all((tmp_path / name).stat().st_size <= MAX_BYTES + 600 for name in files)
    assert [line.split()[2] for line in journal.read_tail(3)] == ["1997", "1998", "1999"]
    assert journal.read_tail(0) == []


def test_a_journal_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    """Nothing is raised."""
    Journal(tmp_path / "nowhere" / "daemon.log").write_line("x")
