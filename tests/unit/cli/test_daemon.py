"""`verdikt daemon`."""

import json
from pathlib import Path

import pytest

from tests.contract.warm import eventually
from tests.unit.cli.conftest import Verdikt
from verdikt.daemon.client import find_daemon_pid
from verdikt.hosts.wiring.settings_layout import SETTINGS_LAYOUTS
from verdikt.hosts.wiring.settings_schema import find_schema_error


def test_it_is_started_shown_and_stopped(verdikt: Verdikt, run: Path) -> None:
    """And each says what it did, for people and for machines."""
    none = verdikt("daemon", "status")
    started = verdikt("daemon", "start")
    again = verdikt("daemon", "start", "--json")
    shown = verdikt("daemon", "status")
    told = json.loads(verdikt("daemon", "status", "--json").stdout)
    pid = find_daemon_pid(run)
    stopped = verdikt("daemon", "stop")
    gone = verdikt("daemon", "stop", "--json")
    # It gives its place up first, so that the next hook need not wait for it.
    eventually("its last words are written", lambda: "ended" in verdikt("daemon", "logs").stdout)
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
    assert "the daemon runs already, without a port" in refused.stderr


def test_hooks_that_ask_by_http_are_printed_and_tried(project: Path, verdikt: Verdikt, run: Path) -> None:
    """Ready for the settings file; the doctor sends its canary where they say, with the token that it was given."""
    unheard = verdikt("daemon", "hooks")
    verdikt("daemon", "start", "--http")
    port = json.loads(verdikt("daemon", "status", "--json").stdout)["http"]
    printed = verdikt("daemon", "hooks")
    settings = json.loads(printed.stdout)
    before = settings["hooks"]["PreToolUse"][0]["hooks"][0]
    file = project / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(printed.stdout)
    token = {"VERDIKT_TOKEN": (run / "http.token").read_text().strip()}
    tried = verdikt("doctor", "--json", "--calls", "2", **token)
    stranger = verdikt("doctor", "--calls", "1")
    del before["onFailure"]
    command = json.dumps(settings["hooks"]["SessionStart"][0])
    settings["hooks"]["Stop"].append(json.loads(command.replace("SessionStart", "Stop")))
    file.write_text(json.dumps(settings))
    loose = verdikt("doctor", "--calls", "1", **token)
    verdikt("daemon", "stop")
    closed = verdikt("doctor", "--calls", "1", **token)

    assert unheard.returncode == 1
    assert "the daemon does not listen on a port: run `verdikt daemon start --http 8787`" in unheard.stderr
    assert set(settings["hooks"]) == set(SETTINGS_LAYOUTS["claude"].events)
    assert before["url"] == f"http://127.0.0.1:{port}/hook/claude/PreToolUse"
    assert before["headers"]["X-Verdikt-CLAUDE_PROJECT_DIR"] == str(project)
    assert "onFailure" not in settings["hooks"]["PostToolUse"][0]["hooks"][0]
    assert find_schema_error("claude", settings) == ""
    assert f"VERDIKT_TOKEN=$(cat '{run}/http.token')" in printed.stderr
    assert tried.returncode == 0, tried.stdout
    assert json.loads(tried.stdout)["hosts"][0]["missing"] == []
    assert "expected the token of the warm process" in stranger.stdout
    assert loose.returncode == 1
    assert "the http hook for PreToolUse lets the tool run when nobody listens" in loose.stdout
    assert "a command and an http hook are both called (Stop)" in loose.stdout
    assert (stranger.returncode, closed.returncode) == (1, 1)
    assert "gave no answer, which the client takes for consent" in closed.stdout


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
    assert find_daemon_pid(run)


def test_without_a_place_for_data_it_says_what_is_missing(verdikt: Verdikt) -> None:
    """Instead of looking somewhere else."""
    done = verdikt("daemon", "status", HOME="")

    assert done.returncode == 1
    assert "expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none" in done.stderr
