"""The native client, as it is shipped and under sanitizers: whatever happens to the warm process or to itself, a decision is said."""

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
from tests.contract.warm import PATIENCE_SECONDS, eventually, remove
from verdikt import __version__
from verdikt.daemon import protocol

BLOCK = b'{"decision":"block","reason":"no"}\n'
QUESTION = b'{"tool_name":"Bash"}'
STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
MANY = b"x" * (4 * 1024 * 1024)

# A stand-in for the interpreter: the hook has no opinion and says who it is.
PYTHON = """#!/bin/sh
cat > "$VERDIKT_HOME/heard"
env > "$VERDIKT_HOME/env"
echo '{"from":"the hook"}'
"""


MODULE = "-m verdikt.hosts.hook"


class Said(NamedTuple):
    """What came out of the client."""

    code: int
    stdout: bytes
    stderr: bytes


class Place:
    """A data directory, an interpreter, and the client as it is registered."""

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
        words: str = "claude PreToolUse",
        socket: str = "",
        entry: str = MODULE,
    ) -> list[str]:
        """The registered command."""
        hook = [str(self.python), "-I", *entry.split(), *words.split()]
        return [str(self.client), *(["--socket", socket] if socket else []), seconds, mode, *hook]

    def ask(self, payload: bytes = QUESTION, *, env: dict[str, str] | None = None, **line: str) -> Said:
        """One call."""
        command = self.line(**line)
        env = self.env | (env or {})
        done = subprocess.run(
            command, input=payload, capture_output=True, cwd=self.project, env=env, timeout=60, check=False
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def crashes(self) -> list[str]:
        """What was written down."""
        file = self.data / "_hook_crashes.jsonl"
        return [json.loads(line)["message"] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(params=["shipped", "sanitized"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """With a short path, because the fake warm process binds there."""
    root = native.short_directory()
    place = Place(root, native.client() if request.param == "shipped" else native.sanitized())
    yield place
    for server in place.listeners:
        server.close()
    remove(root)


def assert_blocked(said: Said, what: str) -> None:
    """With the one document that blocks on every client, and the reason."""
    document = json.loads(said.stdout)

    assert said.code == 2, said
    assert document["decision"] == "block"
    assert what in document["reason"]
    assert what in said.stderr.decode()
    assert said.stdout.count(b"\n") == 1
    assert b"Sanitizer" not in said.stderr


BY_HOOK = Said(0, b'{"from":"the hook"}\n', b"")


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
def test_what_the_warm_process_says_is_handed_on(place: Place, status: int, out: bytes, err: bytes, mode: str) -> None:
    """Byte for byte, and the hook is not run."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, status, out, err))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(mode=mode) == Said(status, out, err)
    assert not (place.data / "heard").exists()


@pytest.mark.parametrize(
    "words", ["claude PreToolUse", "claude", "", 'claude bash {"command":"ls"}', "codex PreToolUse", "nobody nothing"]
)
@pytest.mark.parametrize(("mode", "entry"), [("closed", MODULE), ("open", MODULE)])
def test_the_question_is_the_one_of_the_protocol(place: Place, words: str, mode: str, entry: str) -> None:
    """The version, the words, the working directory and every variable that a decision reads; no other variable."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n"))

    env = {name: f"/{name} = x" for name in protocol.SENT_VARIABLES} | {"VERDIKT_HOME": str(place.data)}
    argument = words.split()[2:]
    with FakeWarm(place.data, behave) as warm:
        place.ask(
            words=words, mode=mode, entry=entry, env=env | {"ANTHROPIC_API_KEY": "sk-1", "CLAUDE_CODE_OAUTH": "2"}
        )
    named = [*(words.split() or ["generic"]), "", "", ""][:3]
    expected = protocol.encode_request(
        [__version__, *named, str(place.project), protocol.NATIVE_CLIENT],
        place.env | env,
        b"" if argument else QUESTION,
    )
    assert warm.questions == [expected]


ANSWER = protocol.encode_reply(protocol.KIND_ANSWER, 0, b"{}\n")
NO_DECISION = "it did not answer with one decision"
ENDED = "the warm process ended before it had answered"
WRONG_ANSWERS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", ENDED),
    "half a prefix": (ANSWER[:7], ENDED),
    "a prefix and no more": (ANSWER[:14], ENDED),
    "half an answer": (ANSWER[:-1], ENDED),
    "garbage": (bytes(range(256)), NO_DECISION),
    "text": (b"HTTP/1.1 400 Bad Request\r\n\r\n", NO_DECISION),
    "another magic": (b"VDK2" + ANSWER[4:], NO_DECISION),
    "a length without end": (ANSWER[:6] + b"\xff\xff\xff\xff" + ANSWER[10:], NO_DECISION),
    "an error text without end": (ANSWER[:10] + b"\x7f\xff\xff\xff" + ANSWER[14:], NO_DECISION),
    "an unknown kind": (ANSWER[:4] + b"\x07" + ANSWER[5:], "the warm process refused to answer"),
    "a refusal": (protocol.encode_reply(protocol.KIND_REFUSED), "the warm process refused to answer"),
    "status 1": (ANSWER[:5] + b"\x01" + ANSWER[6:], NO_DECISION),
    "status 255": (ANSWER[:5] + b"\xff" + ANSWER[6:], NO_DECISION),
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


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
def test_a_wrong_answer_blocks_and_is_not_asked_for_again(place: Place, wrong: str) -> None:
    """It may have been decided and recorded, so nobody else is asked; where nothing is about to happen, no opinion."""
    data, what = WRONG_ANSWERS[wrong]

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(data)

    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(), what)
        assert place.ask(mode="open") == Said(0, b"{}\n", b"")
    assert len(warm.questions) == 2
    assert place.crashes() == [what, what]
    assert not (place.data / "heard").exists()


@pytest.mark.parametrize("pace", ["hung", "slow", "deaf"])
def test_a_warm_process_that_takes_too_long_blocks(place: Place, pace: str) -> None:
    """Hung, one byte at a time, or one that does not even listen to a long question."""

    def behave(connection: socket.socket) -> None:
        if pace != "deaf":
            warm.ask(connection)
        for byte in ANSWER * 3 if pace == "slow" else b"":
            connection.sendall(bytes([byte]))
            over.wait(0.2)
        over.wait()

    over = threading.Event()
    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(MANY, seconds="2"), "the warm process did not answer in time")
        over.set()
    assert not (place.data / "heard").exists()


