"""Faults of the warm process: never a reply without its log entry, never a tool that runs without a reply."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.acceptance import accept
from tests.contract.hook import HookOutput
from tests.contract.warm import PATIENCE_SECONDS, WarmProcess, bash, wait_until
from tests.fakes import FakeClock
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.daemon.hook_service import HookService
from verdikt.daemon.proof import create_secret
from verdikt.daemon.request import HookRequest, Peer
from verdikt.ledger.audit import audit

RUN_DAEMON = "import os; from verdikt.daemon.lifecycle import run_daemon; run_daemon([], dict(os.environ))"
"""Code for `python -c` that runs the warm process, after code that changes something about it."""


def is_block(reply: HookOutput) -> bool:
    """Return whether Claude Code would block."""
    return reply.code == 2 and json.loads(reply.stdout)["decision"] == "block" and bool(reply.stderr)


def test_no_answered_entry_is_lost_when_the_daemon_is_killed(place: WarmProcess) -> None:
    """After `kill -9` at any moment every answered call is in the log once, and the chain is intact."""
    answered: list[str] = []
    unknown: list[str] = []
    over = threading.Event()
    chance = random.Random(9)

    def keep_asking(client_number: int) -> None:
        number = 0
        while not over.is_set():
            number += 1
            call = f"{client_number}-{number}"
            try:
                reply = place.ask(bash("ls", call=call))
            except client.DaemonUnreachable:
                time.sleep(0.005)
            except client.NoReply:
                unknown.append(call)
            else:
                assert reply == HookOutput(0, b"{}\n", b"")
                answered.append(call)

    threads = [threading.Thread(target=keep_asking, args=(client_number,)) for client_number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        process = place.start()
        enough = len(answered) + chance.randint(3, 40)
        wait_until("it has answered so many", lambda enough=enough: len(answered) >= enough)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
    over.set()
    for thread in threads:
        thread.join()

    decided = place.calls()
    assert len(answered) > 20
    assert set(answered) <= set(decided)
    assert set(decided) <= set(answered) | set(unknown)
    assert len(decided) == len(set(decided))
    place.start()
    assert place.ask(bash("ls", call="last")).code == 0
    assert place.calls()[-1] == "last"
    assert audit(place.data).is_intact


def test_stale_socket_is_replaced(place: WarmProcess) -> None:
    """After `kill -9` the hook decides itself, and the next warm process replaces the socket."""
    place.start().kill()
    place.started[0].wait()
    assert os.path.exists(place.path)

    assert place.hook(bash("ls", call="one"), VERDIKT_DAEMON="on").code == 0
    wait_until("a new one was started", place.reachable)
    assert place.hook(bash("ls", call="two"), VERDIKT_DAEMON="on").code == 0
    assert place.calls() == ["one", "two"]


def test_file_in_place_of_the_socket_is_replaced(place: WarmProcess) -> None:
    """A file in the socket's place counts as no warm process and is replaced."""
    place.run.mkdir(parents=True, mode=0o700)
    Path(place.path).write_text("not a socket")

    assert place.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
    wait_until("a warm process took its place", place.reachable)


def test_full_disk_blocks_until_there_is_room(place: WarmProcess) -> None:
    """A call that cannot be written is a block; with room again calls work and the chain is intact."""
    limited = (
        "import resource, signal\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, -1))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"{RUN_DAEMON}"
    )
    process = subprocess.Popen([sys.executable, "-I", "-c", limited], env=place.env)
    place.started.append(process)
    wait_until("it listens", place.reachable)

    reply, number = HookOutput(0, b"", b""), 0
    while reply.code == 0 and number < 400:
        number += 1
        reply = place.ask(bash(f"echo {'x' * 20_000}", call=str(number)))

    assert is_block(reply), number
    assert "free some space" in json.loads(reply.stdout)["reason"]
    process.kill()
    process.wait()
    assert place.calls() == [str(each) for each in range(1, number)]
    place.start()
    assert place.ask(bash("ls", call="room again")).code == 0
    assert audit(place.data).is_intact


