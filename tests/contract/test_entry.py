"""The hook entry: exactly one document on stdout, a block before an action, no opinion elsewhere, whatever comes in."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.hook import Said, catches, run_forked
from tests.contract.test_adapters import PAYLOADS, RECORDED, event_of, load
from tests.contract.warm import eventually
from verdikt import hosts
from verdikt.errors import VerdiktError
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.payload import parse_payload
from verdikt.hosts.registry import HOSTS, load_adapter

BEFORE = [
    name
    for name in RECORDED
    if (host := name.split("/")[0].split("_")[0])
    and HOSTS[host].events.get(event_of(name), HookEventKind.NOTICE).fails_closed
]
OTHERS = [name for name in RECORDED if name not in BEFORE]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a home of its own."""
    return {
        "VERDIKT_HOME": str(tmp_path / "data"),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "VERDIKT_DAEMON": "off",
    }


def crashes(env: dict[str, str]) -> list[dict[str, Any]]:
    """Return the recorded crashes."""
    file = Path(env["VERDIKT_HOME"]) / "_hook_crashes.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def is_block(said: Said) -> bool:
    """Whether this blocks on the client that it was said to."""
    document = json.loads(said.stdout)
    decision = document.get("hookSpecificOutput", {}).get("decision", {})
    flat = document.get("permissionDecision") or document.get("permission") or document.get("behavior")
    if said.code == 2:
        return document.get("decision") == "block" and bool(document["reason"] and said.stderr)
    return said.code == 0 and ("deny" in (flat, decision.get("behavior")))


HALF = b'{"session_id": "s", "tool_name": "Bash", "tool_inp'
BAD = {
    "nothing": b"",
    "half a document": HALF,
    "not JSON": b"rm -rf /",
    "bytes": bytes(range(256)),
    "two documents": b"{}{}",
    "an empty object": b"{}",
    "a list": b"[1]",
    "null": b"null",
    "nested a hundred thousand deep": b'{"tool_name":"Bash","tool_input":' + b"[" * 100_000,
    "fifty megabytes": b'{"tool_name":"Bash","tool_input":{"command":"' + b"x" * 50_000_000 + b'"}}',
}


CLOSED = [f"{host} {event}" for host in HOSTS for event, kind in HOSTS[host].events.items() if kind.fails_closed]
OPEN = [
    f"{host} {event}"
    for host in HOSTS
    for event, kind in HOSTS[host].events.items()
    if not kind.fails_closed and event != "notice"
]
LARGE = "fifty megabytes"


@pytest.mark.parametrize("wired", CLOSED)
@pytest.mark.parametrize("bad", [bad for bad in BAD if bad != LARGE])
def test_what_cannot_be_read_is_blocked_before_an_action(wired: str, bad: str, env: dict[str, str]) -> None:
    """And the crash is on record, unless an empty object stands for something there."""
    said = run_forked(wired.split(), BAD[bad], env)

    assert is_block(said)
    assert said.stdout.count(b"\n") == 1
    assert b"Traceback" not in said.stdout + said.stderr
    assert crashes(env) or bad == "an empty object"


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_too_large_is_blocked_before_an_action_on_every_host(host: str, env: dict[str, str]) -> None:
    """Fifty megabytes, of which the client gets rid."""
    events = HOSTS[host].events
    before = next(event for event, kind in events.items() if kind is HookEventKind.BEFORE)
    after = next(event for event, kind in events.items() if kind is HookEventKind.AFTER)

    assert is_block(run_forked([host, before], BAD[LARGE], env))
    assert run_forked([host, after], BAD[LARGE], env)[:2] == (0, b"{}\n")


@pytest.mark.parametrize("wired", OPEN)
@pytest.mark.parametrize("bad", ["nothing", "half a document", "bytes", "null"])
def test_elsewhere_it_is_no_opinion_and_a_recorded_crash(wired: str, bad: str, env: dict[str, str]) -> None:
    """A hook that only watches holds nobody up."""
    said = run_forked(wired.split(), BAD[bad], env)

    assert (said.code, said.stdout) == (0, b"{}\n")
    assert [crash["hook"] for crash in crashes(env)] == [wired.replace(" ", ".")]