def test_an_answer_in_pieces_is_an_answer(place: Place) -> None:
    """However slowly it comes, in time."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        for byte in ANSWER:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(MANY) == Said(0, b"{}\n", b"")


def test_one_that_is_of_another_version_leaves_it_to_the_hook(place: Place) -> None:
    """It decided nothing."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(protocol.KIND_RETRY))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask() == BY_HOOK
    assert (place.data / "heard").read_bytes() == QUESTION


def test_a_connection_that_ends_while_the_question_is_written_leaves_it_to_the_hook(place: Place) -> None:
    """It cannot have been decided."""

    def behave(connection: socket.socket) -> None:
        connection.recv(1)

    with FakeWarm(place.data, behave):
        assert place.ask(MANY) == BY_HOOK
    assert (place.data / "heard").read_bytes() == MANY


def nobody(place: Place) -> None:
    """No warm process ever was."""


def stale(place: Place) -> None:
    """One was killed."""
    with FakeWarm(place.data, lambda connection: None):
        pass


def open_to_others(place: Place) -> None:
    """Somebody else could have put a socket there."""
    stale(place)
    (place.data / "run").chmod(0o770)


def elsewhere(place: Place) -> None:
    """A link to a directory that may be anybody's."""
    (place.data / "other").mkdir(mode=0o700)
    (place.data / "run").symlink_to("other")


def a_file(place: Place) -> None:
    """Not a socket."""
    (place.data / "run").mkdir(mode=0o700)
    (place.data / "run/daemon.sock").write_text("")


