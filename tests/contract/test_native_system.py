"""Wired for everybody: the native client of one user, the warm process of another, and nothing in between."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.contract.hook import Said
from tests.contract.test_daemon_system import ALICE, BOB, SERVICE, Machine, reachable
from tests.contract.warm import bash
from verdikt.hosts.wiring import json_settings, wrapper
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, plan_wiring


class Managed(Machine):
    """A machine whose administrator has wired Claude Code for everybody, with the service's socket."""

    def wire(self) -> str:
        """What is registered to run before a tool."""
        for place in ("etc", "admin"):
            (self.root / place).mkdir()
        here = Installation(
            project=str(self.root / "admin"),
            data_directory=str(self.root / "admin/data"),
            env={"HOME": str(self.root / "admin")},
            socket_path=str(self.socket),
            system_directory=str(self.root / "etc"),
        )
        apply_plan(here, plan_wiring(here, ["claude"], profile="standard", scope="managed", trust=False))
        file = self.root / "etc/claude-code/managed-settings.json"
        return dict(json_settings.find_hook_commands(json.loads(file.read_text())))["PreToolUse"]

    def ask(self, uid: int, registered: str, command: str) -> Said:
        """What the client of a user hears about a command."""
        payload = bash(command, cwd=str(self.home(uid) / "project"))
        return self.run(uid, ["/bin/sh", "-c", registered], payload)


@pytest.fixture
def machine() -> Iterator[Managed]:
    """A machine with two users, who ask by the native client."""
    assert wrapper.load_native_client(), (
        "the native client is not installed: run `pip install -e .` where there is a C compiler"
    )
    with reachable(Managed) as made:
        yield made


def test_a_user_is_answered_by_the_service_and_recorded_where_they_cannot_look(machine: Managed) -> None:
    """Each in a log of their own, under a key that none of them can read."""
    machine.serve(SERVICE)
    registered = machine.wire()

    assert machine.ask(ALICE, registered, "ls") == Said(0, b"{}\n", b"")
    assert machine.ask(BOB, registered, "ls -a") == Said(0, b"{}\n", b"")
    blocked = machine.ask(ALICE, registered, "rm -rf /")
    assert (blocked.code, json.loads(blocked.stdout)["decision"]) == (2, "block")
    assert machine.commands(ALICE) == ["ls", "rm -rf /"]
    assert machine.commands(BOB) == ["ls -a"]
    assert machine.run(ALICE, ["/bin/ls", str(machine.data)]).code != 0
    assert not list(machine.home(ALICE).rglob("*.sock"))


def test_without_the_service_everything_is_blocked_and_nothing_is_started(machine: Managed) -> None:
    """There is nobody else to decide; nor can the user put somebody in its place."""
    machine.serve(SERVICE)
    registered = machine.wire()
    machine.end()
    said = machine.ask(ALICE, registered, "ls")

    assert said.code == 2
    assert "nobody answers at its socket" in json.loads(said.stdout)["reason"]
    assert machine.run(ALICE, ["/bin/rm", "-f", str(machine.socket)]).code != 0
    assert not (machine.home(ALICE) / ".local").exists()


def test_a_socket_in_a_directory_of_somebody_else_is_not_believed(machine: Managed) -> None:
    """Whoever listens must own the place: here the directory has been given to another user."""
    machine.serve(SERVICE)
    registered = machine.wire()
    os.chown(machine.socket.parent, BOB, BOB)

    assert machine.ask(ALICE, registered, "ls").code == 2


def test_what_is_wired_for_everybody_cannot_be_changed_by_them(machine: Managed) -> None:
    """Program, settings and policy."""
    machine.serve(SERVICE)
    machine.wire()
    files = [path for path in (machine.root / "etc").rglob("*") if path.is_file()]

    assert {path.name for path in files} >= {"verdikt-hook", "managed-settings.json", "governance.yaml"}
    for path in files:
        assert machine.run(ALICE, ["/bin/sh", "-c", f"echo x >> '{path}'"]).code != 0
