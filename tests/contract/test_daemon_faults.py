"""What happens to the warm process, and what must never come of it: an answer without its entry, or a tool run without an answer."""

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

from tests.contract.hook import Said
from tests.contract.warm import WarmProcess, bash, eventually
from tests.fakes import FakeClock
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.daemon.hook_service import HookService
from verdikt.daemon.request import HookRequest, Peer
from verdikt.ledger.audit import audit


def is_block(said: Said) -> bool:
    """Whether Claude Code would stop here."""
    return said.code == 2 and json.loads(said.stdout)["decision"] == "block" and bool(said.stderr)


def test_killed_at_any_moment_no_answered_entry_is_missing(place: WarmProcess) -> None:
    """`kill -9` again and again, while four clients ask: whoever got an answer finds it in the log, the chain holds, the next call works."""
    answered: list[str] = []
    unknown: list[str] = []
    over = threading.Event()
    chance = random.Random(9)

    def ask_on(who: int) -> None:
        number = 0
        while not over.is_set():
            number += 1
            call = f"{who}-{number}"
            try:
                said = place.ask(bash("ls", call=call))
            except client.DaemonUnreachable:
                time.sleep(0.005)
            except client.NoReply:
                unknown.append(call)
            else:
                assert said == Said(0, b"{}\n", b"")
                answered.append(call)

    threads = [threading.Thread(target=ask_on, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        process = place.start()
        enough = len(answered) + chance.randint(3, 40)
        eventually("it has answered so many", lambda enough=enough: len(answered) >= enough)  # type: ignore[misc]
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


def test_a_stale_socket_is_no_obstacle(place: WarmProcess) -> None:
    """After `kill -9` the hook decides by itself, and the next warm process takes the socket over."""
    place.start().kill()
    place.started[0].wait()
    assert os.path.exists(place.path)

    assert place.hook(bash("ls", call="one"), VERDIKT_DAEMON="on").code == 0
    eventually("a new one was started", place.reachable)
    assert place.hook(bash("ls", call="two"), VERDIKT_DAEMON="on").code == 0
    assert place.calls() == ["one", "two"]


def test_what_is_no_socket_is_no_obstacle(place: WarmProcess) -> None:
    """A file in the socket's place counts as nobody there."""
    place.run.mkdir(parents=True, mode=0o700)
    Path(place.path).write_text("not a socket")

    assert place.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
    eventually("a warm process took its place", place.reachable)


def test_a_full_disk_blocks(place: WarmProcess) -> None:
    """Nothing is answered that could not be written; with room again it goes on, and the chain holds."""
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, -1)); import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv = ['verdikt.daemon']; runpy.run_module('verdikt.daemon', run_name='__main__')"
    process = subprocess.Popen([sys.executable, "-I", "-c", limited], env=place.env)
    place.started.append(process)
    eventually("it listens", place.reachable)

    said, number = Said(0, b"", b""), 0
    while said.code == 0 and number < 400:
        number += 1
        said = place.ask(bash(f"echo {'x' * 20_000}", call=str(number)))

    assert is_block(said), number
    assert "free some space" in json.loads(said.stdout)["reason"]
    process.kill()
    process.wait()
    assert place.calls() == [str(each) for each in range(1, number)]
    place.start()
    assert place.ask(bash("ls", call="room again")).code == 0
    assert audit(place.data).is_intact


