"""The native client with the real warm process: its output is that of the hook process, whichever decides."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contract import native
from tests.contract.hook import HookOutput, run_forked
from tests.contract.test_adapters import RECORDED, event_of, load
from tests.contract.test_daemon import receipts
from tests.contract.warm import WarmProcess, bash, remove, wait_until
from verdikt.daemon import protocol
from verdikt.daemon.client import find_daemon_pid
from verdikt.daemon.native import build

HOOK_MODULE = "verdikt.hosts.hook"


@pytest.fixture
def warm() -> Iterator[WarmProcess]:
    """Return a data directory with a short path, without a running warm process."""
    root = native.create_short_directory()
    process = WarmProcess(root, VERDIKT_DAEMON_IDLE="60")
    try:
        yield process
    finally:
        process.end()
        remove(root)


def ask(
    warm: WarmProcess,
    payload: bytes,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    seconds: str = "20",
    program: Path | None = None,
) -> HookOutput:
    """Run the native client as it is registered."""
    hook = [sys.executable, "-I", "-m", HOOK_MODULE, *(arguments or ("claude", "PreToolUse"))]
    line = [str(program or native.client()), seconds, "closed", *hook]
    env = warm.env if env is None else env
    completed_process = subprocess.run(
        line, input=payload, env=env, cwd=warm.home, capture_output=True, timeout=60, check=False
    )
    return HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr)


def iterate_payloads(warm: WarmProcess) -> Iterator[tuple[str, list[str], dict[str, str], bytes]]:
    """Yield every payload that a host really sent, and a few invalid ones."""
    for name in RECORDED:
        payload = load(name)
        env = warm.env | {key: value for key, value in payload.get("env", {}).items() if key in protocol.SENT_VARIABLES}
        yield name, [name.split("/")[0].split("_")[0], event_of(name)], env, json.dumps(payload["payload"]).encode()
    yield "half a payload", ["claude", "PreToolUse"], warm.env, b'{"tool_name": "Ba'
    yield "no payload", ["codex", "PreToolUse"], warm.env, b""
    yield "no payload after", ["claude", "PostToolUse"], warm.env, b""
    yield "bytes", ["gemini", "BeforeTool"], warm.env, bytes(range(256))
    yield "seed 001's wiring", ["claude", "bash"], warm.env, b'{"command": "rm -rf /"}'
    yield "a payload as argument", ["claude", "bash", '{"command": "ls"}'], warm.env, b"not read"
    yield "an unknown host", ["unknown", "before"], warm.env, bash("rm -rf /")
    yield "half a character", ["codex", "PreToolUse"], warm.env, bash("rm -rf /\ud800")
    yield "too long", ["claude", "PreToolUse"], warm.env, b'"' + b"x" * 50_000_000 + b'"'


def test_native_client_and_hook_process_reply_and_record_the_same(
    warm: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Native client with warm process and hook process alone give the same bytes and receipts."""
    requests = list(iterate_payloads(warm))
    warm.start()
    daemon_replies = {name: ask(warm, payload, *arguments, env=env) for name, arguments, env, payload in requests}
    calls = warm.status()["calls"]
    daemon_receipts = receipts(warm.data)
    warm.end()
    warm.started.clear()
    shutil.rmtree(warm.data)
    monkeypatch.chdir(warm.home)
    hook_replies = {name: run_forked(arguments, payload, env) for name, arguments, env, payload in requests}

    assert daemon_replies == hook_replies
    assert receipts(warm.data) == daemon_receipts
    assert calls >= len(requests), "one of them was not decided by the warm process"


