"""The native client, as shipped and with sanitizers: it prints a decision whatever happens."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contract import native
from tests.contract.hook import catches
from tests.contract.native import FakeWarm
from tests.contract.warm import PATIENCE_SECONDS, remove, wait_until
from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.proof import SECRET_BYTES, compute_proof, create_secret, read_secret

BLOCK = b'{"decision":"block","reason":"no"}\n'
INPUT = b'{"tool_name":"Bash"}'
STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
LONG_INPUT = b"x" * (4 * 1024 * 1024)
DEFAULT_PATIENCE_SECONDS = 15
"""What the client's default limit of 20 seconds leaves for people."""


# Replaces the interpreter: a hook that records its input and environment and allows.
PYTHON = """#!/bin/sh
cat > "$VERDIKT_HOME/input"
env > "$VERDIKT_HOME/env"
echo '{"from":"the hook"}'
"""


MODULE = "-m verdikt.hosts.hook"


class HookOutput(NamedTuple):
    """What the client printed, and its exit status."""

    code: int
    stdout: bytes
    stderr: bytes


class Place:
    """A data directory, an interpreter, and the client as `verdikt init` registers it."""

    def __init__(self, root: Path, program: Path) -> None:
        self.listeners: list[socket.socket] = []
        self.data = root / "data"
        self.project = root / "project"
        self.python = root / "python"
        for directory in (self.data / "hooks", self.project):
            directory.mkdir(parents=True)
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)
        self.client = self.data / "hooks" / "verdikt-hook"
        shutil.copy(program, self.client)
        shutil.copy(native.GUARD, self.client.parent)
        self.env = {
            "VERDIKT_HOME": str(self.data),
            "PATH": os.environ["PATH"],
            "HOME": str(root),
        } | native.SANITIZER_ENV

    def line(
        self,
        *,
        mode: str = "closed",
        seconds: str = "20",
        arguments: str = "claude PreToolUse",
        socket: str = "",
        entry: str = MODULE,
    ) -> list[str]:
        """Return the registered command."""
        hook = [str(self.python), "-I", *entry.split(), *arguments.split()]
        return [str(self.client), *(["--socket", socket] if socket else []), seconds, mode, *hook]

    def ask(self, payload: bytes = INPUT, *, env: dict[str, str] | None = None, **line: str) -> HookOutput:
        """Run the client once."""
        command = self.line(**line)
        env = self.env | (env or {})
        completed_process = subprocess.run(
            command, input=payload, capture_output=True, cwd=self.project, env=env, timeout=60, check=False
        )
        return HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr)

    def crashes(self) -> list[str]:
        """Return the messages of the recorded failures."""
        file = self.data / "_hook_crashes.jsonl"
        return [json.loads(line)["message"] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(params=["shipped", "sanitized"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Create a data directory with a short path, because the fake warm process binds there."""
    root = native.create_short_directory()
    place = Place(root, native.client() if request.param == "shipped" else native.sanitized())
    yield place
    for server in place.listeners:
        server.close()
    remove(root)


def assert_blocked(reply: HookOutput, what: str) -> None:
    """Assert that the client printed the document that blocks on every host, with the reason."""
    document = json.loads(reply.stdout)

    assert reply.code == 2, reply
    assert document["decision"] == "block"
    assert what in document["reason"]
    assert what in reply.stderr.decode()
    assert reply.stdout.count(b"\n") == 1
    assert b"Sanitizer" not in reply.stderr


HOOK_REPLY = HookOutput(0, b'{"from":"the hook"}\n', b"")


@pytest.mark.parametrize(
    ("status", "out", "err"),
    [
        (0, b"{}\n", b""),
        (0, b'{"a":"\\u00e9"}\n', b"\xc3\xa9\n"),
        (2, BLOCK, b"no\n"),
        (0, b'{"a":"%b"}\n' % (b"y" * 1_000_000), b""),
    ],
)
@pytest.mark.parametrize("mode", ["closed", "open"])
def test_reply_is_passed_on_unchanged(place: Place, status: int, out: bytes, err: bytes, mode: str) -> None:
    """The reply of the warm process is passed on byte for byte, and the hook is not run."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, status, out, err))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(mode=mode) == HookOutput(status, out, err)
    assert not (place.data / "input").exists()


@pytest.mark.parametrize(
    "arguments",
    ["claude PreToolUse", "claude", "", 'claude bash {"command":"ls"}', "codex PreToolUse", "unknown nothing"],
)
@pytest.mark.parametrize(("mode", "entry"), [("closed", MODULE), ("open", MODULE)])
def test_request_is_encoded_like_that_of_the_python_client(place: Place, arguments: str, mode: str, entry: str) -> None:
    """The request has the version, the arguments, the working directory and the listed variables only."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n"))

    env = {name: f"/{name} = x" for name in protocol.SENT_VARIABLES} | {"VERDIKT_HOME": str(place.data)}
    argument = arguments.split()[2:]
    with FakeWarm(place.data, behave) as warm:
        place.ask(
            arguments=arguments,
            mode=mode,
            entry=entry,
            env=env | {"ANTHROPIC_API_KEY": "sk-1", "CLAUDE_CODE_OAUTH": "2"},
        )
    head_arguments = [*(arguments.split() or ["generic"]), "", "", ""][:3]
    expected = protocol.encode_request(
        [__version__, *head_arguments, str(place.project), protocol.NATIVE_CLIENT],
        place.env | env,
        b"" if argument else INPUT,
        patience=DEFAULT_PATIENCE_SECONDS,
    )
    assert warm.requests == [expected]


REPLY = protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n")
NO_DECISION = "it did not answer with one decision"
ENDED = "the warm process ended before it had answered"
INVALID_REPLIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", ENDED),
    "half a prefix": (REPLY[:7], ENDED),
    "a prefix and no more": (REPLY[:14], ENDED),
    "half an answer": (REPLY[:-1], ENDED),
    "garbage": (bytes(range(256)), NO_DECISION),
    "text": (b"HTTP/1.1 400 Bad Request\r\n\r\n", NO_DECISION),
    "another magic": (b"VDK2" + REPLY[4:], NO_DECISION),
    "a length without end": (REPLY[:6] + b"\xff\xff\xff\xff" + REPLY[10:], NO_DECISION),
    "an error text without end": (REPLY[:10] + b"\x7f\xff\xff\xff" + REPLY[14:], NO_DECISION),
    "an unknown kind": (REPLY[:4] + b"\x07" + REPLY[5:], "the warm process refused to answer"),
    "a refusal": (protocol.encode_reply(protocol.KIND_REFUSED), "the warm process refused to answer"),
    "status 1": (REPLY[:5] + b"\x01" + REPLY[6:], NO_DECISION),
    "status 255": (REPLY[:5] + b"\xff" + REPLY[6:], NO_DECISION),
    "an empty document": (protocol.encode_reply(0, 0, b""), NO_DECISION),
    "two documents": (protocol.encode_reply(0, 0, b"{}\n{}\n"), NO_DECISION),
    "a list": (protocol.encode_reply(0, 0, b"[]\n"), NO_DECISION),
    "a text": (protocol.encode_reply(0, 0, b'"{}"\n'), NO_DECISION),
    "half a document": (protocol.encode_reply(0, 0, b'{"a":'), NO_DECISION),
    "no end of line": (protocol.encode_reply(0, 0, b"{}"), NO_DECISION),
    "bytes that are no UTF-8": (protocol.encode_reply(0, 0, b'{"a":"\xff"}\n'), NO_DECISION),
    "a NUL": (protocol.encode_reply(0, 0, b'{"a":"\0"}\n'), NO_DECISION),
    "status 2 with an empty reason": (
        protocol.encode_reply(0, 2, b'{"decision":"block","reason":""}\n', b"no"),
        NO_DECISION,
    ),
    "status 2 with an allow": (protocol.encode_reply(0, 2, b"{}\n", b"no"), NO_DECISION),
    "status 2 without a word on stderr": (protocol.encode_reply(0, 2, BLOCK), NO_DECISION),
}


@pytest.mark.parametrize("case", INVALID_REPLIES)
def test_invalid_reply_blocks_and_is_not_retried(place: Place, case: str) -> None:
    """An invalid reply blocks and no other process is asked, because the call may have been recorded."""
    data, what = INVALID_REPLIES[case]

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(data)

    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(), what)
        assert place.ask(mode="open") == HookOutput(0, b"{}\n", b"")
    assert len(warm.requests) == 2
    assert place.crashes() == [what, what]
    assert not (place.data / "input").exists()


@pytest.mark.parametrize("pace", ["hung", "slow", "deaf"])
def test_slow_daemon_is_a_block(place: Place, pace: str) -> None:
    """A warm process that hangs, sends byte by byte or does not read is a block."""

    def behave(connection: socket.socket) -> None:
        if pace != "deaf":
            warm.ask(connection)
        for byte in REPLY * 3 if pace == "slow" else b"":
            connection.sendall(bytes([byte]))
            over.wait(0.2)
        over.wait()

    over = threading.Event()
    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(LONG_INPUT, seconds="2"), "the warm process did not answer in time")
        over.set()
    assert not (place.data / "input").exists()


def test_reply_in_single_bytes_is_accepted(place: Place) -> None:
    """A reply that arrives in time is accepted in whatever pieces it comes."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        for byte in REPLY:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(LONG_INPUT) == HookOutput(0, b"{}\n", b"")


def test_retry_reply_runs_the_hook(place: Place) -> None:
    """A retry reply means that nothing was decided, so the hook decides."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_RETRY))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask() == HOOK_REPLY
    assert (place.data / "input").read_bytes() == INPUT


UNTRUSTED = "a program that is not the warm process answered at its socket"


@pytest.mark.parametrize("mode", ["closed", "open"])
@pytest.mark.parametrize("proof", ["wrong", "missing", "short"])
def test_program_that_does_not_know_the_secret_is_reported_and_the_hook_decides(
    place: Place, mode: str, proof: str
) -> None:
    """A program that took the place of the warm process decides nothing, whatever it answers."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        nonce = connection.nonce  # type: ignore[attr-defined]
        connection.sendall(REPLY)
        if proof == "short":
            connection.sendall(b"x" * 31)
        if proof == "wrong":
            connection.sendall(compute_proof(b"0" * SECRET_BYTES, nonce, REPLY))

    create_secret(make_run_directory(place))
    with FakeWarm(place.data, behave, knows_secret=False) as warm:
        assert place.ask(mode=mode) == HOOK_REPLY
    assert place.crashes() == [UNTRUSTED]
    assert (place.data / "input").read_bytes() == INPUT


@pytest.mark.parametrize("damage", ["absent", "empty", "too long", "readable by others", "link", "fifo", "directory"])
def test_socket_without_a_private_secret_beside_it_is_not_asked(place: Place, damage: str) -> None:
    """The warm process writes the secret before it listens, so a socket without one is not its own."""
    path = make_run_directory(place) / "daemon.secret"
    if damage == "directory":
        path.mkdir()
    elif damage == "fifo":
        os.mkfifo(path, 0o600)
    elif damage == "link":
        path.symlink_to(create_secret_elsewhere(place))
    elif damage != "absent":
        path.write_bytes(b"" if damage == "empty" else b"0" * (65 if damage == "too long" else 64))
        path.chmod(0o644 if damage == "readable by others" else 0o600)
    with FakeWarm(place.data, lambda connection: None, knows_secret=False) as warm:
        assert place.ask() == HOOK_REPLY
    assert warm.requests == []
    assert place.crashes() == []


def test_proof_of_another_request_is_not_accepted(place: Place) -> None:
    """A recorded reply with its proof cannot be played again."""
    recorded: list[bytes] = []

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        secret = read_secret(place.data / "run")
        recorded.append(REPLY + compute_proof(secret, connection.nonce, REPLY))  # type: ignore[attr-defined]
        connection.sendall(recorded[0])

    create_secret(make_run_directory(place))
    with FakeWarm(place.data, behave, knows_secret=False) as warm:
        assert place.ask() == HookOutput(0, b"{}\n", b"")
        assert place.ask() == HOOK_REPLY
    assert place.crashes() == [UNTRUSTED]


def make_run_directory(place: Place) -> Path:
    """Return the run directory, created."""
    run = place.data / "run"
    run.mkdir(mode=0o700)
    return run


def create_secret_elsewhere(place: Place) -> Path:
    """Return a secret that a link can lead to."""
    create_secret(place.data)
    return place.data / "daemon.secret"


def test_connection_closed_during_the_request_runs_the_hook(place: Place) -> None:
    """A request that was not sent to its end cannot have been decided, so the hook decides."""

    def behave(connection: socket.socket) -> None:
        connection.recv(1)

    with FakeWarm(place.data, behave):
        assert place.ask(LONG_INPUT) == HOOK_REPLY
    assert (place.data / "input").read_bytes() == LONG_INPUT


def no_directory(place: Place) -> None:
    """No warm process ever ran."""


def stale_socket(place: Place) -> None:
    """Leave the socket of a killed daemon."""
    with FakeWarm(place.data, lambda connection: None):
        pass


def directory_open_to_others(place: Place) -> None:
    """Another user could have put the socket there."""
    stale_socket(place)
    (place.data / "run").chmod(0o770)


def symbolic_link(place: Place) -> None:
    """Make the directory a link, which may lead to another user's."""
    (place.data / "other").mkdir(mode=0o700)
    (place.data / "run").symlink_to("other")


def file_instead_of_socket(place: Place) -> None:
    """There is a file in place of the socket."""
    (place.data / "run").mkdir(mode=0o700)
    (place.data / "run/daemon.sock").write_text("")


def file_instead_of_directory(place: Place) -> None:
    """There is a file in place of the directory."""
    (place.data / "run").write_text("")


def directory_of_another_user(place: Place) -> None:
    """Give the directory to another user."""
    stale_socket(place)
    os.chown(place.data / "run", 12345, 12345)


def closed_directory(place: Place) -> None:
    """Close the directory to its user; root can still enter it, and finds a stale socket."""
    stale_socket(place)
    (place.data / "run").chmod(0)


def listener_of_another_user(place: Place) -> None:
    """Another user listens on the socket."""
    stale_socket(place)
    (place.data / "run/daemon.sock").unlink()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place.data / "run/daemon.sock"))
    os.seteuid(12345)
    try:
        server.listen()  # the kernel reports the user of this call as the peer
    finally:
        os.seteuid(0)
    place.listeners.append(server)


@pytest.mark.parametrize(
    "why",
    [
        no_directory,
        pytest.param(listener_of_another_user, marks=pytest.mark.root),
        stale_socket,
        directory_open_to_others,
        symbolic_link,
        file_instead_of_socket,
        file_instead_of_directory,
        closed_directory,
        pytest.param(directory_of_another_user, marks=pytest.mark.root),
    ],
)
def test_unusable_socket_runs_the_hook(place: Place, why: "native.Callable[[Place], None]") -> None:
    """Without a warm process that can be trusted, the hook gets the same input and environment."""
    why(place)

    assert place.ask() == HOOK_REPLY
    assert (place.data / "input").read_bytes() == INPUT
    seen = (place.data / "env").read_text().splitlines()
    assert {f"{name}={value}" for name, value in place.env.items()} <= set(seen)
    assert not [line for line in seen if line.startswith("VERDIKT_DAEMON=")]
    if (place.data / "run").is_dir():
        (place.data / "run").chmod(0o700)


@pytest.mark.parametrize(
    "env",
    [
        {"VERDIKT_DAEMON": "off"},
        {"VERDIKT_HOME": "~daemon/x"},
        {"VERDIKT_HOME": f"/{'x' * 100}"},
        {"VERDIKT_MANAGED_POLICY": "x" * 70_000},
    ],
    ids=["off", "home of another user", "path too long", "request too long"],
)
def test_request_that_cannot_be_sent_runs_the_hook(place: Place, env: dict[str, str]) -> None:
    """The hook decides when the warm process is off, its path is unusable, or the request is too long."""

    def behave(connection: socket.socket) -> None:
        warm.requests.append(connection.recv(1))

    place.python.write_text('#!/bin/sh\ncat > /dev/null\necho \'{"from":"the hook"}\'\n')
    with FakeWarm(place.data, behave) as warm:
        assert place.ask(env=env) == HOOK_REPLY
    assert warm.requests in ([], [b""])


def test_deleted_working_directory_runs_the_hook(place: Place) -> None:
    """In a working directory that was deleted the hook decides."""
    gone = place.project / "gone"
    gone.mkdir()
    line = ["/bin/sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *place.line()]
    with FakeWarm(place.data, lambda connection: None):
        completed_process = subprocess.run(line, input=INPUT, capture_output=True, cwd=gone, env=place.env, check=False)

    assert HookOutput(completed_process.returncode, completed_process.stdout, b"") == HOOK_REPLY


def test_full_queue_is_waited_for(place: Place) -> None:
    """The client waits for room in the queue for a while before the hook decides."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(REPLY)

    def answered() -> bool:
        others = warm.fill()
        call = subprocess.Popen(
            place.line(), cwd=place.project, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        wait_until("it waits", lambda: Path(f"/proc/{call.pid}/stat").read_text().split()[2] == "S")
        warm.let_in()
        reply = call.communicate(timeout=60)[0]
        for other in others:
            other.close()
        assert reply in (b"{}\n", HOOK_REPLY.stdout)
        return reply == b"{}\n"

    for _ in range(20):
        with FakeWarm(place.data, behave, full=True) as warm:
            if answered():
                return
    pytest.fail("the queue was never waited for")


def test_named_socket_is_the_only_one_asked(place: Place) -> None:
    """With --socket only its owner decides, and every failure is a block."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(0, 2, BLOCK, b"no\n"))

    address = str(place.data / "run/daemon.sock")
    with FakeWarm(place.data, behave) as warm:
        assert place.ask(socket=address) == HookOutput(2, BLOCK, b"no\n")
        assert place.ask(socket=address, env={"VERDIKT_DAEMON": "off"}) == HookOutput(2, BLOCK, b"no\n")
    assert_blocked(place.ask(socket=address, seconds="1"), "no process answers at its socket")
    assert_blocked(place.ask(socket="/nowhere/daemon.sock", seconds="1"), "no process answers at its socket")
    assert_blocked(place.ask(socket="run/daemon.sock"), "a socket whose path is not absolute")
    (place.data / "run").chmod(0o777)
    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(socket=address, seconds="1"), "no process answers at its socket")
    assert place.ask(socket=address, mode="open", seconds="1") == HookOutput(0, b"{}\n", b"")
    assert not (place.data / "input").exists()


def test_named_socket_is_retried_during_a_restart(place: Place) -> None:
    """With --socket the client asks again while the service restarts."""
    kinds = iter([protocol.KIND_RETRY, protocol.KIND_RETRY, protocol.KIND_ANSWER])

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(next(kinds), 0, b"{}\n"))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(socket=str(place.data / "run/daemon.sock")) == HookOutput(0, b"{}\n", b"")
    assert len(warm.requests) == 3


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize("mode", ["closed", "open"])
@pytest.mark.parametrize("where", ["question", "warm"])
def test_signal_is_a_failure(place: Place, number: signal.Signals, mode: str, where: str) -> None:
    """A signal during the input or the reply is a block, or no opinion in open mode."""
    asked, over = threading.Event(), threading.Event()

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        asked.set()
        over.wait(PATIENCE_SECONDS)

    with FakeWarm(place.data, behave) as warm:
        call = subprocess.Popen(
            place.line(mode=mode), cwd=place.project, env=place.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert call.stdin
        if where == "question":
            wait_until("its handlers are in place", lambda: all(catches(call.pid, each) for each in STOPS))
        else:
            call.stdin.write(INPUT)
            call.stdin.close()
            call.stdin = None
            assert asked.wait(PATIENCE_SECONDS)
        call.send_signal(number)
        out, err = call.communicate(timeout=PATIENCE_SECONDS)
        over.set()
    if mode == "closed":
        assert_blocked(HookOutput(call.returncode, out, err), "it was stopped by a signal")
    else:
        assert HookOutput(call.returncode, out, err) == HookOutput(0, b"{}\n", b"")


@pytest.mark.parametrize("number", STOPS)
def test_signal_does_not_interrupt_the_hook(place: Place, number: signal.Signals) -> None:
    """A signal does not interrupt a hook that is deciding."""
    place.python.write_text(
        "#!/bin/sh\n"
        'touch "$VERDIKT_HOME/there"\n'
        'while [ ! -e "$VERDIKT_HOME/go" ]; do sleep 0.02; done\n'
        """echo '{"from":"the hook"}'\n"""
    )
    call = subprocess.Popen(
        place.line(seconds="50"), cwd=place.project, env=place.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until("the hook runs", (place.data / "there").exists)
    call.send_signal(number)
    (place.data / "go").touch()
    out, err = call.communicate(timeout=60)

    assert HookOutput(call.returncode, out, err) == HOOK_REPLY


@pytest.mark.parametrize("mode", ["closed", "open"])
@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE])
def test_signal_pending_at_the_start_is_a_failure(place: Place, number: signal.Signals, mode: str) -> None:
    """A blocked signal that is pending at the start is handled; SIGPIPE means nothing."""

    def leave_one() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    completed_process = subprocess.run(
        place.line(mode=mode), input=INPUT, capture_output=True, env=place.env, preexec_fn=leave_one, check=False
    )
    reply = HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr)
    if number is signal.SIGPIPE:
        assert reply == HOOK_REPLY
    elif mode == "open":
        assert reply == HookOutput(0, b"{}\n", b"")
    else:
        assert_blocked(reply, "in time" if number is signal.SIGALRM else "it was stopped by a signal")


