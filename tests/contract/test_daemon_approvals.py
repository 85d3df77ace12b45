"""Calls that wait for people in a real warm process: answered, refused, given up; no failure lets one through."""

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract import native
from tests.contract.hook import HookOutput
from tests.contract.warm import PATIENCE_SECONDS, WarmProcess, bash, remove, wait_until
from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.ledger.approval_outbox import list_announced, mark_submitted
from verdikt.ledger.approvals import record_approval
from verdikt.ledger.awaited_approval import announce_courier, has_courier
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import APPROVALS, load_projections
from verdikt.model.entry import EntryKind

POLICY = """\
profile: none
rules:
  - name: deploy
    command: [./deploy.sh]
    verdict: ask
    reason: deploys to production
    fix: wait
    approval: {by: {group: release}}
  - name: publish
    command: [twine]
    verdict: ask
    reason: publishes
    fix: wait
    approval: {by: self}
"""
HOLD_LOCK = """\
import sys
from pathlib import Path
from verdikt.ledger.awaited_approval import announce_courier
with announce_courier(Path(sys.argv[1])):
    sys.stdin.read()
"""


class ApprovedPlace(WarmProcess):
    """A machine of a team's service, with a warm process and the native client; the test plays courier and people."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        (self.data / "ship").mkdir(parents=True)
        # With a word too many, so that the sender that the warm process starts gives up, and brings no answers.
        (self.data / "ship/config.json").write_text('{"url": "http://127.0.0.1:9", "machine": 7, "test": 1}')
        policy = home / ".config/verdikt/governance.yaml"
        policy.parent.mkdir(parents=True)
        policy.write_text(POLICY)
        self.script = home / "deploy.sh"
        self.script.write_text("#!/bin/sh\n")
        (self.data / "hooks").mkdir()
        self.client = self.data / "hooks/verdikt-hook"
        shutil.copy(native.client(), self.client)
        shutil.copy(native.GUARD, self.client.parent)

    def call(self, command: str = "./deploy.sh", session: str = "s", seconds: int = 50) -> "subprocess.Popen[bytes]":
        """Start the hook as a host does."""
        hook = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]
        process = subprocess.Popen(
            [str(self.client), str(seconds), "closed", *hook],
            env=self.env | native.SANITIZER_ENV,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(bash(command, session=session, cwd=str(self.home)))
        process.stdin.close()
        process.stdin = None
        return process

    def finish(self, process: "subprocess.Popen[bytes]") -> HookOutput:
        """Return what the hook said."""
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        return HookOutput(process.returncode, stdout, stderr)

    def send(self, patience: int, command: str = "./deploy.sh") -> socket.socket:
        """Send a request as a client with this patience does, and return the connection."""
        head_fields = [__version__, "claude", "PreToolUse", "", str(self.home), protocol.NATIVE_CLIENT]
        payload = bash(command, cwd=str(self.home))
        sock = self.connect()
        sock.sendall(protocol.encode_request(head_fields, self.env, payload, patience=patience))
        return sock

    @contextmanager
    def open_log(self) -> Iterator[FileStore]:
        """Yield the log, as the process that brings answers opens it."""
        with FileStore(self.data, projections=load_projections()) as store:
            yield store

    def wait_for_request(self) -> str:
        """Return the request that waits, when there is one, and note that a service has taken it."""
        (id,) = wait_until("a request", lambda: list_announced(self.data))
        mark_submitted(self.data, id)
        return str(id)

    def answer(self, id: str, *, approved: bool = True) -> None:
        """Write what people answered into the log."""
        with self.open_log() as store:
            digest = store.read_projection(APPROVALS.name, "s")[id]["digest"]
            until = store.clock.now() + 600
            record_approval(
                store, "s", id, digest=digest, approved=approved, by=["Ana"], until=until, reason="not on a Friday"
            )

    def count_uses(self) -> int:
        """Return how often an approval was used."""
        with self.open_log() as store:
            return sum(
                entry.kind is EntryKind.APPROVAL and entry.body.get("closed") == "used"
                for entry in store.read_entries("s")
            )


def read_kind(sock: socket.socket) -> tuple[int, int]:
    """Return kind and status of the next reply, and read it to its end."""
    data = b""
    while len(data) < protocol.REPLY_PREFIX_BYTES:
        chunk = sock.recv(protocol.REPLY_PREFIX_BYTES - len(data))
        assert chunk
        data += chunk
    kind, status, length = data[4], data[5], sum(int.from_bytes(data[i : i + 4], "big") for i in (6, 10))
    while length:
        length -= len(sock.recv(length))
    return kind, status


@pytest.fixture
def place() -> Iterator[ApprovedPlace]:
    """Yield a place with a warm process, in a directory with a short path."""
    root = native.create_short_directory()
    place = ApprovedPlace(root)
    place.start()
    yield place
    place.end()
    remove(root)


@pytest.fixture
def courier(place: ApprovedPlace) -> Iterator[None]:
    """Let a process run that brings answers."""
    with announce_courier(place.data):
        yield


def test_a_call_that_is_approved_while_it_waits_runs_at_once(place: ApprovedPlace, courier: None) -> None:
    """One call: refused at first, waiting, approved, allowed; the approval is used up."""
    process = place.call()
    place.answer(place.wait_for_request())

    output = place.finish(process)
    assert output.code == 0, output
    assert place.count_uses() == 1
    with place.open_log() as store:
        entries = [entry for entry in store.read_entries("s") if entry.kind is EntryKind.DECISION]
    # An approved call passes with a note that names who approved it.
    assert [entry.body["receipt"]["verdict"]["kind"] for entry in entries] == ["block", "warn"]


def test_a_call_that_is_refused_while_it_waits_hears_by_whom(place: ApprovedPlace, courier: None) -> None:
    """A no ends the wait."""
    process = place.call()
    place.answer(place.wait_for_request(), approved=False)

    output = place.finish(process)
    assert output.code == 2
    assert b"refused by Ana: not on a Friday" in output.stderr


def test_an_approval_that_fits_no_longer_lets_nothing_through(place: ApprovedPlace, courier: None) -> None:
    """The script is edited while people look at it: the call is refused, asked about again, and waits only once."""
    process = place.call()
    id = place.wait_for_request()
    place.script.write_text("#!/bin/sh\necho something else\n")
    place.answer(id)

    output = place.finish(process)
    assert output.code == 2
    assert b"has changed since approval" in output.stderr
    assert place.count_uses() == 0


def kill_client(place: ApprovedPlace, process: "subprocess.Popen[bytes]") -> None:
    """Kill the hook, as a host does when the person stops the agent."""
    process.kill()


def kill_daemon(place: ApprovedPlace, process: "subprocess.Popen[bytes]") -> None:
    """Kill the warm process."""
    place.started[-1].kill()


def stop_daemon(place: ApprovedPlace, process: "subprocess.Popen[bytes]") -> None:
    """Ask the warm process to end."""
    place.started[-1].send_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (kill_client, b""),
        (kill_daemon, b"the warm process ended before it had answered"),
        (stop_daemon, b"make exactly this call again"),
    ],
)
def test_a_call_that_is_cut_off_is_not_allowed_and_uses_nothing_up(
    place: ApprovedPlace, courier: None, end: Callable[[ApprovedPlace, "subprocess.Popen[bytes]"], None], text: bytes
) -> None:
    """The client or the warm process ends while a call waits; the answer that comes then is there for the next call."""
    process = place.call()
    id = place.wait_for_request()
    end(place, process)
    output = place.finish(process)
    assert output.code != 0
    assert text in output.stderr

    place.answer(id)
    if place.started[-1].poll() is not None or end is not kill_client:
        place.started[-1].wait(PATIENCE_SECONDS)
        place.start()
    else:
        # It has noticed that the client has gone when nothing waits any more.
        wait_until("nothing waits", lambda: place.status()["pending"] == 0)
    assert place.count_uses() == 0
    assert place.finish(place.call()).code == 0
    assert place.count_uses() == 1


def test_a_courier_that_is_killed_ends_the_wait(place: ApprovedPlace) -> None:
    """Without a process that could bring the answer the call is refused as it would be without a wait."""
    assert not has_courier(place.data)
    with subprocess.Popen([sys.executable, "-c", HOLD_LOCK, str(place.data)], stdin=subprocess.PIPE) as courier:
        wait_until("the courier", lambda: has_courier(place.data))
        process = place.call()
        place.wait_for_request()
        courier.kill()

    output = place.finish(process)
    assert output.code == 2
    assert b"make exactly this call again" in output.stderr


def test_other_calls_are_answered_while_some_wait(place: ApprovedPlace, courier: None) -> None:
    """Calls of the same session and of another one, more of them than the warm process has threads."""
    waiting = [place.call(f"./deploy.sh {number}", session=f"s{number}") for number in range(8)]
    wait_until("all of them", lambda: len(list_announced(place.data)) == len(waiting))

    outputs = [place.finish(place.call("true", session=f"s{number % 8}")) for number in range(16)]

    assert {output.code for output in outputs} == {0}
    assert [process.poll() for process in waiting] == [None] * len(waiting)
    for process in waiting:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("patience", "kinds"), [(0, [(0, 2)]), (1, [(3, 0), (0, 2)]), (999, [(3, 0)])])
def test_a_call_waits_no_longer_than_its_client(
    place: ApprovedPlace, courier: None, patience: int, kinds: list[tuple[int, int]]
) -> None:
    """Without patience the refusal comes at once; with a second of it, after one; too much of it is cut."""
    with place.send(patience) as sock:
        place.wait_for_request()
        assert [read_kind(sock) for _ in kinds] == kinds


def test_no_call_waits_without_a_courier(place: ApprovedPlace) -> None:
    """Where nothing can bring an answer, the first reply is the refusal."""
    with place.send(45) as sock:
        assert read_kind(sock) == (protocol.KIND_ANSWER, 2)


def test_the_prompt_of_the_host_comes_at_once(place: ApprovedPlace, courier: None) -> None:
    """What the person at the terminal can answer is asked there, while the browser may answer too."""
    with place.send(45, "twine upload") as sock:
        assert read_kind(sock) == (protocol.KIND_ANSWER, 0)


def test_ordinary_calls_never_wait(place: ApprovedPlace, courier: None) -> None:
    """A call that needs no approval gets its one reply, whatever its client could wait for."""
    with place.send(45, "true") as sock:
        assert read_kind(sock) == (protocol.KIND_ANSWER, 0)


def test_a_client_of_an_old_wiring_is_waited_for_less(place: ApprovedPlace, courier: None) -> None:
    """The settings of a host that was wired before give 20 seconds; an answer within them counts."""
    process = place.call(seconds=20)
    place.answer(place.wait_for_request())

    assert place.finish(process).code == 0
