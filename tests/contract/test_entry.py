"""The hook process: one document on stdout for any input; on failure a block before an action, else no opinion."""

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

from tests.contract.hook import HookOutput, catches, run_forked
from tests.contract.test_adapters import PAYLOADS, RECORDED, event_of, load
from tests.contract.warm import wait_until
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


def read_crashes(env: dict[str, str]) -> list[dict[str, Any]]:
    """Return the recorded crashes."""
    file = Path(env["VERDIKT_HOME"]) / "_hook_crashes.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def is_block(output: HookOutput) -> bool:
    """Whether this response blocks on the client that got it."""
    document = json.loads(output.stdout)
    decision = document.get("hookSpecificOutput", {}).get("decision", {})
    flat = document.get("permissionDecision") or document.get("permission") or document.get("behavior")
    if output.code == 2:
        return document.get("decision") == "block" and bool(document["reason"] and output.stderr)
    # At the top level only Gemini CLI knows `deny`, and only its adapter writes it there.
    return output.code == 0 and "deny" in (flat, decision.get("behavior"), document.get("decision"))


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
    if not kind.fails_closed and event != "notice" and kind is not HookEventKind.STOP
]
STOPS = [
    f"{host} {event}" for host in HOSTS for event, kind in HOSTS[host].events.items() if kind is HookEventKind.STOP
]
LARGE = "fifty megabytes"


@pytest.mark.parametrize("wired", CLOSED)
@pytest.mark.parametrize("bad", [bad for bad in BAD if bad != LARGE])
def test_an_unreadable_payload_before_an_action_is_blocked(wired: str, bad: str, env: dict[str, str]) -> None:
    """The crash is recorded, unless an empty object is valid there."""
    output = run_forked(wired.split(), BAD[bad], env)

    assert is_block(output)
    assert output.stdout.count(b"\n") == 1
    assert b"Traceback" not in output.stdout + output.stderr
    assert read_crashes(env) or bad == "an empty object"


@pytest.mark.parametrize("host", HOSTS)
def test_a_payload_that_is_too_large_is_blocked_on_every_host(host: str, env: dict[str, str]) -> None:
    """All fifty megabytes are read, so that the client can write them."""
    events = HOSTS[host].events
    before = next(event for event, kind in events.items() if kind is HookEventKind.BEFORE)
    after = next(event for event, kind in events.items() if kind is HookEventKind.AFTER)

    assert is_block(run_forked([host, before], BAD[LARGE], env))
    assert run_forked([host, after], BAD[LARGE], env)[:2] == (0, b"{}\n")


@pytest.mark.parametrize("wired", OPEN)
@pytest.mark.parametrize("bad", ["nothing", "half a document", "bytes", "null"])
def test_an_unreadable_payload_at_another_event_is_no_opinion_and_a_recorded_crash(
    wired: str, bad: str, env: dict[str, str]
) -> None:
    """A hook that only observes does not stop the agent."""
    output = run_forked(wired.split(), BAD[bad], env)

    assert (output.code, output.stdout) == (0, b"{}\n")
    assert [crash["hook"] for crash in read_crashes(env)] == [wired.replace(" ", ".")]


@pytest.mark.parametrize("wired", STOPS)
def test_an_unreadable_payload_at_a_stop_is_refused_once(wired: str, env: dict[str, str]) -> None:
    """A turn does not end unchecked because its payload is broken; the second time it is let go."""
    first, second = (run_forked(wired.split(), HALF, env) for _ in range(2))

    assert b"no decision could be made" in first.stdout + first.stderr
    assert (second.code, second.stdout) == (0, b"{}\n")


def test_an_unreadable_payload_of_an_unknown_event_is_blocked(env: dict[str, str]) -> None:
    """It could have been a call that is about to happen."""
    assert is_block(run_forked(["claude"], HALF, env))
    assert is_block(run_forked([], HALF, env))
    assert is_block(run_forked(["unknown", "nothing"], HALF, env))


WRONG = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutate_payload(draw: st.DrawFn, names: list[str]) -> tuple[str, str, bytes]:
    """Return a recorded payload with fields replaced, dropped or added, or with its bytes cut."""
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
    """Whether a payload stands for an event."""
    try:
        load_adapter(host).decode(parse_payload(raw), event, {})
    except VerdiktError:
        return False
    return True


@given(case=mutate_payload(BEFORE))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_payload_before_an_action_gets_a_well_formed_response(
    case: tuple[str, str, bytes], env: dict[str, str]
) -> None:
    """One object on stdout; status 2 comes with a block; no traceback."""
    host, event, raw = case
    output = run_forked([host, event], raw, env)
    document = json.loads(output.stdout)

    assert output.code in (0, 2)
    assert isinstance(document, dict)
    assert output.code == 0 or is_block(output)
    assert is_understood(host, event, raw) or is_block(output)
    assert b"Traceback" not in output.stdout + output.stderr