def test_ignored_signals_do_not_prevent_a_decision(place: Place) -> None:
    """Signals that the host ignores, SIGCHLD among them, do not prevent a decision."""

    def ignore() -> None:
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    completed_process = subprocess.run(
        place.line(), input=INPUT, capture_output=True, env=place.env, preexec_fn=ignore, check=False
    )
    assert HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr) == HOOK_REPLY


WAIT = protocol.encode_reply(protocol.KIND_WAIT)


@pytest.mark.parametrize(
    ("seconds", "notices", "expected"),
    [
        ("50", [WAIT], None),
        ("20", [WAIT], None),
        # A limit that leaves no time for people; a second notice; an end without a decision.
        ("10", [WAIT], "the warm process refused to answer"),
        ("50", [WAIT, WAIT], "the warm process refused to answer"),
        ("50", [WAIT, b"VDK1"], "the warm process ended before it had answered"),
    ],
)
def test_a_call_may_wait_for_people(place: Place, seconds: str, notices: list[bytes], expected: str | None) -> None:
    """A notice that the call waits is followed by one reply; anything else after it is a block."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        for notice in notices:
            connection.send(notice)
        if expected is None:
            connection.sendall(REPLY)

    with FakeWarm(place.data, behave) as warm:
        output = place.ask(seconds=seconds)
    if expected is None:
        assert output == HookOutput(0, b"{}\n", b"")
    else:
        assert_blocked(output, expected)
    patience = {"50": b"patience=45\0", "20": b"patience=15\0"}.get(seconds)
    assert (patience in warm.requests[0]) if patience else (b"patience" not in warm.requests[0])


@pytest.mark.parametrize("warm", [True, False])
def test_input_without_end_is_a_block(place: Place, warm: bool) -> None:
    """Input that never ends is a block, whether the client or the hook reads it."""
    with FakeWarm(place.data, lambda connection: over.wait(20) and None) if warm else nullcontext():
        over = threading.Event()
        call = subprocess.Popen(
            place.line(seconds="1"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=place.env,
        )
        assert call.stdin and call.stdout and call.stderr
        call.stdin.write(b"{")
        call.stdin.flush()
        code = call.wait(timeout=PATIENCE_SECONDS)
        over.set()
    what = "it did not receive its whole input in time" if warm else "it was killed or took too long"
    assert_blocked(HookOutput(code, call.stdout.read(), call.stderr.read()), what)
    for stream in (call.stdin, call.stdout, call.stderr):
        stream.close()


def test_input_that_is_too_long_is_read_and_truncated(place: Place) -> None:
    """Input that is too long is read to its end, and one byte more than allowed is sent."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(REPLY)

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(b"x" * 50_000_000, seconds="20") == HookOutput(0, b"{}\n", b"")
    (asked,) = warm.requests
    assert protocol.decode_request_prefix(asked[:12])[1] == protocol.MAX_PAYLOAD_BYTES + 1


