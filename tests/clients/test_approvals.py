"""Approvals through the real clients: asked, approved in the browser, run once, not twice, and not changed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.bench import Bench, Session
from tests.clients.test_governed import read_entries
from tests.unit.web.browser import launch_browser, open_page, run_service
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.ledger.approvals import list_announced
from verdikt.model.entry import Entry, EntryKind
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


def open_request(browser: Browser, service: EmbeddedService, command: str) -> Page:
    """Wait for a question, and return the page on which it is the open one."""
    wait_for(lambda: list_announced(service.home))
    page, complaints = open_page(browser, service)
    page.goto(f"http://127.0.0.1:{service.port}/approvals")
    expect(page.locator(".card.open")).to_contain_text(command, timeout=30_000)
    expect(page.locator(".ballot")).to_be_visible()
    assert complaints == []
    return page


def approve_in_browser(browser: Browser, service: EmbeddedService, command: str = DEPLOY) -> None:
    """Wait for the question, approve it by one key, and wait until the answer is in the log."""
    page = open_request(browser, service, command)
    page.keyboard.press("a")
    wait_for(lambda: count_entries(service, EntryKind.GRANT))
    page.context.close()


def refuse_in_browser(browser: Browser, service: EmbeddedService, command: str) -> None:
    """Wait for the question, and refuse it with a reason."""
    page = open_request(browser, service, command)
    page.keyboard.press("r")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("not on a Friday")
    page.keyboard.press("Enter")
    wait_for(lambda: count_entries(service, EntryKind.ANSWER))
    page.context.close()


def count_entries(service: EmbeddedService, kind: EntryKind) -> int:
    """Return how many answers the machine's log has."""
    return sum(
        entry.kind is kind and "approval" in entry.body
        for session in service.log.list_sessions()
        for entry in service.log.read_entries(session)
    )


@pytest.mark.parametrize("version", CLIENTS)
def test_an_approved_call_runs_once_not_twice_and_not_changed(
    version: str, create_bench: Callable[[str], Bench], browser: Browser
) -> None:
    """Each call waits: approved it runs, changed it is asked about, repeated it is asked about, and nothing else runs."""
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
                ModelTurn("another argument", (bench.shell("./deploy.sh stage"),)),
                ModelTurn("twice", (bench.shell(DEPLOY),)),
                ModelTurn("END"),
                ModelTurn("END"),
            )
        )

    client = threading.Thread(target=play)
    with run_service(bench.data) as service:
        client.start()
        approve_in_browser(browser, service)
        wait_for(lambda: (bench.project / "deployed.txt").exists())
        refuse_in_browser(browser, service, "./deploy.sh stage")
        wait_for(lambda: len(read_requests(bench)) == 3)
    # Without the service the third call waits no longer.
    client.join()

    (session,) = sessions
    assert (bench.project / "deployed.txt").read_text() == "prod\n", session.run.stderr
    assert session.has_received("not on a Friday")
    assert session.has_received("was used already")
    assert session.has_received("waiting for approval")
    assert session.has_received("make exactly this call again")
    uses = [entry for entry in read_entries(bench, EntryKind.APPROVAL) if entry.body.get("closed") == "used"]
    assert len(uses) == 1
    assert bench.read_crashes() == []


def read_requests(bench: Bench) -> list[Entry]:
    """Return what people were asked."""
    return [entry for entry in read_entries(bench, EntryKind.APPROVAL) if "request" in entry.body]


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

    asked, text = call(DEPLOY)
    assert asked == 2, text
    assert "waiting for approval" in text
    with run_service(home / ".local/share/verdikt") as service:
        approve_in_browser(browser, service)
    results = [call("./deploy.sh stage"), call(DEPLOY), call(DEPLOY)]

    assert [status for status, _ in results] == [2, 0, 2], results
    assert "was for another call" in results[0][1]
    assert "was used already" in results[2][1]