@pytest.mark.root
def test_full_file_system_blocks_until_there_is_room(place: WarmProcess, tmp_path: Path) -> None:
    """The same on a file system of one megabyte that is really full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False, capture_output=True)
    assert mounted.returncode == 0, mounted.stderr
    small = WarmProcess(disk)
    try:
        small.start()
        assert small.ask(bash("ls", call="one")).code == 0
        filler = disk / "filler"
        with suppress_full_disk(), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        reply = HookOutput(0, b"", b"")
        number = 0
        while reply.code == 0 and number < 40:
            number += 1
            reply = small.ask(bash(f"echo {'x' * 5000}", call=f"full {number}"))
        assert is_block(reply)
        filler.unlink()
        assert small.ask(bash("ls", call="two")).code == 0
        decided = small.calls()
        assert decided[0] == "one"
        assert decided[-1] == "two"
        assert f"full {number}" not in decided
    finally:
        small.end()
        subprocess.run(["umount", "-l", disk], check=False)


class suppress_full_disk:  # noqa: N801 (used like `contextlib.suppress`)
    """Suppress `No space left on device`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, OSError) and error.errno == 28


@pytest.mark.parametrize("count", [2, 10])
def test_one_of_several_daemons_started_at_once_stays(place: WarmProcess, count: int) -> None:
    """Of several processes started at once one serves and the others end with status 0."""
    started = [place.start(wait=False) for _ in range(count)]
    wait_until("one listens", place.reachable)
    wait_until("the others ended", lambda: sum(process.poll() is None for process in started) == 1)

    assert sorted(process.poll() is None for process in started) == [False] * (count - 1) + [True]
    assert all(process.returncode == 0 for process in started if process.poll() is not None)
    assert place.status()["pid"] == next(process.pid for process in started if process.poll() is None)


def test_hook_blocks_when_the_daemon_is_stopped_by_sigstop(warm: WarmProcess) -> None:
    """The hook blocks before an action within its time limit and says why; elsewhere it has no opinion."""
    warm.started[0].send_signal(signal.SIGSTOP)
    try:
        # Enough for a slow machine to read what the call is about: a hook that cannot even do that blocks.
        limits = {"VERDIKT_DAEMON": "on", "VERDIKT_HOOK_SECONDS": "3"}
        before = warm.hook(bash("ls"), **limits)
        payload = bash("ls").replace(b"PreToolUse", b"PostToolUse")
        after = warm.hook(payload, "claude", "PostToolUse", **limits)
    finally:
        warm.started[0].send_signal(signal.SIGCONT)

    assert is_block(before)
    assert "the warm process did not answer in time" in json.loads(before.stdout)["reason"]
    assert (after.code, after.stdout) == (0, b"{}\n")
    assert warm.ask(bash("ls", call="awake again")).code == 0


def test_request_of_a_client_that_hung_up_is_not_decided(warm: WarmProcess) -> None:
    """A client that hung up before its turn is not decided, because its hook has blocked already."""
    warm.started[0].send_signal(signal.SIGSTOP)
    try:
        with warm.connect() as sock:
            sock.sendall(warm.encode_request(bash("ls", call="gone")))
    finally:
        warm.started[0].send_signal(signal.SIGCONT)

    assert warm.ask(bash("ls", call="there")).code == 0
    wait_until("both were let in", lambda: (warm.status()["pending"], warm.status()["refused"]) == (0, 1))
    assert warm.calls() == ["there"]


@pytest.mark.root
def test_daemon_of_another_user_is_not_trusted(place: WarmProcess) -> None:
    """A process of another user behind the socket is ignored, and the hook decides itself."""
    place.run.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as impostor:
        impostor.bind(place.path)
        os.setegid(65534)
        os.seteuid(65534)
        try:
            impostor.listen()  # the kernel remembers who does this
        finally:
            os.seteuid(0)
            os.setegid(0)

        assert place.hook(bash("rm -rf /"), VERDIKT_DAEMON="on").code == 2
    assert place.calls() == ["t1"]
    wait_until("one was started for the next call", lambda: client.find_daemon_pid(place.run))


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_socket_in_an_open_directory_is_not_trusted(place: WarmProcess, mode: int) -> None:
    """A socket in a directory that is open to others is ignored, and the hook decides itself."""
    place.run.mkdir(parents=True, mode=0o700)
    place.run.chmod(mode)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as impostor:
        impostor.bind(place.path)
        impostor.listen()

        with pytest.raises(client.DaemonUnreachable, match="closed to other users"):
            client.send_request(place.path, b"", 1.0)
        assert place.hook(bash("rm -rf /"), VERDIKT_DAEMON="on").code == 2
    assert place.calls() == ["t1"]
    wait_until("one was started for the next call", lambda: client.find_daemon_pid(place.run))