@pytest.mark.parametrize("program", ["shipped", "sanitized"])
def test_native_client_without_daemon_replies_like_the_hook_process(
    warm: WarmProcess, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a warm process the client runs `guard.sh` and the hook, with the same output."""
    client = native.client() if program == "shipped" else native.sanitized()
    requests = [
        request for number, request in enumerate(iterate_payloads(warm)) if number % 25 == 0 or number >= len(RECORDED)
    ]
    off = {"VERDIKT_DAEMON": "off", **native.SANITIZER_ENV}
    replies = {
        name: ask(warm, payload, *arguments, env=env | off, program=client)
        for name, arguments, env, payload in requests
    }
    monkeypatch.chdir(warm.home)

    assert replies == {name: run_forked(arguments, payload, env) for name, arguments, env, payload in requests}
    assert find_daemon_pid(warm.run) == 0


def test_first_call_starts_the_daemon_for_the_next(warm: WarmProcess) -> None:
    """The first call decides without waiting and starts the warm process that the second one asks."""
    first = ask(warm, bash("ls", call="one"))
    wait_until("one was started", warm.reachable)
    second = ask(warm, bash("ls", call="two"))

    assert first == second == HookOutput(0, b"{}\n", b"")
    assert warm.calls() == ["one", "two"]
    assert warm.status()["calls"] == 1


def test_call_after_a_kill_works(warm: WarmProcess) -> None:
    """After `kill -9` the next call decides although the socket is still there."""
    warm.start()
    assert ask(warm, bash("ls", call="one")).code == 0
    warm.started[0].kill()
    warm.started[0].wait()

    assert ask(warm, bash("ls", call="two")) == HookOutput(0, b"{}\n", b"")
    assert warm.calls() == ["one", "two"]
    wait_until("another was started", warm.reachable)
    assert ask(warm, bash("rm -rf /", call="three")).code == 2


def test_installed_client_asks_the_warm_process_of_its_own_data_directory(warm: WarmProcess, tmp_path: Path) -> None:
    """Whatever data directory the variables of a project's settings name."""
    hooks = warm.data / "hooks"
    hooks.mkdir(parents=True)
    shutil.copy(native.client(), hooks / "verdikt-hook")
    shutil.copy(native.GUARD, hooks)
    (warm.data / "wiring.json").write_text("{}")
    warm.start()
    moved = warm.env | {"VERDIKT_HOME": str(tmp_path / "moved"), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}

    assert ask(warm, bash("ls", call="one"), env=moved, program=hooks / "verdikt-hook").code == 0

    assert warm.status()["calls"] == 1
    assert warm.calls() == ["one"]
    assert not (tmp_path / "moved").exists()


def test_hanging_daemon_is_a_block(warm: WarmProcess) -> None:
    """A warm process that hangs is a block before the host's timeout, and the call is not decided again."""
    process = warm.start()
    process.send_signal(signal.SIGSTOP)
    replies = ask(warm, bash("ls"), seconds="1")

    assert replies.code == 2
    assert b"the warm process did not answer in time" in replies.stderr
    assert b"verdikt doctor" in replies.stdout
    process.send_signal(signal.SIGCONT)
    wait_until("it goes on", warm.reachable)


def test_native_client_of_another_version_does_not_stop_the_daemon(warm: WarmProcess, tmp_path: Path) -> None:
    """A client from before an upgrade runs the hook process, which asks the warm process."""
    other = tmp_path / "verdikt-hook"
    assert build.run_compiler(other, "0.0.0", ["-O1"]) == ""
    shutil.copy(native.GUARD, tmp_path)
    process = warm.start()

    assert ask(warm, bash("ls", call="one"), program=other) == HookOutput(0, b"{}\n", b"")
    assert ask(warm, bash("ls", call="two"), program=other) == HookOutput(0, b"{}\n", b"")
    assert ask(warm, bash("ls", call="three")).code == 0
    assert process.poll() is None
    assert warm.calls() == ["one", "two", "three"]
    assert warm.status()["calls"] == 5, (
        "the old client's two calls were asked twice: by the client, in vain, and by its hook"
    )


def test_invalid_policy_is_the_same_block_with_and_without_daemon(warm: WarmProcess) -> None:
    """An invalid policy is the same block, with its file name, on both paths."""
    warm.start()
    payload = bash("ls", cwd=str(warm.home))
    assert ask(warm, payload).code == 0
    (warm.home / "governance.yaml").write_text("profile: [")
    asked, alone = ask(warm, payload), ask(warm, payload, env=warm.env | {"VERDIKT_DAEMON": "off"})

    assert asked == alone
    assert asked.code == 2
    assert b"governance.yaml" in asked.stderr