@pytest.mark.root
def test_a_full_file_system_blocks(place: WarmProcess, tmp_path: Path) -> None:
    """The same on a disk that is really full: a file system of one megabyte."""
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
        said = Said(0, b"", b"")
        number = 0
        while said.code == 0 and number < 40:
            number += 1
            said = small.ask(bash(f"echo {'x' * 5000}", call=f"full {number}"))
        assert is_block(said)
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
    """Suppresses `No space left on device`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, OSError) and error.errno == 28


@pytest.mark.parametrize("count", [2, 10])
def test_of_several_started_at_once_one_stays(place: WarmProcess, count: int) -> None:
    """The others leave quietly, and whoever asks is answered by the one."""
    started = [place.start(wait=False) for _ in range(count)]
    eventually("one listens", place.reachable)
    eventually("the others left", lambda: sum(process.poll() is None for process in started) == 1)

    assert sorted(process.poll() is None for process in started) == [False] * (count - 1) + [True]
    assert all(process.returncode == 0 for process in started if process.poll() is not None)
    assert place.status()["pid"] == next(process.pid for process in started if process.poll() is None)


def test_a_stopped_process_makes_the_hook_block_and_say_so(warm: WarmProcess) -> None:
    """SIGSTOP: the hook waits no longer than it may, blocks before an action and says why; elsewhere it lets go."""
    warm.started[0].send_signal(signal.SIGSTOP)
    try:
        before = warm.hook(bash("ls"), VERDIKT_DAEMON="on", VERDIKT_HOOK_SECONDS="0.5")
        payload = bash("ls").replace(b"PreToolUse", b"PostToolUse")
        after = warm.hook(payload, "claude", "PostToolUse", VERDIKT_DAEMON="on", VERDIKT_HOOK_SECONDS="0.5")
    finally:
        warm.started[0].send_signal(signal.SIGCONT)

    assert is_block(before)
    assert "the warm process did not answer in time" in json.loads(before.stdout)["reason"]
    assert (after.code, after.stdout) == (0, b"{}\n")
    assert warm.ask(bash("ls", call="awake again")).code == 0


def test_nothing_is_decided_for_a_client_that_has_hung_up(warm: WarmProcess) -> None:
    """It asked and went away before anybody came to it: its hook has long blocked."""
    warm.started[0].send_signal(signal.SIGSTOP)
    try:
        with warm.connect() as sock:
            sock.sendall(warm.question(bash("ls", call="gone")))
    finally:
        warm.started[0].send_signal(signal.SIGCONT)

    assert warm.ask(bash("ls", call="there")).code == 0
    eventually("both were let in", lambda: (warm.status()["pending"], warm.status()["refused"]) == (0, 1))
    assert warm.calls() == ["there"]


@pytest.mark.root
def test_a_process_of_another_user_is_not_believed(place: WarmProcess) -> None:
    """Whoever managed to listen in its place is nobody: the hook decides by itself."""
    place.run.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        stranger.bind(place.path)
        os.setegid(65534)
        os.seteuid(65534)
        try:
            stranger.listen()  # the kernel remembers who does this
        finally:
            os.seteuid(0)
            os.setegid(0)

        assert place.hook(bash("rm -rf /"), VERDIKT_DAEMON="on").code == 2
    assert place.calls() == ["t1"]
    eventually("one was started for the next call", lambda: client.find_daemon_pid(place.run))


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_a_socket_where_others_could_have_put_it_is_not_believed(place: WarmProcess, mode: int) -> None:
    """The hook decides by itself, as the native client does."""
    place.run.mkdir(parents=True, mode=0o700)
    place.run.chmod(mode)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as liar:
        liar.bind(place.path)
        liar.listen()

        with pytest.raises(client.DaemonUnreachable, match="closed to other users"):
            client.send_request(place.path, b"", 1.0)
        assert place.hook(bash("rm -rf /"), VERDIKT_DAEMON="on").code == 2
    assert place.calls() == ["t1"]
    eventually("one was started for the next call", lambda: client.find_daemon_pid(place.run))


def test_a_process_that_ends_before_it_answers_makes_the_hook_block(place: WarmProcess) -> None:
    """The question was heard, so nobody may decide it again."""
    place.run.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(place.path)
        deaf.listen()

        def hang_up() -> None:
            heard, _ = deaf.accept()
            length = protocol.REQUEST_PREFIX_BYTES + sum(
                protocol.decode_request_prefix(heard.recv(protocol.REQUEST_PREFIX_BYTES))
            )
            left = length - protocol.REQUEST_PREFIX_BYTES
            while left:
                left -= len(heard.recv(left))
            heard.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        said = place.hook(bash("ls"), VERDIKT_DAEMON="on")
        thread.join()

    assert is_block(said)
    assert "the warm process ended before it answered" in json.loads(said.stdout)["reason"]


def test_a_policy_that_breaks_blocks_until_it_is_mended(warm: WarmProcess) -> None:
    """The message names file and fault; nothing needs to be restarted."""
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
def test_a_clock_that_jumps_changes_no_decision(tmp_path: Path, jump: float) -> None:
    """Backwards and forwards: calls are decided and recorded in order, and a changed policy is noticed."""
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
        codes += [ask("echo a"), ask("echo b")]
        clock.seconds += jump
        policy.write_text(rule % ("no_b", "echo b"))
        codes += [ask("echo a"), ask("echo b")]
        clock.seconds -= jump / 2
    warm.close()

    assert codes == [2, 0, 0, 2] * 2
    found = audit(home / ".local/share/verdikt")
    assert found.is_intact
    assert found.entry_count == 8


def test_a_thousand_open_connections_starve_nobody(warm: WarmProcess) -> None:
    """Each is open and has asked nothing; whoever asks is answered."""
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


def test_a_client_that_writes_slowly_holds_nobody_up_and_is_sent_away(place: WarmProcess) -> None:
    """One byte at a time: the others are answered meanwhile, and it is refused when its time is over."""
    quick = "import verdikt.daemon.acceptor as l; l.ASK_SECONDS = 1.0; import sys, runpy; sys.argv = ['verdikt.daemon']; runpy.run_module('verdikt.daemon', run_name='__main__')"
    place.started.append(subprocess.Popen([sys.executable, "-I", "-c", quick], env=place.env))
    eventually("it listens", place.reachable)
    question = place.question(bash("ls", call="slow"))
    with place.connect() as slow:
        for at in range(5):
            slow.sendall(question[at : at + 1])
            assert place.ask(bash("ls", call=f"quick {at}")).code == 0
        refused = slow.recv(4096)

    kind, status, _, _ = protocol.decode_reply_prefix(refused[: protocol.REPLY_PREFIX_BYTES])
    assert (kind, status) == (protocol.KIND_REFUSED, 2)
    assert b"expected the question within" in refused
    assert "slow" not in place.calls()


def test_fifty_megabytes_are_refused_without_being_held(warm: WarmProcess) -> None:
    """By the socket at once, and through the hook as any payload that is too long."""
    before = warm.status()["memory_kb"]
    head = b"x\0" * 6
    with warm.connect() as sock:
        sock.sendall(protocol.MAGIC + len(head).to_bytes(4, "big") + (50_000_000).to_bytes(4, "big"))
        answer = sock.recv(4096)
    said = warm.hook(b'{"tool_input":"' + b"x" * 50_000_000 + b'"}', VERDIKT_DAEMON="on")

    assert protocol.decode_reply_prefix(answer[: protocol.REPLY_PREFIX_BYTES])[0] == protocol.KIND_REFUSED
    assert is_block(said)
    assert "expected a payload of at most" in json.loads(said.stdout)["reason"]
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
def test_what_is_no_question_is_refused(warm: WarmProcess, bytes_: bytes) -> None:
    """And the next client is answered."""
    with warm.connect() as sock:
        sock.sendall(bytes_)
        answer = sock.recv(4096)

    assert protocol.decode_reply_prefix(answer[: protocol.REPLY_PREFIX_BYTES])[0] == protocol.KIND_REFUSED
    assert warm.ask(bash("ls")).code == 0


@pytest.mark.parametrize("full", ["", "def full(_): raise RuntimeError\nthreading.Timer.start = full\n"])
def test_a_process_ends_although_its_files_cannot_be_closed(place: WarmProcess, full: str) -> None:
    """A decision that hangs may hold what closing waits for; also where no thread can be started to wait for it."""
    hanging = (
        "import threading; from verdikt.daemon import server, hook_service; from verdikt.daemon.__main__ import main\n"
        f"{full}server.SHUTDOWN_SECONDS = 0.2; hook_service.HookService.close = lambda _: threading.Event().wait(); main([])"
    )
    process = subprocess.Popen([sys.executable, "-I", "-c", hanging], env=place.env)
    place.started.append(process)
    eventually("it listens", place.reachable)
    process.terminate()

    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("flags", [["-I"], ["-E", "-P"]])
def test_what_is_started_finds_what_its_starter_found(flags: list[str]) -> None:
    """A verdikt that only a user's own site holds is no less one."""
    code = "from verdikt.daemon import client; print(*client.get_python_flags())"
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == flags


def test_a_process_whose_directory_goes_makes_room(warm: WarmProcess) -> None:
    """Who finds the socket gone starts another; the old one ends by itself."""
    shutil.rmtree(warm.run)

    assert warm.started[0].wait(timeout=60) == 0
    assert warm.hook(bash("ls"), VERDIKT_DAEMON="on").code == 0
    eventually("a new one was started", warm.reachable)
