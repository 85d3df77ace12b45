"""The warm process has its decisions exported beside it, and waits neither for OpenTelemetry nor for a collector."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.warm import WarmProcess, bash, wait_until
from tests.leftovers import find_processes
from tests.otlp_receiver import OtlpReceiver, open_receiver
from verdikt.daemon.otlp_settings import OtlpProgress, OtlpSettings


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    """Return a collector that listens."""
    with open_receiver(OtlpReceiver()) as receiver:
        yield receiver


def find_exporters(place: WarmProcess) -> list[int]:
    """Return the processes that export the log of a place."""
    command_lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in find_processes([place.home])}
    return [pid for pid, path in command_lines.items() if path.exists() and b"otlp_export" in path.read_bytes()]


def run_command(place: WarmProcess, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `verdikt daemon otlp` as a person does."""
    command = [sys.executable, "-I", "-m", "verdikt", "daemon", "otlp", *arguments]
    return subprocess.run(command, env=place.env | env, capture_output=True, text=True, timeout=60, check=False)


def test_decisions_of_hooks_arrive_and_end_with_the_process(place: WarmProcess, receiver: OtlpReceiver) -> None:
    """Also the last ones: the exporter sends what is left when the warm process ends."""
    OtlpSettings(receiver.url).save(place.data)
    process = place.start()
    place.ask(bash("ls", call="c1"))
    wait_until("the exporter keeps its progress", lambda: OtlpProgress.load(place.data))
    place.ask(bash("rm -rf /", call="c2"))
    wait_until(
        "the span arrives", lambda: any(span["attributes"]["gen_ai.tool.call.id"] == "c2" for span in receiver.spans)
    )
    place.ask(bash("ls", call="c3"))
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    wait_until("the exporter has ended", lambda: not find_exporters(place))

    verdicts = {
        span["attributes"]["gen_ai.tool.call.id"]: span["attributes"]["verdikt.verdict"] for span in receiver.spans
    }
    assert verdicts["c2"] == "block"
    assert verdicts["c3"] == "pass"
    assert "rm -rf" not in json.dumps(receiver.spans)


def test_collector_that_does_not_answer_delays_no_decision(place: WarmProcess) -> None:
    """It takes the connection and says nothing; the exporter hangs on it, and hooks are answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        OtlpSettings(f"http://127.0.0.1:{silent.getsockname()[1]}").save(place.data)
        place.start()
        place.ask(bash("ls", call="c1"))
        wait_until("the exporter keeps its progress", lambda: OtlpProgress.load(place.data))
        place.ask(bash("ls", call="c2"))
        silent.settimeout(60)
        connection, _ = silent.accept()  # the exporter hangs from here on
        with connection:
            for number in range(20):
                assert place.ask(bash("rm -rf /", call=f"d{number}")).stdout
            progress = OtlpProgress.load(place.data)
            assert progress is not None
            assert progress.spans == 0
    assert len(place.calls()) == 22


def test_exporter_that_was_killed_is_started_again_and_repeats_nothing_else(
    place: WarmProcess, receiver: OtlpReceiver
) -> None:
    """The warm process goes on without it; the next one begins where it ended."""
    OtlpSettings(receiver.url).save(place.data)
    process = place.start()
    place.ask(bash("ls", call="c1"))
    (pid,) = wait_until("the exporter runs", lambda: find_exporters(place))
    wait_until("the exporter keeps its progress", lambda: OtlpProgress.load(place.data))
    os.kill(pid, signal.SIGKILL)
    assert place.ask(bash("ls", call="c2")).code == 0
    process.send_signal(signal.SIGTERM)
    process.wait(60)

    place.start()  # as the next hook does
    place.ask(bash("ls", call="c3"))
    wait_until("both arrive", lambda: {"c2", "c3"} <= {s["attributes"]["gen_ai.tool.call.id"] for s in receiver.spans})


def test_exporter_ends_when_it_is_switched_off(place: WarmProcess, receiver: OtlpReceiver) -> None:
    """The warm process goes on, and sends nothing any more."""
    OtlpSettings(receiver.url).save(place.data)
    place.start()
    place.ask(bash("ls", call="c1"))
    wait_until("the exporter keeps its progress", lambda: OtlpProgress.load(place.data))
    assert run_command(place, "--off").returncode == 0
    wait_until("the exporter has ended", lambda: not find_exporters(place))
    place.ask(bash("ls", call="c2"))

    assert place.calls() == ["c1", "c2"]
    assert find_exporters(place) == []
    assert receiver.spans == []


def test_decisions_of_a_system_wide_process_arrive(place: WarmProcess, receiver: OtlpReceiver) -> None:
    """It decides for every user, into a log of their own each, and the operator says where they are sent."""
    home, sock = place.home / "system", place.home / "s.sock"
    assert "sent to" in run_command(place, receiver.url, "--home", str(home)).stdout
    options = ["--system", "--socket", str(sock), "--home", str(home)]
    process = subprocess.Popen([sys.executable, "-I", "-m", "verdikt.daemon", *options], env=place.env)
    try:
        wait_until("the process listens", sock.exists)
        hook = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "--socket", str(sock), "claude", "PreToolUse"]
        for call in ("c1", "c2"):
            payload = bash("rm -rf /", call=call)
            assert subprocess.run(hook, env=place.env, input=payload, check=False, capture_output=True).returncode == 2
            wait_until("the exporter keeps its progress", lambda: OtlpProgress.load(home))
        wait_until("the span arrives", lambda: "c2" in {s["attributes"]["gen_ai.tool.call.id"] for s in receiver.spans})
        shown = wait_until(
            "the spans are counted",
            lambda: (shown := json.loads(run_command(place, "--json", "--home", str(home)).stdout))["spans"] and shown,
        )
        assert shown["problem"] == ""
    finally:
        process.terminate()
        process.wait(60)
    wait_until("the exporter has ended", lambda: not find_exporters(place))


def test_command_sets_shows_and_ends_it(place: WarmProcess) -> None:
    """With the headers of OpenTelemetry's own variable, which are not shown."""
    shown = run_command(place, "http://127.0.0.1:4318", OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20t,x=y")
    assert shown.stdout == "decisions are sent to http://127.0.0.1:4318: 0 spans so far\n", shown.stderr
    assert OtlpSettings.load(place.data) == OtlpSettings(
        "http://127.0.0.1:4318", {"authorization": "Bearer t", "x": "y"}
    )
    assert json.loads(run_command(place, "--json").stdout) == {
        "endpoint": "http://127.0.0.1:4318",
        "spans": 0,
        "problem": "",
    }
    assert run_command(place, "--off").stdout == "decisions are sent nowhere\n"
    assert OtlpSettings.load(place.data) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["127.0.0.1:4318"], "expected an endpoint like"), (["http://127.0.0.1", "--off"], "found both")],
)
def test_command_says_what_it_expects(place: WarmProcess, arguments: list[str], message: str) -> None:
    """A wrong endpoint is not saved."""
    completed = run_command(place, *arguments)

    assert completed.returncode == 2
    assert message in completed.stderr
    assert OtlpSettings.load(place.data) is None


def test_agent_may_not_change_where_decisions_are_sent(place: WarmProcess) -> None:
    """It could hide what was stopped, or send it elsewhere."""
    completed = run_command(place, "http://127.0.0.1:4318", CLAUDECODE="1")

    assert completed.returncode != 0
    assert "is for operators" in completed.stderr
    assert OtlpSettings.load(place.data) is None
