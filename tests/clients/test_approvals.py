"""Approvals through the real clients: asked, approved in the browser, run once, not twice, and not changed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.clients.bench import Bench, Session
from tests.clients.test_governed import read_entries
from tests.unit.web.browser import launch_browser, open_page, run_service
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.ledger.approval_outbox import list_announced
from verdikt.model.entry import EntryKind
from verdikt.serve.embedded import EmbeddedService

CLIENTS = ("claude-2.1.325", "codex-0.166.0")
POLICY = """\
profile: standard
evidence: {mode: "off"}
rules:
  - name: deploy
    command: [./deploy.sh]
    verdict: ask
    reason: deploys to production
    fix: wait
    approval: {by: self}
"""
SCRIPT = '#!/bin/sh\necho "$1" >> deployed.txt\n'
DEPLOY = "./deploy.sh prod"
# The scripted model has no clock of its own: it waits for a file as a person's agent would go on with something else.
WAIT = "i=0; while [ ! -e answered ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done"
WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    with launch_browser() as browser:
        yield browser


def write_script(project: Path) -> None:
    """Write the script that a person has to approve."""
    script = project / "deploy.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    for _ in range(WAIT_SECONDS * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("what was waited for did not come")


def approve_in_browser(browser: Browser, service: EmbeddedService, ask: Callable[[], object]) -> None:
    """Let an agent ask while the page is open, approve by one key, and wait until the answer is in the log."""
    page, complaints = open_page(browser, service)
    page.goto(f"http://127.0.0.1:{service.port}/approvals")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible(timeout=30_000)
    ask()
    wait_for(lambda: list_announced(service.home))
    expect(page.locator(".card.open")).to_contain_text(DEPLOY, timeout=30_000)
    expect(page.locator(".ballot")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible(timeout=30_000)
    page.context.close()
    assert complaints == []
    wait_for(lambda: is_answered(service))


def is_answered(service: EmbeddedService) -> bool:
    """Return whether the machine's log has the answer."""
    return any(
        entry.kind is EntryKind.GRANT and "approval" in entry.body
        for session in service.log.list_sessions()
        for entry in service.log.read_entries(session)
    )


@pytest.mark.parametrize("version", CLIENTS)
def test_an_approved_call_runs_once_not_twice_and_not_changed(
    version: str, create_bench: Callable[[str], Bench], browser: Browser
) -> None:
    """A person approves in the browser while the call waits, and exactly this call runs exactly once."""
    bench = create_bench(version)
    bench.govern(POLICY)
    write_script(bench.project)
    # A hook that finds no warm process does not wait for people.
    assert bench.run_verdikt("daemon", "start").returncode == 0
    sessions: list[Session] = []

    def play() -> None:
        sessions.append(
            bench.play(
                ModelTurn("deploying", (bench.shell(DEPLOY),)),
                ModelTurn("something else", (bench.shell(WAIT),)),
                ModelTurn("another argument", (bench.shell("./deploy.sh stage"),)),
                ModelTurn("again", (bench.shell(DEPLOY),)),
                ModelTurn("twice", (bench.shell(DEPLOY),)),
                ModelTurn("END"),
                ModelTurn("END"),
            )
        )

    client = threading.Thread(target=play)
    try:
        with run_service(bench.data) as service:
            approve_in_browser(browser, service, client.start)
    finally:
        # Only now, without a service: the calls that follow have no answer to wait for.
        (bench.project / "answered").touch()
        client.join()

    (session,) = sessions
    assert (bench.project / "deployed.txt").read_text() == "prod\n", session.run.stderr
    assert session.has_received("waiting for approval")
    assert session.has_received("make exactly this call again")
    assert session.has_received("was used already")
    uses = [entry for entry in read_entries(bench, EntryKind.APPROVAL) if entry.body.get("closed") == "used"]
    assert len(uses) == 1
    assert bench.read_crashes() == []


def test_the_generic_host_waits_and_runs_once(tmp_path: Path, browser: Browser) -> None:
    """A host that only runs a command before each call: refused, approved, allowed once, refused again."""
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    write_script(project)
    policy = home / ".config/verdikt/governance.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(POLICY)

    def call(command: str) -> tuple[int, str]:
        payload = {"tool": "Bash", "input": {"command": command}, "session_id": "s1", "cwd": str(project)}
        completed = subprocess.run(
            [sys.executable, "-m", "verdikt.hosts.hook", "generic", "PreToolUse"],
            input=json.dumps(payload),
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"},
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        return completed.returncode, completed.stdout + completed.stderr

    asked: list[tuple[int, str]] = []
    # The service shows a log, so there has to be one.
    assert call("true")[0] == 0
    with run_service(home / ".local/share/verdikt") as service:
        approve_in_browser(browser, service, lambda: asked.append(call(DEPLOY)))
    assert asked[0][0] == 2, asked
    assert "waiting for approval" in asked[0][1]
    results = [call("./deploy.sh stage"), call(DEPLOY), call(DEPLOY)]

    assert [status for status, _ in results] == [2, 0, 2], results
    assert "was for another call" in results[0][1]
    assert "was used already" in results[2][1]
