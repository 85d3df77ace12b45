"""A project whose settings are committed, on the real clients of a colleague."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.table import list_clients
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.wiring.portable_registration import MISSING_TEXT
from verdikt.hosts.wiring.registration import LAUNCHER
from verdikt.model.distribution import INSTALL_COMMAND


def move_to_colleague(bench: Bench) -> None:
    """Give the project to a person whose home has the client's own settings and nothing of verdikt."""
    shutil.rmtree(bench.data)
    assert not list(bench.home.rglob("verdikt*"))


def get_path_without_verdikt() -> str:
    """Return PATH without the directories that hold verdikt's commands."""
    directories = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(place for place in directories if not Path(place, LAUNCHER).exists())


@pytest.mark.parametrize("version", list_clients("forbidden"))
def test_a_colleague_is_told_how_to_install_verdikt_and_then_governed_without_any_setup(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """Without verdikt each call is refused with the line that installs it, and the session can end by itself.

    With verdikt on PATH the first call sets it up for this account; the project's policy counts, because it only
    tightens. It is on PATH from the second turn to the end of the third.
    """
    bench = create_bench(version)
    bench.govern(POLICY)
    move_to_colleague(bench)
    directory = bench.root / "installed"
    directory.mkdir()
    on_path, set_up = directory / LAUNCHER, bench.data / "hooks" / LAUNCHER

    def change_installation(turn: str) -> None:
        if turn == "installed":
            assert not set_up.exists()
            on_path.symlink_to(Path(sys.executable).with_name(LAUNCHER))
        if turn == "END" and on_path.is_symlink():
            on_path.unlink()
            set_up.unlink()

    session = bench.play(
        ModelTurn("not installed", (bench.shell("touch without"),)),
        ModelTurn("installed", (bench.shell(FORBIDDEN),)),
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        ModelTurn("END"),
        ModelTurn("END"),
        env={"PATH": f"{directory}{os.pathsep}{get_path_without_verdikt()}"},
        before_turn=change_installation,
    )

    assert not bench.has_file("without"), session.run.stdout
    assert session.has_received(f"`{INSTALL_COMMAND}`"), session.run.stdout
    assert session.has_received(MISSING_TEXT)
    assert not session.has_received("command -v"), "the model has no use for the line itself"
    assert not bench.has_file("forbidden"), session.run.stdout
    assert bench.has_file("allowed"), session.run.stdout
    assert session.has_received("this file is forbidden")
    assert not on_path.is_symlink(), "the session came to its end, without verdikt again"
    assert session.turn_count == 4
