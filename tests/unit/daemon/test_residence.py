"""Where a warm process lives, and its log."""

import os
import socket
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.daemon.client import holder
from verdikt.daemon.journal import MOST_BYTES, Journal
from verdikt.daemon.residence import Residence
from verdikt.errors import DaemonError


def test_one_lives_there_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second is told no, until the first leaves."""
    first, second = Residence(tmp_path / "run"), Residence(tmp_path / "run")

    assert first.take()
    assert not second.take()
    assert holder(tmp_path / "run") == os.getpid()
    first.leave()
    assert holder(tmp_path / "run") == 0
    assert second.take()
    second.leave()


def test_it_is_private(tmp_path: Path) -> None:
    """Also when the directory was there before and was not."""
    (tmp_path / "run").mkdir(mode=0o755)
    residence = Residence(tmp_path / "run")
    assert residence.take()
    sock = residence.listen()

    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    assert residence.socket.stat().st_mode & 0o777 == 0o600
    assert residence.ours()
    residence.leave()
    assert not residence.socket.exists()
    sock.close()


def test_a_socket_of_another_is_left_alone(tmp_path: Path) -> None:
    """Leaving takes away only what is one's own."""
    residence = Residence(tmp_path / "run")
    residence.take()
    mine = residence.listen()
    residence.socket.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(residence.socket))
        assert not residence.ours()
        residence.leave()
        assert residence.socket.exists()
    mine.close()


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """With what is wrong with it."""
    (tmp_path / "run").write_text("a file")

    with pytest.raises(DaemonError, match="cannot use `.*run`"):
        Residence(tmp_path / "run").take()


def test_the_journal_is_bounded(tmp_path: Path) -> None:
    """What is older than its predecessor goes; the last lines are there."""
    journal = Journal(tmp_path / "daemon.log", FakeClock(7.0))
    for number in range(2_000):
        journal.write(f"{number} " + "x" * 480)

    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["daemon.log", "daemon.log.1"]
    assert all((tmp_path / name).stat().st_size <= MOST_BYTES + 600 for name in files)
    assert [line.split()[2] for line in journal.tail(3)] == ["1997", "1998", "1999"]
    assert journal.tail(0) == []


def test_a_journal_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    """Nothing is raised."""
    Journal(tmp_path / "nowhere" / "daemon.log").write("x")