@given(case=mutate_payload(OTHERS))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_payload_at_another_event_gets_a_well_formed_response(
    case: tuple[str, str, bytes], env: dict[str, str]
) -> None:
    """Status 0 or a refusal; no opinion if the payload cannot be understood, except at a stop."""
    host, event, raw = case
    output = run_forked([host, event], raw, env)

    assert output.code in (0, 2)
    assert isinstance(json.loads(output.stdout), dict)
    # A stop that cannot be understood is refused once.
    known = HOSTS[host].events.get(event) not in (None, HookEventKind.STOP)
    assert is_understood(host, event, raw) or not known or (output.code, output.stdout) == (0, b"{}\n")
    assert b"Traceback" not in output.stdout + output.stderr


def start_hook(*arguments: str, env: dict[str, str], **popen: Any) -> "subprocess.Popen[bytes]":
    """Start the hook in an interpreter of its own."""
    command = [sys.executable, "-m", "verdikt.hosts.hook", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, **popen)


def test_a_client_that_never_finishes_writing_gets_a_block_in_time(env: dict[str, str]) -> None:
    """The time limit of the hook expires before that of the client."""
    hook = start_hook("claude", "PreToolUse", env=env | {"VERDIKT_HOOK_SECONDS": "0.3"})
    assert hook.stdin
    assert hook.stdout
    hook.stdin.write(HALF)
    hook.stdin.flush()

    document = json.loads(hook.stdout.readline())
    assert hook.wait() == 2
    assert document["decision"] == "block"
    hook.communicate()


def test_the_expired_time_limit_is_named_in_the_block(env: dict[str, str]) -> None:
    """The alarm interrupts a hook that waits for the rest of the payload."""
    hook = start_hook("claude", "PreToolUse", env=env)
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
    hook = start_hook("codex", "PreToolUse", env=env)
    wait_until("its handlers are in place", lambda: catches(hook.pid, signal.SIGHUP))
    hook.send_signal(number)
    stdout, stderr = hook.communicate(timeout=60)

    assert hook.returncode == 2
    assert json.loads(stdout)["decision"] == "block"
    assert stderr


def test_a_package_that_cannot_be_imported_is_a_block(tmp_path: Path, env: dict[str, str]) -> None:
    """An incomplete installation must not let the tool run."""
    broken = tmp_path / "verdikt"
    broken.mkdir()
    source = Path(hosts.__file__).parent
    (broken / "__init__.py").write_text("")
    (broken / "hosts").mkdir()
    (broken / "hosts" / "__init__.py").write_text("")
    (broken / "hosts" / "hook.py").write_text((source / "hook.py").read_text())
    output = subprocess.run(
        [sys.executable, "-m", "verdikt.hosts.hook", "claude", "PreToolUse"],
        input=b"{}",
        capture_output=True,
        cwd=tmp_path,
        env=env | {"PYTHONPATH": str(tmp_path)},
        check=False,
    )

    assert output.returncode == 2
    assert json.loads(output.stdout)["decision"] == "block"
    assert output.stderr


def test_a_closed_stdout_is_still_a_block(env: dict[str, str]) -> None:
    """The exit status alone blocks."""
    code = "import os; os.close(1); from verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
    output = subprocess.run([sys.executable, "-c", code], input=b"{", stderr=subprocess.PIPE, env=env, check=False)

    assert output.returncode == 2


