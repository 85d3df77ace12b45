"""`verdikt daemon`."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Verdikt
from verdikt.daemon.client import holder


def test_it_is_started_shown_and_stopped(verdikt: Verdikt, run: Path) -> None:
    """And each says what it did, for people and for machines."""
    none = verdikt("daemon", "status")
    started = verdikt("daemon", "start")
    again = verdikt("daemon", "start", "--json")
    shown = verdikt("daemon", "status")
    told = json.loads(verdikt("daemon", "status", "--json").stdout)
    pid = holder(run)
    stopped = verdikt("daemon", "stop")
    gone = verdikt("daemon", "stop", "--json")
    logs = verdikt("daemon", "logs")

    assert (none.returncode, none.stdout) == (3, "not running; the next hook starts it\n")
    assert started.stdout == f"started: process {pid}\n", started.stderr
    assert json.loads(again.stdout)["started"] is False
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"running: process {pid}, version ")
    assert told["running"] is True
    assert {"pid", "uptime_seconds", "version", "calls", "p50_ms", "p99_ms", "policies", "memory_kb"} <= set(told)
    assert stopped.stdout == f"stopped process {pid}\n"
    assert json.loads(gone.stdout) == {"stopped": False, "pid": None}
    assert [line.split()[3:] for line in logs.stdout.splitlines()] == [["started"], ["ended:", "SIGTERM"]]


def test_http_hooks_are_switched_on_by_hand(verdikt: Verdikt, run: Path) -> None:
    """The port and the place of the token are told; a process that runs without one is not replaced silently."""
    started = verdikt("daemon", "start", "--http")
    told = json.loads(verdikt("daemon", "status", "--json").stdout)
    verdikt("daemon", "stop")
    verdikt("daemon", "start")
    refused = verdikt("daemon", "start", "--http", "0")

    assert f"http://127.0.0.1:{told['http']}/hook/<host>/<event>, token in `{run}/http.token`" in started.stdout
    assert refused.returncode == 1
    assert "it runs already, without a port" in refused.stderr


@pytest.mark.parametrize("words", [["--system"], ["--socket", "/x"], ["--system", "--socket", "/x"], ["--allow", "1"]])
def test_a_system_wide_one_needs_its_places(verdikt: Verdikt, words: list[str]) -> None:
    """Nothing is guessed."""
    done = verdikt("daemon", "start", *words)

    assert done.returncode == 2
    assert "expected --system together with --socket and --home" in done.stderr


def test_an_agent_cannot_stop_it(verdikt: Verdikt, run: Path) -> None:
    """It is told to leave that to a person, and nothing happens."""
    verdikt("daemon", "start")
    refused = verdikt("daemon", "stop", CLAUDECODE="1")

    assert refused.returncode == 1
    assert "`verdikt daemon stop` is for operators: this runs inside Claude Code" in refused.stderr
    assert holder(run)


def test_without_a_place_for_data_it_says_what_is_missing(verdikt: Verdikt) -> None:
    """Instead of looking somewhere else."""
    done = verdikt("daemon", "status", HOME="")

    assert done.returncode == 1
    assert "expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none" in done.stderr
