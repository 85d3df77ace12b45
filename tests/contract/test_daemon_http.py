"""HTTP hooks: a token, the loopback interface, and a block in a 200 where another reply would run the tool."""

import http.client
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.warm import WarmProcess, bash, wait_until
from verdikt.daemon import client, protocol
from verdikt.daemon.client import find_daemon_pid


class Web:
    """A warm process with a port, and requests to it."""

    def __init__(self, warm: WarmProcess) -> None:
        self.warm = warm
        self.port: int = warm.status()["http"]
        self.token = (warm.run / "http.token").read_text().strip()

    def post(self, body: bytes, path: str = "/hook/claude/PreToolUse", method: str = "POST", **headers: str) -> Any:
        """Return status and document of a response."""
        all_headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in all_headers.items() if value})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """Start a warm process that also answers http hooks."""
    process = WarmProcess(tmp_path)
    try:
        process.start("--http", "0")
        yield Web(process)
    finally:
        process.end()


def call(web: Web, command: str) -> bytes:
    """Return the payload of a tool call in the home of the warm process."""
    return bash(command, cwd=str(web.warm.home))


def is_denied(response: Any) -> bool:
    """Return whether Claude Code would block."""
    status, document = response
    specific = document.get("hookSpecificOutput", {})
    return bool(
        status == 200
        and document["decision"] == "block"
        and document["reason"]
        and specific.get("permissionDecision") == "deny"
        and specific["permissionDecisionReason"] == document["reason"]
    )


def test_http_hook_decides_and_records_like_the_socket(web: Web) -> None:
    """An HTTP request is decided as over the socket and recorded in the same log."""
    assert web.post(call(web, "ls")) == (200, {})
    assert is_denied(web.post(call(web, "rm -rf /")))
    after = call(web, "ls").replace(b"PreToolUse", b"PostToolUse")
    assert web.post(after, "/hook/claude/PostToolUse") == (200, {})
    assert web.warm.calls() == ["t1", "t1"]


def test_token_is_readable_by_its_user_only(web: Web) -> None:
    """Only the user of the warm process can read the token."""
    assert (web.warm.run / "http.token").stat().st_mode & 0o777 == 0o600
    assert len(web.token) >= 40


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": ""},
        {"Host": "evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Host": "127.0.0.1"},
    ],
    ids=["a wrong token", "no token", "another name", "a web page", "no port"],
)
def test_unauthorized_request_is_blocked_and_not_recorded(web: Web, headers: dict[str, str]) -> None:
    """A request without the token or from a web page gets a 200 that blocks, and is not recorded."""
    assert is_denied(web.post(call(web, "ls"), **headers))
    assert web.post(call(web, "ls"), "/hook/claude/PostToolUse", **headers) == (200, {})
    assert web.warm.status()["calls"] <= 3
    assert not (web.warm.data / "ledger" / "s.jsonl").exists()


@pytest.mark.parametrize("body", [b"", b"{half", b"[]", b"null", b"\xff" * 100])
def test_invalid_body_is_blocked(web: Web, body: bytes) -> None:
    """A body that is not a JSON object is a block."""
    assert is_denied(web.post(body))


def test_body_that_is_too_long_is_blocked_by_its_header(web: Web) -> None:
    """A body that is too long is blocked by its announced length, before it is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
    connection.putrequest("POST", "/hook/claude/PreToolUse")
    connection.putheader("Authorization", f"Bearer {web.token}")
    connection.putheader("Content-Length", str(protocol.MAX_PAYLOAD_BYTES + 1))
    connection.endheaders()
    response = connection.getresponse()

    assert is_denied((response.status, json.loads(response.read())))
    connection.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/hook/claude/PreToolUse"),
        ("POST", "/"),
        ("POST", "/hooks/claude/Stop"),
        ("DELETE", "/hook/claude/Stop"),
    ],
)
def test_other_methods_and_paths_are_not_found(web: Web, method: str, path: str) -> None:
    """Only POST to a hook is served."""
    status, document = web.post(b"{}", path, method)

    assert status == 404
    assert "expected POST" in document["error"]


def test_ask_is_a_block_unless_a_header_says_a_person_is_there(web: Web) -> None:
    """An ask becomes a block, unless a header says that a person sits in front of the session."""
    ask = call(web, "systemctl daemon-reload")
    without_header = web.post(ask)
    status, document = web.post(ask, X_Verdikt_CLAUDE_CODE_ENTRYPOINT="cli")

    assert is_denied(without_header)
    assert (status, document["hookSpecificOutput"]["permissionDecision"]) == (200, "ask")


def test_http_is_off_by_default(tmp_path: Path) -> None:
    """A warm process listens on no port unless it was told to."""
    process = WarmProcess(tmp_path)
    try:
        process.start()
        assert process.status()["http"] is None
        assert not (process.run / "http.token").exists()
    finally:
        process.end()


def test_successor_takes_over_the_port_until_it_is_stopped(web: Web) -> None:
    """The next process listens on the same port, until a person ends it."""
    head_fields = ["0.0.0-other", "claude", "PreToolUse", "", "/", protocol.PYTHON_CLIENT]
    with pytest.raises(client.DaemonOutdated):
        client.send_request(web.warm.path, protocol.encode_request(head_fields, web.warm.env, b""), 10)
    web.warm.started[0].wait(timeout=60)
    wait_until("another process listens", web.warm.reachable)

    assert web.warm.status()["http"] == web.port
    assert is_denied(web.post(call(web, "rm -rf /")))
    os.kill(find_daemon_pid(web.warm.run), signal.SIGTERM)
    wait_until("it was ended", lambda: not find_daemon_pid(web.warm.run))
    web.warm.start()
    assert web.warm.status()["http"] is None
