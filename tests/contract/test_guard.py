"""The wrapper that clients call: the client gets a decision whatever the hook does."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract import native
from tests.contract.warm import wait_until
from verdikt import hosts

GUARD = Path(hosts.__file__).with_name("guard.sh")

WRAPPERS = ("guard.sh", "verdikt-hook")


@pytest.fixture(params=WRAPPERS)
def wrapper(request: pytest.FixtureRequest) -> Path:
    """Return the script, and the native client, which becomes the script when no warm process answers."""
    return GUARD if request.param == "guard.sh" else native.client()


BLOCK = '{"decision":"block","reason":"no"}'

FAILURES = {
    "a crash": ["sh", "-c", "exit 1"],
    "a crash with a deny already printed": ["sh", "-c", f"echo '{BLOCK}'; exit 1"],
    "an unknown status": ["sh", "-c", "echo '{}'; exit 3"],
    "a kill": ["sh", "-c", "kill -9 $$"],
    "a kill after the answer": ["sh", "-c", "echo '{}'; kill -9 $$"],
    "a hang": ["sleep", "30"],
    "a hang after the answer": ["sh", "-c", "echo '{}'; sleep 30"],
    "a missing interpreter": ["/nonexistent/python", "-m", "verdikt"],
    "an interpreter that may not be run": ["/dev/null"],
    "silence": ["true"],
    "plain text": ["echo", "all good"],
    "a log line, then the answer": ["printf", "loading\\n%s\\n", BLOCK],
    "the answer, then a log line": ["printf", "%s\\nbye\\n", BLOCK],
    "two documents on two lines": ["printf", "{}\\n{}\\n"],
    "two documents on one line": ["echo", "{}{}"],
    "two documents with a space": ["echo", "{} {}"],
    "a truncated document": ["printf", '{"decision":"block","reas'],
    "a document truncated at a brace": ["echo", '{"hookSpecificOutput":{"permissionDecision":"deny"}'],
    "a list": ["echo", "[]"],
    "a text": ["echo", '"{}"'],
    "a null": ["echo", '{"decision":"block","reason":null}'],
    "NaN": ["echo", '{"a":NaN}'],
    "a trailing comma": ["echo", '{"a":1,}'],
    "single quotes": ["echo", "{'a':1}"],
    "a newline inside a string": ["printf", '{"a":"b\\nc"}\\n'],
    "a control character inside a string": ["printf", '{"a":"b\\001c"}\\n'],
    "a bad escape": ["printf", "%s\\n", '{"a":"\\x41"}'],
    "status 2 that says nothing": ["sh", "-c", "exit 2"],
    "status 2 with an allow": ["sh", "-c", "echo '{}'; exit 2"],
    "status 2 with an empty reason": ["sh", "-c", """echo '{"decision":"block","reason":""}'; exit 2"""],
    "output without end": ["yes", "{}"],
    "a closed stdout and a hang": ["sh", "-c", "exec sleep 30 >&-"],
    "a fault": ["sh", "-c", "kill -SEGV $$"],
    "NUL bytes": ["printf", "{}\\000\\n"],
    "a carriage return": ["printf", "{}\\r\\n"],
    "an empty line": ["printf", "\\n"],
    "an empty line more": ["printf", "{}\\n\\n"],
    "letters beyond ASCII": ["printf", '{"a":"\\303\\251"}\\n'],
    "no UTF-8": ["printf", '{"a":"\\377"}\\n'],
    "the first half of a character": ["printf", "%s\\n", '{"a":"\\ud83d"}'],
    "the second half of a character": ["printf", "%s\\n", '{"a":"\\ude00\\ud83d"}'],
    "status 255": ["sh", "-c", "echo '{}'; exit 255"],
    "a status in words": ["sh", "-c", "printf '{}\\n/%s/0\\n' $PPID; exit 3"],
}


def run_guard(mode: str, *hook: str, script: Path = GUARD, seconds: str = "20") -> subprocess.CompletedProcess[str]:
    """Run the wrapper around a hook."""
    shell = ["sh"] if script.suffix == ".sh" else []
    command = [*shell, str(script), seconds, mode, *native.absolute(list(hook))]
    env = {**os.environ, "VERDIKT_DAEMON": "off"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, input="{}", check=False, env=env)


def choose_seconds(failure: str) -> str:
    """Return a short time limit for a hook that never ends, and a long one otherwise."""
    return "1" if "sleep" in " ".join(FAILURES[failure]) else "20"


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_hook_before_an_action_is_a_block(failure: str, wrapper: Path) -> None:
    """Status 2, a reason on stderr, and the document that blocks on every client."""
    completed = run_guard("closed", *FAILURES[failure], script=wrapper, seconds=choose_seconds(failure))
    document = json.loads(completed.stdout)

    assert completed.returncode == 2
    assert document["decision"] == "block"
    assert set(document) == {"decision", "reason"}
    assert "[verdikt] blocked" in completed.stderr
    assert completed.stdout.count("\n") == 1


@pytest.mark.parametrize("failure", ["a crash", "a kill", "a hang", "a missing interpreter", "plain text"])
def test_a_failing_hook_at_another_event_is_no_opinion(failure: str, wrapper: Path) -> None:
    """A hook that only observes does not stop the agent."""
    completed = run_guard("open", *FAILURES[failure], script=wrapper, seconds=choose_seconds(failure))

    assert (completed.returncode, completed.stdout) == (0, "{}\n")


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        (["echo", "{}"], 0),
        (["printf", "{}"], 0),
        (
            [
                "echo",
                '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"}{ \\" \\u00e9 [1,2]"}}',
            ],
            0,
        ),
        (["echo", '{ "a": [1, -2.5e3, true, false, {"b": []}] }'], 0),
        (["printf", "%s\\n", '{"a":"\\ud83d\\ude00 \\uD83D\\uDE00 \\ue000 \\\\ud83d [ ] ^ _ ` ~"}'], 0),
        (["printf", '{"a":"%01000000d"}\\n', "0"], 0),
        (["sh", "-c", f"echo '{BLOCK}'; echo no >&2; exit 2"], 2),
    ],
)
def test_a_decision_is_passed_on_unchanged(hook: list[str], code: int, wrapper: Path) -> None:
    """Document and status stay as they are, byte for byte."""
    alone = subprocess.run(hook, capture_output=True, text=True, check=False)
    completed = run_guard("closed", *hook, script=wrapper)

    assert (completed.returncode, completed.stdout.rstrip("\n")) == (code, alone.stdout.rstrip("\n"))
    assert completed.stderr == alone.stderr


def test_the_payload_reaches_the_hook(wrapper: Path) -> None:
    """The wrapper passes stdin through."""
    assert run_guard("closed", "cat", script=wrapper).stdout == "{}\n"


@pytest.mark.parametrize("arguments", [[], ["1"], ["1", "closed"], ["x", "y", "z"]])
def test_a_wrapper_with_wrong_arguments_blocks(arguments: list[str], wrapper: Path) -> None:
    """Broken wiring must not let the tool run."""
    command = [*(["sh"] if wrapper == GUARD else []), str(wrapper), *arguments]
    completed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert completed.returncode == 2
    assert json.loads(completed.stdout)["decision"] == "block"
    assert completed.stderr


def test_a_failure_is_recorded_beside_the_log(tmp_path: Path, wrapper: Path) -> None:
    """The hook itself could not record it."""
    (tmp_path / "hooks").mkdir()
    script = tmp_path / "hooks" / wrapper.name
    shutil.copy(wrapper, script)
    shutil.copy(GUARD, script.with_name("guard.sh"))
    run_guard("open", "false", script=script)
    run_guard("closed", "false", script=script)
    lines = [json.loads(line) for line in (tmp_path / "_hook_crashes.jsonl").read_text().splitlines()]

    assert [line["note"] for line in lines] == ["open", "closed"]
    assert lines[0]["message"] == "it failed with status 1"


def test_a_child_that_keeps_stdout_open_is_not_awaited(wrapper: Path) -> None:
    """The hook has ended, and its output counts."""
    hook = ["sh", "-c", "sleep 300 2>&- & echo $! >&2; echo '{}'"]
    completed = run_guard("closed", *hook, script=wrapper, seconds="100")
    os.kill(int(completed.stderr), signal.SIGKILL)

    assert (completed.returncode, completed.stdout) == (0, "{}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_does_not_keep_the_wrapper_from_its_deadline(tmp_path: Path, number: signal.Signals) -> None:
    """The client gets a decision although it sent a signal."""
    hook = ["/bin/sh", "-c", f"touch {tmp_path}/there; exec sleep 300"]
    call = subprocess.Popen([str(GUARD), "3", "closed", *hook], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until("the hook runs", lambda: (tmp_path / "there").exists() or call.poll() is not None)
    call.send_signal(number)
    out, err = call.communicate(timeout=60)

    assert call.returncode == 2
    assert json.loads(out)["decision"] == "block"
    assert b"it was killed or took too long" in err


@pytest.mark.parametrize(("mode", "code"), [("closed", 2), ("open", 0)])
@pytest.mark.parametrize("way", ["closed", "broken", "full"])
def test_a_decision_that_cannot_be_written_is_carried_by_the_status(
    tmp_path: Path, mode: str, code: int, way: str
) -> None:
    """Stdout is closed, its reader is gone, or the disk is full; that is no crash of the hook."""
    installed = tmp_path / "hooks" / "guard.sh"
    installed.parent.mkdir()
    shutil.copy(GUARD, installed)
    redirect = {"closed": ">&-", "broken": "", "full": "> /dev/full"}[way]
    line = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", str(installed), "20", mode, "echo", "{}"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.DEVNULL, check=False)
    os.close(write)

    assert done.returncode == code
    assert not (tmp_path / "_hook_crashes.jsonl").exists()


def test_the_hook_gets_the_environment_unchanged() -> None:
    """The wrapper changes PATH for itself only: a decision may depend on it."""
    env = {"PATH": f"/opt/first:{os.environ['PATH']}", "HOME": "/home/x", "LC_ALL": "C.UTF-8"}
    command = [str(GUARD), "20", "closed", "/bin/sh", "-c", "env >&2; echo '{}'"]
    completed = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert completed.stdout == "{}\n"
    assert {f"{name}={value}" for name, value in env.items()} <= set(completed.stderr.splitlines())


@pytest.mark.parametrize("is_installed", [True, False])
def test_installed_wrapper_stays_with_its_data_directory(tmp_path: Path, wrapper: Path, is_installed: bool) -> None:
    """Variables from a project's settings do not move what governs; a managed wrapper serves several people."""
    (tmp_path / "hooks").mkdir()
    script = tmp_path / "hooks" / wrapper.name
    shutil.copy(wrapper, script)
    shutil.copy(GUARD, script.with_name("guard.sh"))
    if is_installed:
        (tmp_path / "wiring.json").write_text("{}")
    env = {"PATH": os.environ["PATH"], "VERDIKT_HOME": "/elsewhere", "HOME": "/elsewhere"}
    command = [str(script), "20", "closed", "/bin/sh", "-c", "echo $VERDIKT_HOME >&2; echo '{}'"]
    completed = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert completed.stdout == "{}\n"
    assert completed.stderr.strip() == (str(tmp_path) if is_installed else "/elsewhere")


