"""`verdikt daemon`."""

import json
from pathlib import Path

import pytest

from tests.contract.warm import wait_until
from tests.unit.cli.conftest import Verdikt
from verdikt.daemon.client import find_daemon_pid
from verdikt.hosts.registry import HOSTS, load_wiring
from verdikt.hosts.wiring.settings_schema import find_schema_error


def test_start_status_and_stop_report_the_daemon(verdikt: Verdikt, run: Path) -> None:
    """Each command says what it did, as text and as JSON."""
    absent = verdikt("daemon", "status")
    started = verdikt("daemon", "start")
    again = verdikt("daemon", "start", "--json")
    shown = verdikt("daemon", "status")
    status = json.loads(verdikt("daemon", "status", "--json").stdout)
    pid = find_daemon_pid(run)
    stopped = verdikt("daemon", "stop")
    gone = verdikt("daemon", "stop", "--json")
    # It gives its place up first, so that the next hook need not wait for it.
    wait_until("its last words are written", lambda: "ended" in verdikt("daemon", "logs").stdout)
    logs = verdikt("daemon", "logs")

    assert (absent.returncode, absent.stdout) == (3, "not running; the next hook starts it\n")
    assert started.stdout == f"started: process {pid}\n", started.stderr
    assert json.loads(again.stdout)["started"] is False
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"running: process {pid}, version ")
    assert status["running"] is True
    assert {"pid", "uptime_seconds", "version", "calls", "p50_ms", "p99_ms", "policies", "memory_kb"} <= set(status)
    assert stopped.stdout == f"stopped process {pid}\n"
    assert json.loads(gone.stdout) == {"stopped": False, "pid": None}
    assert [line.split()[3:] for line in logs.stdout.splitlines()] == [["started"], ["ended:", "SIGTERM"]]


def test_start_with_http_prints_port_and_token_file(verdikt: Verdikt, run: Path) -> None:
    """The port and the token file are printed; a daemon without a port is not replaced silently."""
    started = verdikt("daemon", "start", "--http")
    status = json.loads(verdikt("daemon", "status", "--json").stdout)
    verdikt("daemon", "stop")
    verdikt("daemon", "start")
    refused = verdikt("daemon", "start", "--http", "0")

    assert f"http://127.0.0.1:{status['http']}/hook/<host>/<event>, token in `{run}/http.token`" in started.stdout
    assert refused.returncode == 1
    assert "the daemon runs already, without a port" in refused.stderr


def test_http_hooks_are_printed_and_verified_by_doctor(project: Path, verdikt: Verdikt, run: Path) -> None:
    """The printed settings are valid, and doctor sends its canary to them with the token."""
    without_daemon = verdikt("daemon", "hooks")
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
    loose = verdikt("doctor", "--calls", "1", "--limits", **token)
    verdikt("daemon", "stop")
    closed = verdikt("doctor", "--calls", "1", **token)

    assert without_daemon.returncode == 1
    assert "the daemon does not listen on a port: run `verdikt daemon start --http 8787`" in without_daemon.stderr
    assert set(settings["hooks"]) == set(HOSTS["claude"].wired_events)
    assert before["url"] == f"http://127.0.0.1:{port}/hook/claude/PreToolUse"
    assert before["headers"]["X-Verdikt-CLAUDE_PROJECT_DIR"] == str(project)
    assert "onFailure" not in settings["hooks"]["PostToolUse"][0]["hooks"][0]
    assert find_schema_error(load_wiring("claude").schema, HOSTS["claude"].events, settings) == ""
    assert f"VERDIKT_TOKEN=$(cat '{run}/http.token')" in printed.stderr
    assert tried.returncode == 0, tried.stdout
    assert json.loads(tried.stdout)["hosts"][0]["missing"] == []
    assert "expected the token of the warm process" in stranger.stdout
    assert loose.returncode == 1
    assert "the http hook for PreToolUse lets the tool run when nothing listens" in loose.stdout
    assert "a command and an http hook are both called (Stop)" in loose.stdout
    assert (stranger.returncode, closed.returncode) == (1, 1)
    assert "gave no answer, which the client takes for consent" in closed.stdout


@pytest.mark.parametrize("words", [["--system"], ["--socket", "/x"], ["--system", "--socket", "/x"], ["--allow", "1"]])
def test_system_daemon_without_socket_and_home_is_refused(verdikt: Verdikt, words: list[str]) -> None:
    """A system-wide daemon needs --socket and --home."""
    done = verdikt("daemon", "start", *words)

    assert done.returncode == 2
    assert "expected --system together with --socket and --home" in done.stderr


def test_stop_inside_an_agent_is_refused(verdikt: Verdikt, run: Path) -> None:
    """An agent cannot stop the daemon."""
    verdikt("daemon", "start")
    refused = verdikt("daemon", "stop", CLAUDECODE="1")

    assert refused.returncode == 1
    assert "`verdikt daemon stop` is for operators: this runs inside Claude Code" in refused.stderr
    assert find_daemon_pid(run)


def test_status_without_home_says_what_is_missing(verdikt: Verdikt) -> None:
    """Without a data directory the command says which variable is missing."""
    done = verdikt("daemon", "status", HOME="")

    assert done.returncode == 1
    assert "expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none" in done.stderr
