"""For whom a project is wired, on the real clients: committed settings elsewhere, and settings for one person."""

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
from verdikt.hosts.registry import HOSTS
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
def test_a_colleague_without_verdikt_is_told_how_to_install_it_and_nothing_runs(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """Each call is refused with that line, the agent hears it and the session ends by itself."""
    bench = create_bench(version)
    bench.govern(POLICY)
    move_to_colleague(bench)
    session = bench.play(
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        ModelTurn("END"),
        ModelTurn("END"),
        env={"PATH": get_path_without_verdikt()},
    )

    assert not bench.has_file("allowed"), session.run.stdout
    assert session.has_received(f"`{INSTALL_COMMAND}`"), session.run.stdout
    assert session.has_received(MISSING_TEXT)
    assert not session.has_received("command -v"), "the model has no use for the line itself"


@pytest.mark.parametrize("version", list_clients("forbidden"))
def test_a_colleague_with_verdikt_on_path_is_governed_without_any_setup(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The first call sets verdikt up for this account; the project's policy counts, because it only tightens."""
    bench = create_bench(version)
    bench.govern(POLICY)
    move_to_colleague(bench)
    directory = bench.root / "installed"
    directory.mkdir()
    (directory / LAUNCHER).symlink_to(Path(sys.executable).with_name(LAUNCHER))
    session = bench.play(
        ModelTurn("no", (bench.shell(FORBIDDEN),)),
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        ModelTurn("END"),
        ModelTurn("END"),
        env={"PATH": f"{directory}:{get_path_without_verdikt()}"},
    )

    assert not bench.has_file("forbidden"), session.run.stdout
    assert bench.has_file("allowed"), session.run.stdout
    assert session.has_received("this file is forbidden")
    assert (bench.data / "hooks" / LAUNCHER).exists()


@pytest.mark.parametrize("version", list_clients("forbidden"))
def test_settings_for_one_person_govern_and_leave_nothing_to_commit(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The client reads the file that `--scope local` writes."""
    bench = create_bench(version)
    bench.govern(POLICY, scope="local")
    session = bench.play(
        ModelTurn("no", (bench.shell(FORBIDDEN),)),
        ModelTurn("yes", (bench.shell(ALLOWED),)),
        ModelTurn("END"),
        ModelTurn("END"),
    )

    assert (bench.project / HOSTS[bench.client.name].settings_files["local"]).exists()
    assert not bench.has_file("forbidden"), session.run.stdout
    assert bench.has_file("allowed"), session.run.stdout