def not_a_directory(place: Place) -> None:
    """Not even a place for one."""
    (place.data / "run").write_text("")


def another_owner(place: Place) -> None:
    """Another user owns the directory."""
    stale(place)
    os.chown(place.data / "run", 12345, 12345)


def closed(place: Place) -> None:
    """The directory cannot be entered."""
    stale(place)
    (place.data / "run").chmod(0)


def another_listener(place: Place) -> None:
    """A process of another user listens on a socket in our directory."""
    stale(place)
    (place.data / "run/daemon.sock").unlink()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place.data / "run/daemon.sock"))
    os.seteuid(12345)
    try:
        server.listen()  # whoever does this is the peer that clients see
    finally:
        os.seteuid(0)
    place.listeners.append(server)


@pytest.mark.parametrize(
    "why",
    [
        nobody,
        pytest.param(another_listener, marks=pytest.mark.root),
        stale,
        open_to_others,
        elsewhere,
        a_file,
        not_a_directory,
        closed,
        pytest.param(another_owner, marks=pytest.mark.root),
    ],
)
def test_where_nobody_can_be_asked_the_hook_decides(place: Place, why: "native.Callable[[Place], None]") -> None:
    """With the same question and the same environment: it may look for a warm process itself, and start one."""
    why(place)

    assert place.ask() == BY_HOOK
    assert (place.data / "heard").read_bytes() == QUESTION
    seen = (place.data / "env").read_text().splitlines()
    assert {f"{name}={value}" for name, value in place.env.items()} <= set(seen)
    assert not [line for line in seen if line.startswith("VERDIKT_DAEMON=")]
    if (place.data / "run").is_dir():
        (place.data / "run").chmod(0o700)


@pytest.mark.parametrize(
    "env",
    [
        {"VERDIKT_DAEMON": "off"},
        {"VERDIKT_HOME": "~nobody/x"},
        {"VERDIKT_HOME": f"/{'x' * 100}"},
        {"VERDIKT_MANAGED_POLICY": "x" * 70_000},
    ],
    ids=["off", "elsewhere", "too far for a socket", "long"],
)
def test_what_cannot_be_asked_is_left_to_the_hook(place: Place, env: dict[str, str]) -> None:
    """Switched off, at a place that only Python finds, or longer than a question may be."""

    def behave(connection: socket.socket) -> None:
        warm.questions.append(connection.recv(1))

    place.python.write_text('#!/bin/sh\ncat > /dev/null\necho \'{"from":"the hook"}\'\n')
    with FakeWarm(place.data, behave) as warm:
        assert place.ask(env=env) == BY_HOOK
    assert warm.questions in ([], [b""])


