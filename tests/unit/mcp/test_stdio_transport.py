"""The relay as a process: `verdikt mcp -- SERVER`, with servers and clients that misbehave."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.mcp.relay_process import RelayProcess


@pytest.fixture
def start_relay(tmp_path: Path) -> Iterator[Callable[..., RelayProcess]]:
    """Return a function that starts a relay; it ends with the test."""
    processes: list[RelayProcess] = []

    def start(*options: str, env: dict[str, str] | None = None) -> RelayProcess:
        processes.append(RelayProcess(tmp_path, *options, env=env))
        return processes[-1]

    yield start
    for process in processes:
        process.close()


@pytest.fixture
def relay(start_relay: Callable[..., RelayProcess]) -> RelayProcess:
    """Return a relay whose server has listed its tools."""
    process = start_relay("--trust-first")
    process.connect()
    return process


def test_calls_pass_and_are_refused_over_stdio(relay: RelayProcess) -> None:
    """A harmless call runs once; one that a person would have to confirm does not run."""
    assert relay.call("get_note") == "ran get_note"
    assert "No person can be asked" in relay.call("frobnicate")
    assert relay.list_calls() == ["get_note"]


@pytest.mark.parametrize(
    "tool",
    [
        "get_unknown_id",
        "get_garbage",
        "get_stray_print",
        "get_invalid_utf8",
        "get_duplicate_keys",
        "get_deep",
        "get_huge_line",
        "get_slowly",
        "get_flood",
    ],
)
def test_what_a_server_sends_beside_its_result_does_not_disturb(relay: RelayProcess, tool: str) -> None:
    """The odd line is dropped, and the result of the call arrives."""
    assert relay.call(tool) == f"ran {tool}"
    assert relay.call("get_note") == "ran get_note"


def test_an_answer_that_cannot_be_read_is_an_error_for_its_call(relay: RelayProcess) -> None:
    """The client does not wait for ever, and gets nothing of the answer."""
    answer = relay.request("tools/call", name="get_lone_surrogate", arguments={})

    assert "cannot be read" in answer["error"]["message"]
    assert relay.call("get_note") == "ran get_note"


def test_the_first_of_two_results_counts(relay: RelayProcess) -> None:
    """The second one is dropped, and the next call gets its own."""
    assert relay.call("get_twice") == "first"
    assert relay.call("get_note") == "ran get_note"


def test_a_null_character_crosses(relay: RelayProcess) -> None:
    """It is part of a text, and stays one."""
    assert relay.call("get_null_character") == "\0"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json", -32700),
        (b'[{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"get_note"}}]', -32600),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"get_note","name":"get_env"}}', -32700),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"get_note","Name":"get_env"}}', -32600),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"' + b"x" * (17 << 20) + b'"}}', -32600),
    ],
)
def test_what_a_client_sends_in_two_readings_is_answered_with_an_error(
    relay: RelayProcess, line: bytes, code: int
) -> None:
    """And nothing of it reaches the server; the conversation goes on."""
    relay.send(line)

    assert relay.read()["error"]["code"] == code
    assert relay.list_calls() == []
    assert relay.call("get_note") == "ran get_note"


def test_blank_lines_are_ignored(relay: RelayProcess) -> None:
    """Neither side sees them."""
    relay.send(b"")
    relay.send(b"  \r")

    assert relay.call("get_note") == "ran get_note"


def test_a_server_that_ends_ends_the_relay_with_its_status(relay: RelayProcess) -> None:
    """The client sees the end of the stream."""
    relay.send(b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"get_exit"}}')

    assert relay.process.wait(20) == 3
    assert relay.process.stdout is not None
    assert relay.process.stdout.read() == b""


def test_a_client_that_leaves_ends_the_server(relay: RelayProcess) -> None:
    """And the relay ends with status 0."""
    assert relay.process.stdin is not None
    relay.process.stdin.close()

    assert relay.process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_relay_that_is_killed_takes_its_server_with_it(relay: RelayProcess, number: int) -> None:
    """The client gets no answer, and nothing runs afterwards."""
    pid = relay.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children
    relay.process.send_signal(number)
    relay.process.wait(20)

    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []


def test_a_relay_that_hangs_lets_nothing_through(relay: RelayProcess) -> None:
    """A call waits for as long as the relay does not decide, and is decided when it goes on."""
    relay.process.send_signal(signal.SIGSTOP)
    relay.send(b'{"jsonrpc":"2.0","id":98,"method":"tools/call","params":{"name":"frobnicate"}}')
    assert relay.list_calls() == []
    relay.process.send_signal(signal.SIGCONT)

    assert relay.read()["result"]["isError"] is True
    assert relay.list_calls() == []


def test_a_log_that_cannot_be_written_blocks_calls(start_relay: Callable[..., RelayProcess], tmp_path: Path) -> None:
    """The text says so, and the server never sees the call."""
    relay = start_relay("--trust-first", env={"CLAUDE_CODE_SESSION_ID": "s1"})
    relay.connect()
    (tmp_path / "data" / "ledger" / "s1.jsonl").mkdir()

    assert "no decision could be made" in relay.call("get_note")
    assert relay.list_calls() == []


def test_a_policy_that_cannot_be_read_blocks_calls(relay: RelayProcess, tmp_path: Path) -> None:
    """As everywhere else."""
    (tmp_path / "project" / "governance.yaml").write_text("profile: [")

    assert "no decision could be made" in relay.call("get_note")
    assert relay.list_calls() == []


def test_a_server_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    """One line on stderr, status 1, and nothing on stdout."""
    command = [sys.executable, "-m", "verdikt", "mcp", "--", str(tmp_path / "nowhere")]
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    completed = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert (completed.returncode, completed.stdout) == (1, "")
    assert "cannot start the server" in completed.stderr


def test_a_failure_of_the_relay_itself_closes_both_sides(relay: RelayProcess, tmp_path: Path) -> None:
    """Damaged pins cannot be read: no call passes without them."""
    [pins] = (tmp_path / "data" / "mcp").glob("*.json")
    pins.write_text("{")
    relay.send(b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"get_note"}}')

    assert relay.process.wait(20) == 1
    assert relay.list_calls() == []
    assert b"the relay failed" in (relay.process.stderr.read() if relay.process.stderr else b"")