def test_without_an_event_in_the_wiring_what_cannot_be_read_is_blocked(env: dict[str, str]) -> None:
    """Nobody knows what it was, so it is taken for the worst."""
    assert is_block(run_forked(["claude"], HALF, env))
    assert is_block(run_forked([], HALF, env))
    assert is_block(run_forked(["nobody", "nothing"], HALF, env))


WRONG = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn, names: list[str]) -> tuple[str, str, bytes]:
    """Draw a recorded payload with fields replaced, dropped or added, or with its bytes cut."""
    name = draw(st.sampled_from(names))
    payload = dict(load(name)["payload"])
    for _ in range(draw(st.integers(0, 3))):
        key = draw(st.sampled_from(sorted(payload)) | st.text(max_size=10)) if payload else "x"
        if draw(st.booleans()):
            payload[key] = draw(WRONG)
        else:
            payload.pop(key, None)
    raw = json.dumps(payload).encode()
    if draw(st.integers(0, 4)) == 0:
        raw = raw[: draw(st.integers(0, len(raw)))]
    return name.split("/")[0].split("_")[0], event_of(name), raw


def is_understood(host: str, event: str, raw: bytes) -> bool:
    """Whether a payload stands for a moment."""
    try:
        load_adapter(host).decode(parse_payload(raw), event, {})
    except VerdiktError:
        return False
    return True


@given(case=mutated(BEFORE))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_payload_before_an_action_gets_a_well_formed_answer(
    case: tuple[str, str, bytes], env: dict[str, str]
) -> None:
    """One object on stdout; a status of 2 comes with a block in words; never a traceback."""
    host, event, raw = case
    said = run_forked([host, event], raw, env)
    document = json.loads(said.stdout)

    assert said.code in (0, 2)
    assert isinstance(document, dict)
    assert said.code == 0 or is_block(said)
    assert is_understood(host, event, raw) or is_block(said)
    assert b"Traceback" not in said.stdout + said.stderr


@given(case=mutated(OTHERS))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_payload_elsewhere_gets_a_well_formed_answer(case: tuple[str, str, bytes], env: dict[str, str]) -> None:
    """Status 0 or a refusal in words; no opinion where nobody knows what it was about."""
    host, event, raw = case
    said = run_forked([host, event], raw, env)

    assert said.code in (0, 2)
    assert isinstance(json.loads(said.stdout), dict)
    known = HOSTS[host].events.get(event) is not None
    assert is_understood(host, event, raw) or not known or (said.code, said.stdout) == (0, b"{}\n")
    assert b"Traceback" not in said.stdout + said.stderr


def python(*arguments: str, env: dict[str, str], **popen: Any) -> "subprocess.Popen[bytes]":
    """Start the entry in an interpreter of its own."""
    command = [sys.executable, "-m", "verdikt.hosts.hook", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, **popen)


def test_a_client_that_never_finishes_writing_gets_a_block_in_time(env: dict[str, str]) -> None:
    """The watchdog answers before the client would give up, however far the hook has come by then."""
    hook = python("claude", "PreToolUse", env=env | {"VERDIKT_HOOK_SECONDS": "0.3"})
    assert hook.stdin
    assert hook.stdout
    hook.stdin.write(HALF)
    hook.stdin.flush()

    document = json.loads(hook.stdout.readline())
    assert hook.wait() == 2
    assert document["decision"] == "block"
    hook.communicate()


