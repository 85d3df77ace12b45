"""Real servers, directly and through the relay: a real client sees the same, in both eras and over both transports."""

import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections

HERE = Path(__file__).parent


def drive(servers: Path, project: Path, mode: str, target: list[str], calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the client, and return its report."""
    command = [str(servers / "env/bin/python"), str(HERE / "driver.py"), mode, *target]
    completed = subprocess.run(
        command,
        cwd=project,
        env=build_env(project),
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-3000:]
    report: dict[str, Any] = json.loads(completed.stdout)
    return report


def build_env(project: Path) -> dict[str, str]:
    """Return an environment of which the servers and the relay have a home of their own."""
    home = project.parent / "home"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "VERDIKT_HOME": str(project.parent / "data"),
        "MEMORY_FILE_PATH": str(project.parent / "memory.jsonl"),
        "TZ": "UTC",
    }


def relay(name: str, *options: str) -> list[str]:
    """Return the command of the relay."""
    return [sys.executable, "-m", "verdikt", "mcp", "--name", name, "--trust-first", *options]


def call(tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Return a call of a tool for the driver."""
    return {"do": "call_tool", "args": [tool, arguments or {}], **options}


@contextmanager
def serve_page() -> Iterator[str]:
    """Serve a page on loopback."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/page" else 404)
            self.end_headers()
            self.wfile.write(b"<html><body><p>a page of its own</p></body></html>")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/page"
    server.shutdown()
    thread.join()
    server.server_close()


EVERYTHING = [
    call("echo", {"message": "héllo \u2028 \0"}),
    call("get-sum", {"a": 2, "b": 3}),
    call("get-tiny-image"),
    call("get-structured-content", {"location": "New York"}),
    call("get-annotated-message", {"messageType": "error", "includeImage": True}),
    call("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    call("trigger-long-running-operation", {"duration": 0.4, "steps": 2}, progress=True),
    call("trigger-long-running-operation", {"duration": 30, "steps": 2}, cancel_after=1.0),
    call("trigger-sampling-request", {"prompt": "write", "maxTokens": 10}),
    call("trigger-elicitation-request"),
    call("get-roots-list"),
    {"do": "get_prompt", "args": ["simple-prompt"]},
    {"do": "get_prompt", "args": ["args-prompt", {"city": "Bern"}]},
    {"do": "read_resource", "args": ["demo://resource/static/document/features.md"]},
    {"do": "read_resource", "args": ["demo://nowhere"]},
    {"do": "subscribe_resource", "args": ["demo://resource/dynamic/text/1"]},
    call("toggle-subscriber-updates"),
    {"do": "await_update"},
    call("toggle-subscriber-updates"),
    {"do": "unsubscribe_resource", "args": ["demo://resource/dynamic/text/1"]},
    {"do": "set_logging_level", "args": ["debug"]},
    {"do": "send_ping"},
]


def list_cases(servers: Path, project: Path, page: str) -> dict[str, tuple[list[str], list[dict[str, Any]]]]:
    """Return server → its command, and what the client does with it."""
    python, node = servers / "env/bin", servers / "node_modules/.bin"
    here = str(project)
    return {
        "everything": ([str(node / "mcp-server-everything")], EVERYTHING),
        "filesystem": (
            [str(node / "mcp-server-filesystem"), here],
            [
                call("list_directory", {"path": here}),
                call("read_text_file", {"path": f"{here}/a.txt"}),
                call("write_file", {"path": f"{here}/b.txt", "content": "b"}),
                call("read_text_file", {"path": "/etc/hostname"}),
                call("list_allowed_directories"),
            ],
        ),
        "memory": (
            [str(node / "mcp-server-memory")],
            [
                call("create_entities", {"entities": [{"name": "a", "entityType": "t", "observations": ["o"]}]}),
                call("read_graph"),
                call("search_nodes", {"query": "a"}),
            ],
        ),
        "git": (
            [str(python / "mcp-server-git"), "--repository", here],
            [
                call("git_status", {"repo_path": here}),
                call("git_log", {"repo_path": here, "max_count": 1}),
                call("git_diff_unstaged", {"repo_path": here}),
            ],
        ),
        "time": (
            [str(python / "mcp-server-time")],
            [
                call(
                    "convert_time",
                    {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Europe/Bern"},
                ),
            ],
        ),
        "fetch": ([str(python / "mcp-server-fetch"), "--ignore-robots-txt"], [call("fetch", {"url": page})]),
        "modern": (
            [str(python / "python"), str(HERE / "modern_server.py")],
            [
                call("get_note", {"key": "a"}),
                call("get_progress", progress=True),
                {"do": "read_resource", "args": ["note://one"]},
                {"do": "get_prompt", "args": ["greet", {"name": "Ada"}]},
                call("get_wishes"),
                call("get_cancelled", {"path": f"{here}/cancelled"}, cancel_after=1.0),
                {"do": "await_file", "args": [f"{here}/cancelled"]},
                {"do": "listen", "args": ["note://one", "get_update"]},
            ],
        ),
    }


def normalize(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without the time of day and the session's id, which a server tells."""
    text = re.sub(r"created at [0-9:]+ [AP]M", "created", json.dumps(report))
    normalized: dict[str, Any] = json.loads(re.sub(r"for session [0-9a-z-]+", "for a session", text))
    return normalized


def assert_complete(name: str, mode: str, report: dict[str, Any]) -> None:
    """Check that the client has seen all that the server can show: two reports could be equal because both failed."""
    if name in ("everything", "modern"):
        assert report["instructions"]
    if name == "everything":
        assert {"elicitation", "roots", "sampling"} <= set(report["seen"])
        assert {"cancelled", "updated"} <= {result for result in report["calls"] if isinstance(result, str)}
    elif name == "modern":
        wishes, cancelled, note, event = report["calls"][-4:]
        assert wishes["content"][0]["text"] == "a completion, Ada, file:///srv/project"
        assert (cancelled, note) == ("cancelled", "cancelled")
        # Only the new era has something to listen to.
        is_told = mode == "auto"
        assert ("ResourceUpdated" if is_told else "ListenNotSupportedError") in json.dumps(event)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("name", ["everything", "filesystem", "memory", "git", "time", "fetch", "modern"])
def test_a_real_server_is_the_same_through_the_relay(servers: Path, project: Path, name: str, mode: str) -> None:
    """Lists, calls, prompts, resources, sampling, elicitation, roots, progress, cancellation, subscriptions."""
    with serve_page() as page:
        command, calls = list_cases(servers, project, page)[name]
        direct = drive(servers, project, mode, ["--", *command], calls)
        subprocess.run(["git", "-C", str(project), "clean", "-fdxq"], check=True)
        (project.parent / "memory.jsonl").unlink(missing_ok=True)
        relayed = drive(servers, project, mode, ["--", *relay(name), "--", *command], calls)

    assert normalize(relayed) == normalize(direct)
    assert direct["tools"]["tools"]
    assert_complete(name, mode, relayed)
    with open_store(project.parent / "data", projections=load_projections()) as store:
        kinds = [entry.kind.value for s in store.list_sessions() for entry in store.read_entries(s)]
    assert kinds.count("decision") >= len(direct["calls"]) - 6


@contextmanager
def run_process(command: list[str], project: Path, port: int, **env: str) -> Iterator[None]:
    """Run a server that listens on a port, until the block ends."""
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=project, env=build_env(project) | env, **pipes) as process:
        try:
            for _ in range(400):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield
        finally:
            process.kill()