@pytest.mark.parametrize("closing", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_stdin_or_stderr_does_not_prevent_a_decision(place: Place, closing: str) -> None:
    """Without stdin or stderr the decision is the same, and no descriptor is mistaken for them."""
    line = ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", *place.line()]
    completed_process = subprocess.run(
        line, input=b"", capture_output=True, cwd=place.project, env=place.env, check=False
    )

    assert (completed_process.returncode, completed_process.stdout) == (0, HOOK_REPLY.stdout)
    assert (place.data / "input").read_bytes() == b""


@pytest.mark.parametrize(("mode", "code"), [("closed", 2), ("open", 0)])
@pytest.mark.parametrize("way", ["closed", "broken", "full"])
def test_status_is_right_when_stdout_cannot_be_written(place: Place, mode: str, code: int, way: str) -> None:
    """When stdout is closed, broken or full, the exit status alone carries the decision."""
    redirect = {"closed": ">&-", "broken": "", "full": "> /dev/full"}[way]
    line = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *place.line(mode=mode)]
    read, write = os.pipe()
    os.close(read)
    completed_process = subprocess.run(line, input=INPUT, stdout=write, cwd=place.project, env=place.env, check=False)
    os.close(write)

    assert completed_process.returncode == code


def test_relative_interpreter_is_not_searched(place: Place) -> None:
    """An interpreter that is not absolute is searched neither in PATH nor in the project."""
    shutil.copy(place.python, place.project / "python3")
    for name in ("python3", "./python3"):
        line = [str(place.client), "5", "closed", name, "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]
        env = place.env | {"VERDIKT_DAEMON": "off", "PATH": f"{place.project}:{place.env['PATH']}"}
        completed_process = subprocess.run(
            line, input=INPUT, capture_output=True, cwd=place.project, env=env, check=False
        )
        assert_blocked(
            HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr),
            "it could not be started",
        )