def test_a_working_directory_that_is_gone_is_left_to_the_hook(place: Place) -> None:
    """Which is asked in it all the same."""
    gone = place.project / "gone"
    gone.mkdir()
    line = ["/bin/sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *place.line()]
    with FakeWarm(place.data, lambda connection: None):
        done = subprocess.run(line, input=QUESTION, capture_output=True, cwd=gone, env=place.env, check=False)

    assert Said(done.returncode, done.stdout, b"") == BY_HOOK


def test_a_queue_that_is_full_is_waited_for(place: Place) -> None:
    """Others were first. Where that takes too long the hook decides, as it may on a very busy machine."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(ANSWER)

    def answered() -> bool:
        others = warm.fill()
        call = subprocess.Popen(
            place.line(), cwd=place.project, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        eventually("it waits", lambda: Path(f"/proc/{call.pid}/stat").read_text().split()[2] == "S")
        warm.let_in()
        said = call.communicate(timeout=60)[0]
        for other in others:
            other.close()
        assert said in (b"{}\n", BY_HOOK.stdout)
        return said == b"{}\n"

    for _ in range(20):
        with FakeWarm(place.data, behave, full=True) as warm:
            if answered():
                return
    pytest.fail("never waited for")


def test_behind_a_given_socket_nobody_else_is_asked(place: Place) -> None:
    """Its owner's answer counts; where there is none, nothing is started and nothing falls back."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(0, 2, BLOCK, b"no\n"))

    address = str(place.data / "run/daemon.sock")
    with FakeWarm(place.data, behave) as warm:
        assert place.ask(socket=address) == Said(2, BLOCK, b"no\n")
        assert place.ask(socket=address, env={"VERDIKT_DAEMON": "off"}) == Said(2, BLOCK, b"no\n")
    assert_blocked(place.ask(socket=address, seconds="1"), "no process answers at its socket")
    assert_blocked(place.ask(socket="/nowhere/daemon.sock", seconds="1"), "no process answers at its socket")
    assert_blocked(place.ask(socket="run/daemon.sock"), "a socket whose path is not absolute")
    (place.data / "run").chmod(0o777)
    with FakeWarm(place.data, behave) as warm:
        assert_blocked(place.ask(socket=address, seconds="1"), "no process answers at its socket")
    assert place.ask(socket=address, mode="open", seconds="1") == Said(0, b"{}\n", b"")
    assert not (place.data / "heard").exists()


def test_behind_a_given_socket_one_that_restarts_is_waited_for(place: Place) -> None:
    """An update must not block everybody."""
    kinds = iter([protocol.KIND_RETRY, protocol.KIND_RETRY, protocol.KIND_ANSWER])

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(protocol.encode_reply(next(kinds), 0, b"{}\n"))

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(socket=str(place.data / "run/daemon.sock")) == Said(0, b"{}\n", b"")
    assert len(warm.questions) == 3


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize("mode", ["closed", "open"])
@pytest.mark.parametrize("where", ["question", "warm"])
def test_a_signal_is_a_failure_like_any_other(place: Place, number: signal.Signals, mode: str, where: str) -> None:
    """While it waits for the question, and while it waits for the answer."""
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
            eventually("its handlers are in place", lambda: all(catches(call.pid, each) for each in STOPS))
        else:
            call.stdin.write(QUESTION)
            call.stdin.close()
            call.stdin = None
            assert asked.wait(PATIENCE_SECONDS)
        call.send_signal(number)
        out, err = call.communicate(timeout=PATIENCE_SECONDS)
        over.set()
    if mode == "closed":
        assert_blocked(Said(call.returncode, out, err), "it was stopped by a signal")
    else:
        assert Said(call.returncode, out, err) == Said(0, b"{}\n", b"")


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_that_comes_while_the_hook_decides_does_not_cut_it_short(place: Place, number: signal.Signals) -> None:
    """Its decision is on its way."""
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
    eventually("the hook runs", (place.data / "there").exists)
    call.send_signal(number)
    (place.data / "go").touch()
    out, err = call.communicate(timeout=60)

    assert Said(call.returncode, out, err) == BY_HOOK


@pytest.mark.parametrize("mode", ["closed", "open"])
@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE])
def test_a_signal_that_was_there_before_it_is_a_failure_like_any_other(
    place: Place, number: signal.Signals, mode: str
) -> None:
    """What is blocked and has come stays so when a program is started; a broken pipe of somebody else's means nothing."""

    def leave_one() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    done = subprocess.run(
        place.line(mode=mode), input=QUESTION, capture_output=True, env=place.env, preexec_fn=leave_one, check=False
    )
    said = Said(done.returncode, done.stdout, done.stderr)
    if number is signal.SIGPIPE:
        assert said == BY_HOOK
    elif mode == "open":
        assert said == Said(0, b"{}\n", b"")
    else:
        assert_blocked(said, "in time" if number is signal.SIGALRM else "it was stopped by a signal")


def test_whoever_ignores_signals_gets_a_decision_as_well(place: Place) -> None:
    """What a client ignores, its children ignore: that includes how a process ended."""

    def ignore() -> None:
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    done = subprocess.run(
        place.line(), input=QUESTION, capture_output=True, env=place.env, preexec_fn=ignore, check=False
    )
    assert Said(done.returncode, done.stdout, done.stderr) == BY_HOOK


