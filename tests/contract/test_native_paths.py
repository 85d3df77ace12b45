"""The native client with the real warm process: it says what the hook process says, whichever of the two decides."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contract import native
from tests.contract.hook import Said, run_forked
from tests.contract.test_adapters import RECORDED, event_of, load
from tests.contract.test_daemon import receipts
from tests.contract.warm import WarmProcess, bash, eventually, remove
from verdikt.daemon import protocol
from verdikt.daemon.client import find_daemon_pid
from verdikt.daemon.native import build

HOOK_MODULE = "verdikt.hosts.hook"


@pytest.fixture
def warm() -> Iterator[WarmProcess]:
    """A place for a warm process, with a short path; none lives there yet."""
    root = native.short_directory()
    process = WarmProcess(root, VERDIKT_DAEMON_IDLE="60")
    try:
        yield process
    finally:
        process.end()
        remove(root)


def ask(
    warm: WarmProcess,
    payload: bytes,
    *words: str,
    env: Mapping[str, str] | None = None,
    seconds: str = "20",
    program: Path | None = None,
) -> Said:
    """The native client, as it is registered."""
    hook = [sys.executable, "-I", "-m", HOOK_MODULE, *(words or ("claude", "PreToolUse"))]
    line = [str(program or native.client()), seconds, "closed", *hook]
    env = warm.env if env is None else env
    done = subprocess.run(line, input=payload, env=env, cwd=warm.home, capture_output=True, timeout=60, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


def recorded(warm: WarmProcess) -> Iterator[tuple[str, list[str], dict[str, str], bytes]]:
    """Every payload that a client really sent, and a few that none should."""
    for name in RECORDED:
        found = load(name)
        env = warm.env | {key: value for key, value in found.get("env", {}).items() if key in protocol.SENT_VARIABLES}
        yield name, [name.split("/")[0].split("_")[0], event_of(name)], env, json.dumps(found["payload"]).encode()
    yield "half a payload", ["claude", "PreToolUse"], warm.env, b'{"tool_name": "Ba'
    yield "no payload", ["codex", "PreToolUse"], warm.env, b""
    yield "no payload after", ["claude", "PostToolUse"], warm.env, b""
    yield "bytes", ["gemini", "BeforeTool"], warm.env, bytes(range(256))
    yield "seed 001's wiring", ["claude", "bash"], warm.env, b'{"command": "rm -rf /"}'
    yield "a payload as argument", ["claude", "bash", '{"command": "ls"}'], warm.env, b"not read"
    yield "an unknown host", ["nobody", "before"], warm.env, bash("rm -rf /")
    yield "half a character", ["codex", "PreToolUse"], warm.env, bash("rm -rf /\ud800")
    yield "too long", ["claude", "PreToolUse"], warm.env, b'"' + b"x" * 50_000_000 + b'"'


def test_every_recorded_payload_gets_the_same_bytes_and_leaves_the_same_receipts(
    warm: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Native client and warm process on one side, the hook process alone on the other."""
    questions = list(recorded(warm))
    warm.start()
    asked = {name: ask(warm, payload, *words, env=env) for name, words, env, payload in questions}
    calls = warm.status()["calls"]
    kept = receipts(warm.data)
    warm.end()
    warm.started.clear()
    shutil.rmtree(warm.data)
    monkeypatch.chdir(warm.home)
    alone = {name: run_forked(words, payload, env) for name, words, env, payload in questions}

    assert asked == alone
    assert receipts(warm.data) == kept
    assert calls == len(questions), "one of them was not decided by the warm process"


@pytest.mark.parametrize("program", ["shipped", "sanitized"])
def test_without_a_warm_process_the_bytes_are_the_same_too(
    warm: WarmProcess, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client leaves it to the script beside it, which runs the hook process."""
    client = native.client() if program == "shipped" else native.sanitized()
    questions = [each for number, each in enumerate(recorded(warm)) if number % 25 == 0 or number >= len(RECORDED)]
    off = {"VERDIKT_DAEMON": "off", **native.SANITIZER_ENV}
    said = {name: ask(warm, payload, *words, env=env | off, program=client) for name, words, env, payload in questions}
    monkeypatch.chdir(warm.home)

    assert said == {name: run_forked(words, payload, env) for name, words, env, payload in questions}
    assert find_daemon_pid(warm.run) == 0


def test_the_first_call_starts_the_warm_process_and_the_next_asks_it(warm: WarmProcess) -> None:
    """Nobody waits for it, and every call is in the log once."""
    first = ask(warm, bash("ls", call="one"))
    eventually("one was started", warm.reachable)
    second = ask(warm, bash("ls", call="two"))

    assert first == second == Said(0, b"{}\n", b"")
    assert warm.calls() == ["one", "two"]
    assert warm.status()["calls"] == 1


def test_after_a_kill_the_next_call_works(warm: WarmProcess) -> None:
    """Its socket is still there, and nobody behind it."""
    warm.start()
    assert ask(warm, bash("ls", call="one")).code == 0
    warm.started[0].kill()
    warm.started[0].wait()

    assert ask(warm, bash("ls", call="two")) == Said(0, b"{}\n", b"")
    assert warm.calls() == ["one", "two"]
    eventually("another was started", warm.reachable)
    assert ask(warm, bash("rm -rf /", call="three")).code == 2


def test_one_that_hangs_is_a_block_that_says_so(warm: WarmProcess) -> None:
    """Before the deadline of the client; it is not decided a second time."""
    process = warm.start()
    process.send_signal(signal.SIGSTOP)
    said = ask(warm, bash("ls"), seconds="1")

    assert said.code == 2
    assert b"the warm process did not answer in time" in said.stderr
    assert b"verdikt doctor" in said.stdout
    process.send_signal(signal.SIGCONT)
    eventually("it goes on", warm.reachable)


def test_a_client_that_an_upgrade_left_behind_ends_nobody(warm: WarmProcess, tmp_path: Path) -> None:
    """The hook process that it turns to is of the version that is installed, and asks the warm process."""
    other = tmp_path / "verdikt-hook"
    assert build.run_compiler(other, "0.0.0", ["-O1"]) == ""
    shutil.copy(native.GUARD, tmp_path)
    process = warm.start()

    assert ask(warm, bash("ls", call="one"), program=other) == Said(0, b"{}\n", b"")
    assert ask(warm, bash("ls", call="two"), program=other) == Said(0, b"{}\n", b"")
    assert ask(warm, bash("ls", call="three")).code == 0
    assert process.poll() is None
    assert warm.calls() == ["one", "two", "three"]
    assert warm.status()["calls"] == 5, "each was asked, and what was left behind asked in vain before"


def test_a_broken_policy_is_the_same_block_on_both_paths(warm: WarmProcess) -> None:
    """With the message that says where."""
    warm.start()
    payload = bash("ls", cwd=str(warm.home))
    assert ask(warm, payload).code == 0
    (warm.home / "governance.yaml").write_text("profile: [")
    asked, alone = ask(warm, payload), ask(warm, payload, env=warm.env | {"VERDIKT_DAEMON": "off"})

    assert asked == alone
    assert asked.code == 2
    assert b"governance.yaml" in asked.stderr