def run_with_closed_stderr(
    *arguments: str, env: dict[str, str], before: str = ""
) -> "subprocess.CompletedProcess[bytes]":
    """Run the hook with half a payload and a stderr that is closed at the other end."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    code = f"{before}\nfrom verdikt.hosts.hook import main; main({list(arguments)})"
    try:
        return subprocess.run(
            [sys.executable, "-c", code],
            input=HALF,
            stdout=subprocess.PIPE,
            stderr=write_end,
            env=env,
            check=False,
        )
    finally:
        os.close(write_end)


@pytest.mark.parametrize("host", HOSTS)
def test_a_failure_that_can_be_neither_recorded_nor_printed_is_still_a_block(
    host: str, tmp_path: Path, env: dict[str, str]
) -> None:
    """Only the document and the status remain."""
    (tmp_path / "file").write_text("")
    before = next(event for event, kind in HOSTS[host].events.items() if kind is HookEventKind.BEFORE)
    output = run_with_closed_stderr(host, before, env=env | {"VERDIKT_HOME": str(tmp_path / "file" / "data")})

    assert output.returncode in (0, 2)
    assert is_block(HookOutput(output.returncode, output.stdout, b"unheard"))


BROKEN = {
    "the failure response cannot be built": (
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
def test_a_failure_while_a_failure_is_handled_is_a_block(broken: str, heard: bool, env: dict[str, str]) -> None:
    """Whatever else goes wrong while the first error is reported."""
    if heard:
        code = f"{BROKEN[broken]}\nfrom verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
        output = subprocess.run([sys.executable, "-c", code], input=HALF, capture_output=True, env=env, check=False)
        assert output.stderr
    else:
        output = run_with_closed_stderr("claude", "PreToolUse", env=env, before=BROKEN[broken])

    assert output.returncode == 2
    assert json.loads(output.stdout)["decision"] == "block"


def test_a_failure_after_the_response_changes_nothing(env: dict[str, str]) -> None:
    """A warm process for the next call cannot be started; the response stands."""
    broken = (
        "import os, verdikt.daemon.client as c\n"
        "c.start_if_absent = lambda env: 1 / 0\n"
        "c.relay_hook_call = lambda *given, **more: None"
    )
    code = f"{broken}\nfrom verdikt.hosts.hook import main; main(['claude', 'PreToolUse'])"
    for command, status in (("ls", 0), ("rm -rf /", 2)):
        call = {"session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": command}}
        output = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(call).encode(),
            capture_output=True,
            env={key: value for key, value in env.items() if key != "VERDIKT_DAEMON"},
            check=False,
        )
        assert output.returncode == status
        assert output.stdout.count(b"\n") == 1


def test_stray_output_goes_to_stderr(env: dict[str, str]) -> None:
    """Neither print, nor a C library, nor a child process can write to stdout."""
    code = (
        "import os, sys, verdikt.hosts.hook_call as hook_call\n"
        "def noisy(name):\n"
        "    print('noise'); os.write(1, b'noise'); os.system('echo noise'); raise RuntimeError('x')\n"
        "hook_call.load_adapter = noisy\n"
        "from verdikt.hosts.hook import main\n"
        "main(['claude', 'PreToolUse'])\n"
    )
    output = subprocess.run([sys.executable, "-c", code], input=b"{}", capture_output=True, env=env, check=False)

    assert output.returncode == 2
    assert json.loads(output.stdout)["decision"] == "block"
    assert b"noise" in output.stderr


@pytest.mark.parametrize("kind", ["read", "write", "bash"])
def test_claude_hooks_called_with_a_kind_reads_the_payload_from_argument_or_stdin(
    kind: str, env: dict[str, str]
) -> None:
    """`python -m verdikt.adapters.claude_hooks bash "$TOOL_INPUT"`: the variable may not exist, so stdin is read."""
    command = [sys.executable, "-m", "verdikt.adapters.claude_hooks", kind]
    for argument, stdin in [("", b"{"), ("{", b"")]:
        output = subprocess.run([*command, argument], input=stdin, capture_output=True, env=env, check=False)

        assert output.returncode == 2
        assert "expected one JSON document" in json.loads(output.stdout)["reason"]


def test_the_hook_does_not_import_the_command_line(env: dict[str, str]) -> None:
    """The hook runs before every tool call. Only a failure reads the policy again, for the alarm that it names."""
    code = (
        "import sys, os; from verdikt.__main__ import main; sys.argv = ['verdikt', 'hook', 'claude', 'PreToolUse']\n"
        "real = os._exit\n"
        "def leave(code):\n"
        "    heavy = {'click', 'rich', 'asyncio', 'pydantic'} & set(sys.modules)\n"
        "    os.write(2, str(sorted(heavy)).encode()); real(code)\n"
        "os._exit = leave\n"
        "main()\n"
    )
    output = subprocess.run([sys.executable, "-c", code], input=b"{", capture_output=True, env=env, check=False)

    assert output.stderr.endswith(b"[]")
    assert output.returncode == 2


def test_every_recorded_payload_is_part_of_the_suite() -> None:
    """A file that no test reads proves nothing."""
    assert len(RECORDED) == len(list(PAYLOADS.glob("*/*.json"))) > 100
    assert len(BEFORE) > 30


WRONG_TYPES: list[Any] = [[], [1], "x", 7, 1.5, True]


@pytest.mark.parametrize("name", [name for name in BEFORE if "ConfigChange" not in name])
def test_a_wrong_type_of_tool_name_or_input_is_a_block(name: str, env: dict[str, str]) -> None:
    """On every host, what cannot be understood is not let through."""
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