def test_the_watchdog_says_that_it_took_too_long(env: dict[str, str]) -> None:
    """Its signal, once the hook is known to wait for the rest of the payload."""
    hook = python("claude", "PreToolUse", env=env)
    assert hook.stdin
    hook.stdin.write(HALF)
    hook.stdin.flush()
    while fcntl.ioctl(hook.stdin, termios.FIONREAD, b"\0" * 4) != b"\0" * 4:  # until the hook has read what there is
        time.sleep(0.01)
    hook.send_signal(signal.SIGALRM)
    stdout, _ = hook.communicate()

    assert hook.returncode == 2
    assert "the decision took too long" in json.loads(stdout)["reason"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_a_block(number: signal.Signals, env: dict[str, str]) -> None:
    """Every signal that can be caught."""
    hook = python("codex", "PreToolUse", env=env)
    eventually("its handlers are in place", lambda: catches(hook.pid, signal.SIGHUP))
    hook.send_signal(number)
    stdout, stderr = hook.communicate(timeout=60)

    assert hook.returncode == 2
    assert json.loads(stdout)["decision"] == "block"
    assert stderr


def test_a_package_that_cannot_be_imported_is_a_block(tmp_path: Path, env: dict[str, str]) -> None:
    """Half an installation is not permission."""
    broken = tmp_path / "verdikt"
    broken.mkdir()
    source = Path(hosts.__file__).parent
    (broken / "__init__.py").write_text("")
    (broken / "hosts").mkdir()
    (broken / "hosts" / "__init__.py").write_text("")
    (broken / "hosts" / "hook.py").write_text((source / "hook.py").read_text())
    said = subprocess.run(
        [sys.executable, "-m", "verdikt.hosts.hook", "claude", "PreToolUse"],
        input=b"{}",
        capture_output=True,
        cwd=tmp_path,
        env=env | {"PYTHONPATH": str(tmp_path)},
        check=False,
    )

    assert said.returncode == 2
    assert json.loads(said.stdout)["decision"] == "block"
    assert said.stderr


def test_a_closed_stdout_is_still_a_block(env: dict[str, str]) -> None:
    """The status alone says it."""
    code = "import os; os.close(1); from verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
    said = subprocess.run([sys.executable, "-c", code], input=b"{", stderr=subprocess.PIPE, env=env, check=False)

    assert said.returncode == 2


def deaf(*arguments: str, env: dict[str, str], before: str = "") -> "subprocess.CompletedProcess[bytes]":
    """Run the entry with half a payload, and a stderr whose reader is gone."""
    heard, deaf = os.pipe()
    os.close(heard)
    code = f"{before}\nfrom verdikt.hosts.hook import main; main({list(arguments)})"
    try:
        return subprocess.run(
            [sys.executable, "-c", code], input=HALF, stdout=subprocess.PIPE, stderr=deaf, env=env, check=False
        )
    finally:
        os.close(deaf)


@pytest.mark.parametrize("host", HOSTS)
def test_a_failure_that_nobody_hears_of_is_still_a_block(host: str, tmp_path: Path, env: dict[str, str]) -> None:
    """No place to record it and no stderr to say so: the document and the status are all that is left."""
    (tmp_path / "file").write_text("")
    before = next(event for event, kind in HOSTS[host].events.items() if kind is HookEventKind.BEFORE)
    said = deaf(host, before, env=env | {"VERDIKT_HOME": str(tmp_path / "file" / "data")})

    assert said.returncode in (0, 2)
    assert is_block(Said(said.returncode, said.stdout, b"unheard"))


BROKEN = {
    "what the moment demands cannot be told": (
        "import verdikt.hosts.hook_call as c; c.HookCall.build_failure_response = None"
    ),
    "the call cannot be made": "import verdikt.hosts.hook_call as c; c.HookCall = None",
    "the answer cannot be written down": (
        "import verdikt.hosts.hook_call as c; from verdikt.hosts.hook_response import HookResponse\n"
        "c.HookCall.build_failure_response = lambda self, error: HookResponse(stdout='\\u00e9')"
    ),
    "the crash cannot be recorded": "import verdikt.hosts.hook_call as c; c.HookCall.record_failure = None",
    "the clock is gone": "import verdikt.observe.crash_log as c; c.SystemClock = None",
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("heard", [True, False])
def test_a_failure_of_the_failure_is_a_block(broken: str, heard: bool, env: dict[str, str]) -> None:
    """Whatever else goes wrong on the way to saying that something went wrong."""
    if heard:
        code = f"{BROKEN[broken]}\nfrom verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
        said = subprocess.run([sys.executable, "-c", code], input=HALF, capture_output=True, env=env, check=False)
        assert said.stderr
    else:
        said = deaf("claude", "PreToolUse", env=env, before=BROKEN[broken])

    assert said.returncode == 2
    assert json.loads(said.stdout)["decision"] == "block"


def test_what_fails_after_the_answer_changes_nothing(env: dict[str, str]) -> None:
    """A warm process for the next call that cannot be started, at a call that is let through and at one that is not."""
    broken = (
        "import os, verdikt.daemon.client as c\n"
        "c.start_for_the_next = lambda env: 1 / 0\n"
        "c.relay = lambda *given, **more: None"
    )
    code = f"{broken}\nfrom verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
    for command, status in (("ls", 0), ("rm -rf /", 2)):
        call = {"session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": command}}
        said = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(call).encode(),
            capture_output=True,
            env={key: value for key, value in env.items() if key != "VERDIKT_DAEMON"},
            check=False,
        )
        assert said.returncode == status
        assert said.stdout.count(b"\n") == 1