def test_short_form_uses_the_interpreter_beside_the_client(place: Place) -> None:
    """`verdikt-hook claude PreToolUse` runs the interpreter beside the program, isolated and closed."""
    shutil.copy(place.python, place.client.with_name("python3"))
    completed_process = subprocess.run(
        [str(place.client), "claude", "PreToolUse"], input=INPUT, capture_output=True, env=place.env, check=False
    )
    assert HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr) == HOOK_REPLY
    place.client.with_name("python3").unlink()
    completed_process = subprocess.run(
        [str(place.client), "claude"], input=INPUT, capture_output=True, env=place.env, check=False
    )
    assert_blocked(
        HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr),
        "it could not be started",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--socket"],
        ["--help"],
        ["0", "closed", "/bin/true"],
        ["5", "closed"],
        [""],
        ["99999999999999999999", "open", "/bin/cat"],
    ],
)
def test_invalid_command_line_is_a_block(place: Place, arguments: list[str]) -> None:
    """An invalid command line is a block."""
    completed_process = subprocess.run(
        [str(place.client), *arguments], input=b"{}", capture_output=True, env=place.env, check=False
    )

    assert completed_process.returncode == (0 if "open" in arguments else 2)
    if "open" not in arguments:
        assert_blocked(
            HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr),
            "it was called without a hook",
        )
