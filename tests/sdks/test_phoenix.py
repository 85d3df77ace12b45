"""A real receiver of telemetry: arize-phoenix gets the decisions of hooks and adapters, and shows them by session."""

import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.contract.warm import wait_until
from tests.sdks.environments import find_environment
from verdikt.daemon.otlp_export import LogExporter
from verdikt.govern import Governance
from verdikt.integrations.otel import Telemetry, TracedGovernance
from verdikt.integrations.otel_export import OtlpExporter
from verdikt.model.action import Action, ActionKind

POLICY = (
    "profile: none\nrules: [{name: no_drops, command: drop, verdict: block, reason: it loses data, fix: archive it}]\n"
)


def find_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def read_json(url: str) -> Any:
    """Return the document at an address; None while there is none."""
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)
    except OSError:
        return None


def is_up(url: str) -> bool:
    """Return whether the receiver answers."""
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=10):
            return True
    except OSError:
        return False


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a running Phoenix, or skip where its environment is not there."""
    python = find_environment("phoenix", "newest")
    if python is None:
        pytest.skip("`make receivers` has not made the environment of phoenix")
    port = find_port()
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PHOENIX_WORKING_DIR": str(tmp_path / "phoenix")}
    env |= {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(find_port())}
    env |= {"PHOENIX_TELEMETRY_ENABLED": "false"}
    process = subprocess.Popen(
        [str(python.parent / "phoenix"), "serve"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(4):  # it makes its database first, and the machine may be busy
            try:
                wait_until("Phoenix answers", lambda: process.poll() is not None or is_up(url))
                break
            except AssertionError:
                continue
        assert process.poll() is None, "Phoenix ended by itself"
        yield url
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def open_governance(kind: type[Governance], directory: Path) -> Any:
    """Return a governance of a place of its own."""
    directory.mkdir()
    (directory / "governance.yaml").write_text(POLICY, encoding="utf-8")
    env = {"VERDIKT_HOME": str(directory / "data"), "HOME": str(directory)}
    return kind.load(directory / "governance.yaml", env=env)


def test_decisions_arrive_in_phoenix_and_are_grouped_by_session(phoenix: str, tmp_path: Path) -> None:
    """From the log of hooks, and from a program that traces itself."""
    call = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "drop it"}, call_id="c1", host="claude")
    with open_governance(Governance, tmp_path / "hooks") as governance:
        exporter = OtlpExporter(phoenix)
        log = LogExporter(governance.store.home, exporter)
        governance.before(replace(call, session_id="hook-session"))
        assert log.export_new_entries()
        exporter.close()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{phoenix}/v1/traces")))
    with open_governance(TracedGovernance, tmp_path / "program") as governance:
        governance.telemetry = Telemetry(provider)
        governance.before(replace(call, session_id="program-session"))
        assert governance.telemetry.flush()
    provider.shutdown()

    def list_sessions() -> dict[str, Any]:
        # Phoenix takes `gen_ai.conversation.id` for the session.
        document = read_json(f"{phoenix}/v1/projects/default/spans") or {"data": []}
        return {span["attributes"].get("session.id"): span for span in document["data"]}

    wait_until("both spans are there", lambda: {"hook-session", "program-session"} <= list_sessions().keys())
    for span in list_sessions().values():
        assert (span["name"], span["status_code"]) == ("verdikt.before", "UNSET")
        assert span["attributes"]["verdikt.verdict"] == "block"
        assert "it loses data" not in json.dumps(span)