@pytest.mark.parametrize("warm", [True, False])
def test_a_client_that_never_ends_its_question_is_not_waited_for(place: Place, warm: bool) -> None:
    """Whoever waits for it, the client or the hook."""
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
    assert_blocked(Said(code, call.stdout.read(), call.stderr.read()), what)
    for stream in (call.stdin, call.stdout, call.stderr):
        stream.close()


def test_a_question_that_is_too_long_is_read_to_its_end_and_asked_as_such(place: Place) -> None:
    """One byte more than may be is enough to know; the client can write all of it."""

    def behave(connection: socket.socket) -> None:
        warm.ask(connection)
        connection.sendall(ANSWER)

    with FakeWarm(place.data, behave) as warm:
        assert place.ask(b"x" * 50_000_000, seconds="20") == Said(0, b"{}\n", b"")
    (asked,) = warm.questions
    assert protocol.decode_request_prefix(asked[:12])[1] == protocol.MAX_PAYLOAD_BYTES + 1


@pytest.mark.parametrize("closing", ["<&-", "2>&-", "<&- 2>&-"])
def test_without_stdin_or_stderr_it_decides_all_the_same(place: Place, closing: str) -> None:
    """No socket or file of ours is taken for what was closed."""
    line = ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", *place.line()]
    done = subprocess.run(line, input=b"", capture_output=True, cwd=place.project, env=place.env, check=False)

    assert (done.returncode, done.stdout) == (0, BY_HOOK.stdout)
    assert (place.data / "heard").read_bytes() == b""


@pytest.mark.parametrize(("mode", "code"), [("closed", 2), ("open", 0)])
@pytest.mark.parametrize("way", ["closed", "broken", "full"])
def test_when_nobody_hears_the_answer_the_status_says_it(place: Place, mode: str, code: int, way: str) -> None:
    """A closed stdout, one that nobody reads, a disk that is full."""
    redirect = {"closed": ">&-", "broken": "", "full": "> /dev/full"}[way]
    line = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *place.line(mode=mode)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(line, input=QUESTION, stdout=write, cwd=place.project, env=place.env, check=False)
    os.close(write)

    assert done.returncode == code


def test_an_interpreter_that_is_not_absolute_is_not_looked_for(place: Place) -> None:
    """Neither in PATH nor in the project."""
    shutil.copy(place.python, place.project / "python3")
    for name in ("python3", "./python3"):
        line = [str(place.client), "5", "closed", name, "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]
        env = place.env | {"VERDIKT_DAEMON": "off", "PATH": f"{place.project}:{place.env['PATH']}"}
        done = subprocess.run(line, input=QUESTION, capture_output=True, cwd=place.project, env=env, check=False)
        assert_blocked(Said(done.returncode, done.stdout, done.stderr), "it could not be started")


def test_by_hand_the_interpreter_beside_it_is_used(place: Place) -> None:
    """`verdikt-hook claude PreToolUse`, closed, isolated."""
    shutil.copy(place.python, place.client.with_name("python3"))
    done = subprocess.run(
        [str(place.client), "claude", "PreToolUse"], input=QUESTION, capture_output=True, env=place.env, check=False
    )
    assert Said(done.returncode, done.stdout, done.stderr) == BY_HOOK
    place.client.with_name("python3").unlink()
    done = subprocess.run(
        [str(place.client), "claude"], input=QUESTION, capture_output=True, env=place.env, check=False
    )
    assert_blocked(Said(done.returncode, done.stdout, done.stderr), "it could not be started")


@pytest.mark.parametrize(
    "words",
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
def test_called_wrongly_it_blocks(place: Place, words: list[str]) -> None:
    """Broken wiring is not permission."""
    done = subprocess.run([str(place.client), *words], input=b"{}", capture_output=True, env=place.env, check=False)

    assert done.returncode == (0 if "open" in words else 2)
    if "open" not in words:
        assert_blocked(Said(done.returncode, done.stdout, done.stderr), "it was called without a hook")
