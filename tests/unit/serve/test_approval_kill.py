"""Approvals with real processes that are killed: service, sender and hook. A yes is used at most once."""

import json
import random
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.asking_machine import build_asking_policy
from tests.fakes import FakeClock
from tests.team_load import Replica
from tests.unit.web.browser import ensure_vendor_files
from verdikt.ledger.approvals import record_approval
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import APPROVALS, load_projections
from verdikt.model.entry import EntryKind
from verdikt.observe.clock import SystemClock
from verdikt.serve.machines import Machines
from verdikt.serve.people import People
from verdikt.serve.store import TeamStore

POLICY = build_asking_policy(
    "profile: standard", 'evidence: {mode: "off"}', deploy="{by: {group: release}, expires: 4h, valid: 30m}"
)
WAIT_SECONDS = 120


class Machine:
    """A machine whose hook and sender are processes of their own."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.data = self.home / ".local/share/verdikt"
        self.project.mkdir()
        (self.project / "deploy.sh").write_text("#!/bin/sh\n")
        policy = self.home / ".config/verdikt/governance.yaml"
        policy.parent.mkdir(parents=True)
        policy.write_text(POLICY)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start a program of verdikt."""
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = [sys.executable, "-m", *arguments]
        return subprocess.Popen(command, env=environment, cwd=self.project, text=True, **pipes, **options)

    @property
    def payload(self) -> str:
        """What the host sends about the call."""
        call = {"tool": "Bash", "input": {"command": "./deploy.sh"}, "session_id": "s1", "cwd": str(self.project)}
        return json.dumps(call)

    def start_hook(self) -> subprocess.Popen[str]:
        """Start a hook, which reads the call from its input."""
        return self.start("verdikt.hosts.hook", "generic", "PreToolUse")

    def call(self, kill_after: float | None = None) -> int:
        """Let the host ask about the call; return the hook's status, negative when it was killed before."""
        process = self.start_hook()
        try:
            process.communicate(self.payload, timeout=kill_after or WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode

    def ship_until(self, condition: Callable[[], object]) -> None:
        """Let the sender run until a condition holds, and kill it there."""
        sender = self.start("verdikt", "ship", "run")
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while not condition():
                assert time.monotonic() < deadline
                assert sender.poll() is None, sender.communicate()
                time.sleep(0.02)
        finally:
            sender.kill()
            sender.communicate()

    def count_entries(self, kind: EntryKind, field: str) -> int:
        """Return how many entries of the session have a field."""
        with FileStore(self.data, FakeClock(), load_projections()) as store:
            return sum(entry.kind is kind and field in entry.body for entry in store.read_entries("s1"))


class Voter:
    """A person of the group, at a replica."""

    def __init__(self, replica: Replica, link: str) -> None:
        self._origin = f"http://127.0.0.1:{replica.port}"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self._call("/v1/sign-in", {"code": link})

    def _call(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Origin": self._origin, "X-Verdikt": "1", "Content-Type": "application/json"}
        with self._opener.open(urllib.request.Request(self._origin + path, data, headers), timeout=30) as response:
            return json.loads(response.read())

    def list_waiting(self) -> list[dict[str, Any]]:
        """Return the questions."""
        waiting: list[dict[str, Any]] = self._call("/v1/approvals")["approvals"]
        return waiting

    def approve(self, question: dict[str, Any]) -> None:
        """Say yes."""
        self._call(f"/v1/approvals/{question['id']}/votes", {"approved": True, "digest": question["digest"]})


def test_of_processes_that_use_a_yes_at_once_one_runs(tmp_path: Path) -> None:
    """The use is an entry under the lock of the session, which processes share."""
    machine = Machine(tmp_path)
    (machine.data / "ship").mkdir(parents=True)
    (machine.data / "ship" / "config.json").write_text('{"url": "https://verdikt.example", "machine": 7}')
    assert machine.call() == 2
    with FileStore(machine.data, SystemClock(), load_projections()) as store:
        ((id, request),) = store.read_projection(APPROVALS.name, "s1").items()
        until = time.time() + 600
        record_approval(store, "s1", id, digest=request["digest"], approved=True, by=["Ben"], until=until)
    hooks = [machine.start_hook() for _ in range(6)]
    for hook in hooks:
        assert hook.stdin is not None
        hook.stdin.write(machine.payload)
        hook.stdin.close()
    statuses = [hook.wait(WAIT_SECONDS) for hook in hooks]
    for hook in hooks:
        assert hook.stdout is not None
        hook.stdout.close()

    assert sorted(statuses) == [0, 2, 2, 2, 2, 2]
    assert machine.count_entries(EntryKind.APPROVAL, "closed") == 1


def test_a_yes_outlives_kills_of_service_sender_and_hook_and_is_used_at_most_once(tmp_path: Path) -> None:
    """Sender killed after the question, service after the vote, sender after the grant, hooks at any moment."""
    ensure_vendor_files()
    database, machine = f"sqlite:///{tmp_path / 'team.db'}", Machine(tmp_path)
    with TeamStore(database, create=True) as store:
        organisation = store.ensure_organisation("default", 1)
        people, now = People(store.database), time.time()
        code = Machines(store.database).create_code(organisation, 1, 600, now)
        person = people.ensure_person(organisation, "ben", "Ben", frozenset({"approver"}), groups=["release"])
        link = people.create_link(person, now)
    replica = Replica(database)
    replica.start()
    try:
        url = f"http://127.0.0.1:{replica.port}"
        enrolled = machine.start("verdikt", "ship", "enrol", url, "--code", code)
        assert enrolled.communicate(timeout=WAIT_SECONDS)[0].startswith("enrolled"), enrolled.returncode
        voter = Voter(replica, link)
        assert machine.call() == 2
        machine.ship_until(voter.list_waiting)
        # The machine is offline now, and the service dies as soon as the vote is stored.
        voter.approve(voter.list_waiting()[0])
        replica.kill()
        replica.start()
        machine.ship_until(lambda: machine.count_entries(EntryKind.GRANT, "approval"))
    finally:
        with suppress(ProcessLookupError):
            replica.kill()
    chance = random.Random(7)
    statuses = [machine.call(kill_after=chance.uniform(0.05, 0.5)) for _ in range(3)]
    statuses += [machine.call(), machine.call()]

    assert machine.count_entries(EntryKind.APPROVAL, "closed") == 1
    assert statuses.count(0) <= 1, "allowed once, or never when the hook that used it was killed"
    assert statuses[-1] == 2
