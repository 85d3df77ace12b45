"""The canary through the socket of the warm process, with a real one and with programs in its place."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.hook import HookOutput
from tests.contract.native import FakeWarm, client, create_short_directory
from tests.contract.warm import WarmProcess, remove
from verdikt.daemon import protocol
from verdikt.daemon.native import build
from verdikt.daemon.proof import create_secret, read_secret
from verdikt.daemon.protocol import CHECKED_EVENTS
from verdikt.hosts.daemon_canary import find_daemon_fault
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.registry import HOSTS
from verdikt.ledger.files import FileStore
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import CANARY_SESSION


def run_hook(data: Path, event: str, payload: dict[str, object], cwd: Path) -> HookOutput:
    """Run the hook process as a host does."""
    command = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "claude", event]
    env = {"VERDIKT_HOME": str(data), "HOME": str(cwd), "PATH": os.environ["PATH"], "VERDIKT_DAEMON_IDLE": "1"}
    completed = subprocess.run(
        command, input=json.dumps(payload).encode(), capture_output=True, env=env, cwd=cwd, check=False
    )
    return HookOutput(completed.returncode, completed.stdout, completed.stderr)


def read_log(data: Path, session: str) -> list[tuple[EntryKind, dict[str, object]]]:
    """Return kind and body of a session's entries."""
    with FileStore(data) as store:
        return [(entry.kind, dict(entry.body)) for entry in store.read_entries(session)]


def test_canary_passes_through_the_real_warm_process(warm: WarmProcess) -> None:
    """Its block is in the log, and the warm process stays."""
    assert find_daemon_fault(str(warm.home), warm.env) == ""

    ((kind, body),) = read_log(warm.data, CANARY_SESSION)
    assert kind is EntryKind.DECISION
    assert body["receipt"]["verdict"]["kind"] == "block"  # type: ignore[index]
    assert read_secret(warm.run)
    assert warm.reachable()


@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_start_and_stop_of_a_session_fire_the_canary(warm: WarmProcess, event: str) -> None:
    """The event itself is then answered by the warm process."""
    calls = warm.status()["calls"]
    said = run_hook(warm.data, event, {"hook_event_name": event, "session_id": "s", "cwd": str(warm.home)}, warm.home)

    assert said.code == 0
    assert len(read_log(warm.data, CANARY_SESSION)) == 1
    assert warm.status()["calls"] >= calls + 2


BLOCK = b'{"decision":"block","reason":"no"}\n'

FAKES = {
    "consents": (0, b"{}\n", b"", "the warm process let the canary through, which every policy forbids"),
    "blocks": (2, BLOCK, b"no\n", "the warm process answered the canary, and its decision is not in the log"),
}


@pytest.fixture
def data() -> Iterator[Path]:
    """Yield a data directory with a short path."""
    root = create_short_directory()
    yield root
    remove(root)


@pytest.mark.parametrize("case", FAKES)
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_fake_that_knows_the_secret_is_reported_and_routed_around(data: Path, case: str, event: str) -> None:
    """Its answer to the canary contradicts the log, so the hook decides, and the next one finds no socket."""
    status, out, err, fault = FAKES[case]

    def behave(connection: socket.socket) -> None:
        fake.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, status, out, err))

    with FakeWarm(data, behave) as fake:
        said = run_hook(data, event, {"hook_event_name": event, "session_id": "s", "cwd": str(data)}, data)

    assert len(fake.requests) == 1
    assert fault in said.stdout.decode()
    assert not (data / "run/daemon.secret").exists()
    faults = [body["integrity"] for kind, body in read_log(data, "s") if kind is EntryKind.GAP]
    assert [fault] in faults
    assert fault in (data / "_hook_crashes.jsonl").read_text()


def test_fake_without_the_secret_is_reported_by_the_hook_process(data: Path) -> None:
    """The reply to an action is not used; the hook decides and records why."""

    def behave(connection: socket.socket) -> None:
        fake.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n"))

    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(data),
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
    (data / "run").mkdir(mode=0o700)
    create_secret(data / "run")
    with FakeWarm(data, behave, knows_secret=False) as fake:
        said = run_hook(data, "PreToolUse", payload, data)

    assert said.code == 2
    assert "a program that is not the warm process answered at its socket" in (data / "_hook_crashes.jsonl").read_text()


def test_replayed_canary_of_another_call_is_no_record(data: Path) -> None:
    """The log must hold the decision about this very canary."""

    def behave(connection: socket.socket) -> None:
        request = fake.ask(connection)
        assert b"touch" in request
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, 2, BLOCK, b"no\n"))

    with FileStore(data) as store:
        store.append(CANARY_SESSION, "decision", {"call_id": "old", "receipt": {"verdict": {"kind": "block"}}})
    env = {"VERDIKT_HOME": str(data), "HOME": str(data)}
    with FakeWarm(data, behave) as fake:
        assert "is not in the log" in find_daemon_fault(str(data), env)


def test_without_a_warm_process_there_is_no_fault(tmp_path: Path) -> None:
    """The hook then decides by itself."""
    assert find_daemon_fault(str(tmp_path), {"VERDIKT_HOME": str(tmp_path)}) == ""
    assert find_daemon_fault(str(tmp_path), {}) == ""
    (tmp_path / "run").mkdir(mode=0o700)
    create_secret(tmp_path / "run")
    assert find_daemon_fault(str(tmp_path), {"VERDIKT_HOME": str(tmp_path)}) == ""


def test_both_clients_have_the_same_list_of_checked_events() -> None:
    """And it is the start and the stop of every host's main agent."""
    source = build.SOURCE.read_text()
    listed = re.search(r"CHECKED_EVENTS\[\] = \{([^}]*)\}", source)
    kinds = (HookEventKind.START, HookEventKind.STOP)
    wired = {
        event
        for host in HOSTS.values()
        for event in host.wired_events
        if host.events.get(event) in kinds and not event.lower().startswith("subagent")
    }

    assert listed
    assert tuple(re.findall(r'"(\w+)"', listed[1])) == CHECKED_EVENTS
    assert wired == set(CHECKED_EVENTS)


def test_native_client_leaves_checked_events_to_the_hook(data: Path) -> None:
    """The warm process is asked by the hook, after the canary."""

    def behave(connection: socket.socket) -> None:
        fake.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n"))

    hooks = data / "hooks"
    hooks.mkdir()
    program = hooks / "verdikt-hook"
    program.write_bytes(client().read_bytes())
    program.chmod(0o755)
    (hooks / "guard.sh").write_bytes((client().parent / "guard.sh").read_bytes())
    (hooks / "guard.sh").chmod(0o755)
    env = {"VERDIKT_HOME": str(data), "HOME": str(data), "PATH": os.environ["PATH"]}
    with FakeWarm(data, behave) as fake:
        for event, count in (("PreToolUse", 1), ("Stop", 1), ("SessionStart", 1)):
            line = [program, "20", "open", "/bin/echo", "{}", "verdikt.hosts.hook", "claude", event]
            completed = subprocess.run(line, input=b"{}", capture_output=True, env=env, check=False)
            assert completed.returncode == 0
            assert len(fake.requests) == count