def find_free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.parametrize(("name", "mode"), [("everything", "legacy"), ("modern", "legacy"), ("modern", "auto")])
def test_a_real_server_is_the_same_through_the_relay_over_http(
    servers: Path, project: Path, name: str, mode: str
) -> None:
    """Both eras; events arrive one by one, sampling and elicitation in the stream of their call."""
    port, relay_port = find_free_port(), find_free_port()
    command, calls = list_cases(servers, project, "")[name]
    started = [*command, "streamableHttp"] if name == "everything" else [*command, str(port)]
    to = f"http://127.0.0.1:{port}/mcp"
    relaying = [*relay(name), "--attended", "--listen", f"127.0.0.1:{relay_port}", "--to", to]
    with run_process(started, project, port, PORT=str(port)), run_process(relaying, project, relay_port):
        direct = drive(servers, project, mode, [to], calls)
        (project / "cancelled").unlink(missing_ok=True)
        relayed = drive(servers, project, mode, [f"http://127.0.0.1:{relay_port}/mcp"], calls)

    assert normalize(relayed) == normalize(direct)
    assert_complete(name, mode, relayed)


@pytest.mark.parametrize(
    ("name", "mode", "transport"),
    [
        ("everything", "legacy", "streamableHttp"),
        ("everything", "legacy", "sse"),
        ("modern", "legacy", ""),
        ("modern", "auto", ""),
    ],
)
def test_a_real_server_at_an_address_is_the_same_through_the_relay_on_stdio(
    servers: Path, project: Path, name: str, mode: str, transport: str
) -> None:
    """What `verdikt init --mcp` makes of an entry with an address, for both eras and the transport of 2024."""
    port = find_free_port()
    command, calls = list_cases(servers, project, "")[name]
    started = [*command, transport] if transport else [*command, str(port)]
    to = f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    with run_process(started, project, port, PORT=str(port)):
        # The client of the SDK does not speak the transport of 2024 by itself; the same server on stdio is compared.
        direct = drive(servers, project, mode, ["--", *command] if transport == "sse" else [to], calls)
        (project / "cancelled").unlink(missing_ok=True)
        relayed = drive(servers, project, mode, ["--", *relay(name), "--to", to], calls)

    assert normalize(relayed) == normalize(direct)
    assert_complete(name, mode, relayed)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_person_is_asked_through_a_real_client(servers: Path, project: Path, mode: str) -> None:
    """A yes lets the call of a tool that says nothing about itself run; a block never runs."""
    rule = "rules:\n  - {name: keep, tool: mcp__modern__delete_note, verdict: block, reason: stays, fix: archive it}\n"
    (project / "governance.yaml").write_text(rule)
    command = list_cases(servers, project, "")["modern"][0]
    calls = [call("frobnicate", {"path": str(project / "f")}), call("delete_note", {"path": str(project / "d")})]
    report = drive(servers, project, mode, ["--", *relay("modern"), "--", *command], calls)

    assert report["calls"][0]["content"][0]["text"] == "frobnicated"
    assert report["calls"][1]["isError"] is True
    assert "stays" in report["calls"][1]["content"][0]["text"]
    assert [(project / name).exists() for name in ("f", "d")] == [True, False]
