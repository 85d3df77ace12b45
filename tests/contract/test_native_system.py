"""Managed wiring: the native client of one user asks the warm process of another."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.contract.hook import HookOutput
from tests.contract.test_daemon_system import ALICE, BOB, SERVICE, Machine, create_machine
from tests.contract.warm import bash
from verdikt.hosts.wiring import json_settings, wrapper
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, plan_wiring

pytestmark = pytest.mark.root


class Managed(Machine):
    """A machine whose administrator has wired Claude Code for all users, with the service's socket."""

    def wire(self) -> str:
        """Wire Claude Code and return the line that is registered for PreToolUse."""
        for place in ("etc", "admin"):
            (self.root / place).mkdir()
        installation = Installation(
            project=str(self.root / "admin"),
            data_directory=str(self.root / "admin/data"),
            env={"HOME": str(self.root / "admin")},
            socket_path=str(self.socket),
            system_directory=str(self.root / "etc"),
        )
        apply_plan(
            installation, plan_wiring(installation, ["claude"], profile="standard", scope="managed", trust=False)
        )
        file = self.root / "etc/claude-code/managed-settings.json"
        return dict(json_settings.find_hook_commands(json.loads(file.read_text())))["PreToolUse"]

    def ask(self, uid: int, registered: str, command: str) -> HookOutput:
        """Run the registered line as a user and return the reply about a command."""
        payload = bash(command, cwd=str(self.home(uid) / "project"))
        return self.run(uid, ["/bin/sh", "-c", registered], payload)


@pytest.fixture
def machine() -> Iterator[Managed]:
    """Return a machine with two users of the native client."""
    assert wrapper.load_native_client(), (
        "the native client is not installed: run `pip install -e .` where there is a C compiler"
    )
    with create_machine(Managed) as created:
        yield created


def test_user_is_answered_and_recorded_by_the_service(machine: Managed) -> None:
    """Each user has a log of their own, under a key that none of them can read."""
    machine.serve(SERVICE)
    registered = machine.wire()

    assert machine.ask(ALICE, registered, "ls") == HookOutput(0, b"{}\n", b"")
    assert machine.ask(BOB, registered, "ls -a") == HookOutput(0, b"{}\n", b"")
    blocked = machine.ask(ALICE, registered, "rm -rf /")
    assert (blocked.code, json.loads(blocked.stdout)["decision"]) == (2, "block")
    assert machine.commands(ALICE) == ["ls", "rm -rf /"]
    assert machine.commands(BOB) == ["ls -a"]
    assert machine.run(ALICE, ["/bin/ls", str(machine.data)]).code != 0
    assert not list(machine.home(ALICE).rglob("*.sock"))


def test_call_is_blocked_when_the_service_is_down(machine: Managed) -> None:
    """Without the service every call is a block, and a user cannot replace the socket."""
    machine.serve(SERVICE)
    registered = machine.wire()
    machine.end()
    reply = machine.ask(ALICE, registered, "ls")

    assert reply.code == 2
    assert "no process answers at its socket" in json.loads(reply.stdout)["reason"]
    assert machine.run(ALICE, ["/bin/rm", "-f", str(machine.socket)]).code != 0
    assert not (machine.home(ALICE) / ".local").exists()


def test_socket_in_a_directory_of_another_user_is_not_trusted(machine: Managed) -> None:
    """A service that does not own the socket's directory is not trusted."""
    machine.serve(SERVICE)
    registered = machine.wire()
    os.chown(machine.socket.parent, BOB, BOB)

    assert machine.ask(ALICE, registered, "ls").code == 2


def test_managed_files_cannot_be_changed_by_users(machine: Managed) -> None:
    """Users cannot write the program, the settings or the policy."""
    machine.serve(SERVICE)
    machine.wire()
    files = [path for path in (machine.root / "etc").rglob("*") if path.is_file()]

    assert {path.name for path in files} >= {"verdikt-hook", "managed-settings.json", "governance.yaml"}
    for path in files:
        assert machine.run(ALICE, ["/bin/sh", "-c", f"echo x >> '{path}'"]).code != 0