@pytest.mark.parametrize("failure", ["a crash", "a kill", "a hang", "a missing interpreter"])
def test_without_timeout_the_wrapper_uses_perl_for_its_deadline(tmp_path: Path, failure: str) -> None:
    """MacOS has no timeout(1)."""
    script = tmp_path / "guard.sh"
    script.write_text(
        GUARD.read_text()
        .replace("/usr/bin/timeout", "/nowhere")
        .replace("command -v timeout", "command -v no-such-timeout")
    )

    assert run_guard("closed", *FAILURES[failure], script=script, seconds=choose_seconds(failure)).returncode == 2
    assert run_guard("closed", "echo", "{}", script=script).stdout == "{}\n"


def test_the_python_hook_works_under_the_wrapper(tmp_path: Path, wrapper: Path) -> None:
    """As `verdikt init` wires it, with a payload that is not JSON."""
    shell = ["sh"] if wrapper == GUARD else []
    hook = [sys.executable, "-m", "verdikt.hosts.hook", "codex", "PreToolUse"]
    command = [*shell, str(wrapper), "20", "closed", *hook]
    env = {"VERDIKT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
    completed = subprocess.run(command, capture_output=True, text=True, input="{half", env=env, check=False)

    assert completed.returncode == 2
    assert "expected one JSON document" in json.loads(completed.stdout)["reason"]
    assert "expected one JSON document" in completed.stderr