def test_hook_blocks_when_the_daemon_ends_before_it_replies(place: WarmProcess) -> None:
    """A request that was received must not be decided a second time, so the hook blocks."""
    place.run.mkdir(parents=True, mode=0o700)
    create_secret(place.run)  # without one, the hook does not even ask
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(place.path)
        listener.listen()

        def hang_up() -> None:
            connection, _ = listener.accept()
            length = protocol.REQUEST_PREFIX_BYTES + sum(
                protocol.decode_request_prefix(connection.recv(protocol.REQUEST_PREFIX_BYTES))
            )
            remaining_bytes = length - protocol.REQUEST_PREFIX_BYTES
            while remaining_bytes:
                remaining_bytes -= len(connection.recv(remaining_bytes))
            connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        reply = place.hook(bash("ls"), VERDIKT_DAEMON="on")
        thread.join(PATIENCE_SECONDS)

    assert is_block(reply)
    assert "the warm process ended before it answered" in json.loads(reply.stdout)["reason"]


def test_invalid_policy_blocks_until_it_is_fixed(warm: WarmProcess) -> None:
    """An invalid policy blocks with its file name until it is fixed, without a restart."""
    policy = warm.home / ".config" / "verdikt" / "governance.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text("profile: standard\n")
    assert warm.ask(bash("ls")).code == 0

    policy.write_text("profile: [\n")
    broken = warm.ask(bash("ls"))
    policy.write_text("profile: standard\n")

    assert broken.code == 2
    assert str(policy) in json.loads(broken.stdout)["reason"]
    assert warm.ask(bash("ls")).code == 0