def test_nothing_that_prints_reaches_stdout(env: dict[str, str]) -> None:
    """Not Python's print, not a C library, not a child process."""
    code = (
        "import os, sys, verdikt.hosts.hook_call as hook_call\n"
        "def noisy(name):\n"
        "    print('noise'); os.write(1, b'noise'); os.system('echo noise'); raise RuntimeError('x')\n"
        "hook_call.load_adapter = noisy\n"
        "from verdikt.hosts.hook import main\n"
        "main(['claude', 'PreToolUse'])\n"
    )
    said = subprocess.run([sys.executable, "-c", code], input=b"{}", capture_output=True, env=env, check=False)

    assert said.returncode == 2
    assert json.loads(said.stdout)["decision"] == "block"
    assert b"noise" in said.stderr


@pytest.mark.parametrize("kind", ["read", "write", "bash"])
def test_s1_32_the_wiring_of_seed_001_works(kind: str, env: dict[str, str]) -> None:
    """`python -m verdikt.adapters.claude_hooks bash "$TOOL_INPUT"`: the variable does not exist, so stdin is read."""
    command = [sys.executable, "-m", "verdikt.adapters.claude_hooks", kind]
    for argument, stdin in [("", b"{"), ("{", b"")]:
        said = subprocess.run([*command, argument], input=stdin, capture_output=True, env=env, check=False)

        assert said.returncode == 2
        assert "expected one JSON document" in json.loads(said.stdout)["reason"]


def test_the_hook_loads_no_command_line(env: dict[str, str]) -> None:
    """The hook runs before every tool call."""
    code = (
        "import sys, os; from verdikt.__main__ import main; sys.argv = ['verdikt', 'hook', 'claude', 'PreToolUse']\n"
        "real = os._exit\n"
        "def leave(code):\n"
        "    heavy = {'click', 'rich', 'asyncio', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "    os.write(2, str(sorted(heavy)).encode()); real(code)\n"
        "os._exit = leave\n"
        "main()\n"
    )
    said = subprocess.run([sys.executable, "-c", code], input=b"{", capture_output=True, env=env, check=False)

    assert said.stderr.endswith(b"[]")
    assert said.returncode == 2


def test_every_payload_on_disk_is_one_of_the_suite() -> None:
    """A file nobody reads proves nothing."""
    assert len(RECORDED) == len(list(PAYLOADS.glob("*/*.json"))) > 100
    assert len(BEFORE) > 30


WRONG_TYPES: list[Any] = [[], [1], "x", 7, 1.5, True]


@pytest.mark.parametrize("name", [name for name in BEFORE if "ConfigChange" not in name])
def test_a_wrong_type_where_the_call_stands_is_a_block(name: str, env: dict[str, str]) -> None:
    """The tool's name and its input, on every host: what cannot be understood is not let through."""
    host = name.partition("/")[0].partition("_")[0]
    payload = load(name)["payload"]
    places = [key for key in ("tool_name", "tool_input", "toolName", "toolArgs", "tool", "arguments") if key in payload]
    for key in places:
        for wrong in WRONG_TYPES:
            if isinstance(payload[key], type(wrong)):
                continue
            raw = json.dumps(payload | {key: wrong}).encode()
            assert is_block(run_forked([host, event_of(name)], raw, env)), (key, wrong)
    assert places or host in ("opencode", "cursor")
