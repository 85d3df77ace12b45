"""When a warm process makes room for another."""

import os
from pathlib import Path

import pytest

from tests.contract.warm import bash
from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.question import Peer, Question
from verdikt.daemon.warm import Warm


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A file of the installed package."""
    file = tmp_path / "__init__.py"
    file.write_text("")
    return file


def ask(warm: Warm, home: Path, version: str = __version__) -> int:
    """The kind of the answer to a question of that version."""
    env = {"HOME": str(home), "VERDIKT_HOME": str(home / "data")}
    peer = Peer(os.geteuid(), os.getegid())
    words = {"host": "claude", "event": "PreToolUse", "argument": "", "cwd": str(home)}
    question = Question(version=version, env=env, payload=bash("ls"), peer=peer, **words)  # type: ignore[arg-type]
    return warm.answer(question).kind


def replaced(package: Path) -> None:
    """As pip does it."""
    fresh = package.with_suffix(".new")
    fresh.write_text("")
    fresh.rename(package)


@pytest.mark.parametrize("upgrade", [replaced, Path.unlink, os.utime], ids=["replaced", "gone", "written"])
def test_an_upgrade_counts_from_the_next_call_on(package: Path, tmp_path: Path, upgrade: object) -> None:
    """Also for a client that was left from before; what is loaded must not decide for what is installed."""
    warm = Warm(tmp_path / "data", package=str(package))
    before = ask(warm, tmp_path)
    upgrade(package)  # type: ignore[operator]
    after = ask(warm, tmp_path)
    warm.close()

    assert (before, after) == (protocol.ANSWER, protocol.AGAIN)


def test_a_client_of_another_version_is_not_answered(package: Path, tmp_path: Path) -> None:
    """It is told to ask a new process."""
    assert ask(Warm(tmp_path / "data", package=str(package)), tmp_path, "0.0.0") == protocol.AGAIN