@pytest.mark.parametrize("jump", [-10 * 365 * 86400.0, -3600.0, 3600.0, 10 * 365 * 86400.0])
def test_clock_jump_changes_no_decision(tmp_path: Path, jump: float) -> None:
    """Whichever way the clock jumps, calls are decided and recorded in order and policy changes are noticed."""
    home, clock = tmp_path / "home", FakeClock(time.time())
    policy = home / ".config/verdikt/governance.yaml"
    policy.parent.mkdir(parents=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    warm = HookService(home / ".local/share/verdikt", clock)

    def ask(command: str) -> int:
        texts = {"version": __version__, "host": "claude", "event": "PreToolUse", "argument": "", "cwd": str(home)}
        return warm.answer_request(HookRequest(**texts, env=env, payload=bash(command), peer=Peer(0, 0))).status

    rule = "rules:\n  - {name: %s, command: %s, verdict: block, reason: no, fix: do not}\n"
    codes = []
    for _ in range(2):
        policy.write_text(rule % ("no_a", "echo a"))
        accept(home, env)
        codes += [ask("echo a"), ask("echo b")]
        clock.seconds += jump
        policy.write_text(rule % ("no_b", "echo b"))
        accept(home, env)
        codes += [ask("echo a"), ask("echo b")]
        clock.seconds -= jump / 2
    warm.close()

    assert codes == [2, 0, 0, 2] * 2
    report = audit(home / ".local/share/verdikt")
    assert report.is_intact
    assert report.entry_count == 8 + 6  # the operator's log: session, key, four acceptances


def test_thousand_idle_connections_do_not_starve_requests(warm: WarmProcess) -> None:
    """Requests are answered while a thousand connections are open and idle."""
    idle = []
    try:
        for _ in range(1000):
            idle.append(warm.connect())
        assert warm.ask(bash("ls", call="among a thousand")).code == 0
        assert warm.hook(bash("ls", call="a hook among them"), VERDIKT_DAEMON="on").code == 0
        assert warm.status()["open"] >= 1000
    finally:
        for sock in idle:
            sock.close()
    assert warm.calls() == ["among a thousand", "a hook among them"]


def test_slow_client_delays_no_other_and_is_refused(place: WarmProcess) -> None:
    """A client that sends a byte at a time delays no other and is refused after its timeout."""
    impatient = f"import verdikt.daemon.acceptor as acceptor; acceptor.REQUEST_TIMEOUT_SECONDS = 1.0\n{RUN_DAEMON}"
    place.started.append(subprocess.Popen([sys.executable, "-I", "-c", impatient], env=place.env))
    wait_until("it listens", place.reachable)
    request = place.encode_request(bash("ls", call="slow"))
    with place.connect() as slow:
        for at in range(5):
            slow.sendall(request[at : at + 1])
            assert place.ask(bash("ls", call=f"quick {at}")).code == 0
        refused = slow.recv(4096)

    kind, status, _, _ = protocol.decode_reply_prefix(refused[: protocol.REPLY_PREFIX_BYTES])
    assert (kind, status) == (protocol.KIND_REFUSED, 2)
    assert b"expected the request within" in refused
    assert "slow" not in place.calls()


def test_request_of_fifty_megabytes_is_refused_without_buffering(warm: WarmProcess) -> None:
    """A request that is too long is refused by its length, and a payload that is too long is a block."""
    before = warm.status()["memory_kb"]
    head = b"x\0" * 6
    with warm.connect() as sock:
        sock.sendall(protocol.MAGIC + len(head).to_bytes(4, "big") + (50_000_000).to_bytes(4, "big"))
        reply_data = sock.recv(4096)
    reply = warm.hook(b'{"tool_input":"' + b"x" * 50_000_000 + b'"}', VERDIKT_DAEMON="on")

    assert protocol.decode_reply_prefix(reply_data[: protocol.REPLY_PREFIX_BYTES])[0] == protocol.KIND_REFUSED
    assert is_block(reply)
    assert "expected a payload of at most" in json.loads(reply.stdout)["reason"]
    assert warm.ask(bash("ls")).code == 0
    assert warm.status()["memory_kb"] < before + 120_000


@pytest.mark.parametrize(
    "bytes_",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"VDK1" + b"\xff" * 8,
        b"VDK1\0\0\0\3\0\0\0\0a\0b",
        b"VDK1\0\0\0\2\0\0\0\0a\0",
        b"\0" * 64,
    ],
)
def test_malformed_request_is_refused(warm: WarmProcess, bytes_: bytes) -> None:
    """Bytes that are not a request are refused, and the next client is answered."""
    with warm.connect() as sock:
        sock.sendall(bytes_)
        reply_data = sock.recv(4096)

    assert protocol.decode_reply_prefix(reply_data[: protocol.REPLY_PREFIX_BYTES])[0] == protocol.KIND_REFUSED
    assert warm.ask(bash("ls")).code == 0


@pytest.mark.parametrize("full", ["", "def full(_): raise RuntimeError\nthreading.Timer.start = full\n"])
def test_daemon_ends_although_closing_hangs(place: WarmProcess, full: str) -> None:
    """The process ends although closing its files hangs, also when no thread can be started."""
    hanging = (
        "import threading; from verdikt.daemon import hook_service, lifecycle\n"
        f"{full}lifecycle.SHUTDOWN_SECONDS = 0.2\n"
        "hook_service.HookService.close = lambda _: threading.Event().wait()\n"
        f"{RUN_DAEMON}"
    )
    process = subprocess.Popen([sys.executable, "-I", "-c", hanging], env=place.env)
    place.started.append(process)
    wait_until("it listens", place.reachable)
    process.terminate()

    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("flags", [["-I"], ["-E", "-P"]])
def test_python_flags_match_those_of_the_caller(flags: list[str]) -> None:
    """A started process finds verdikt where its starter found it, in a user's own site too."""
    code = "from verdikt.daemon import client; print(*client.get_python_flags())"
    completed_process = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)

    assert completed_process.stdout.split() == flags


def test_daemon_ends_when_its_directory_is_deleted(warm: WarmProcess) -> None:
    """A warm process whose socket is gone ends, and the next hook starts another."""
    shutil.rmtree(warm.run)

    assert warm.started[0].wait(timeout=60) == 0
    assert warm.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
    wait_until("a new one was started", warm.reachable)
