"""The HTTP form: a token, the loopback, and a block in a 200 wherever another answer would run the tool."""

import http.client
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.warm import WarmProcess, bash, eventually
from verdikt.daemon import client, protocol
from verdikt.daemon.client import find_daemon_pid


class Web:
    """A warm process with a port, and requests to it."""

    def __init__(self, warm: WarmProcess) -> None:
        self.warm = warm
        self.port: int = warm.status()["http"]
        self.token = (warm.run / "http.token").read_text().strip()

    def post(self, body: bytes, path: str = "/hook/claude/PreToolUse", method: str = "POST", **headers: str) -> Any:
        """Status and document of a response."""
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A warm process that also answers http hooks."""
    process = WarmProcess(tmp_path)
    try:
        process.start("--http", "0")
        yield Web(process)
    finally:
        process.end()


def call(web: Web, command: str) -> bytes:
    """A tool call in the home of the warm process."""
    return bash(command, cwd=str(web.warm.home))


def denied(said: Any) -> bool:
    """Whether Claude Code would stop here."""
    status, document = said
    specific = document.get("hookSpecificOutput", {})
    return bool(
        status == 200
        and document["decision"] == "block"
        and document["reason"]
        and specific.get("permissionDecision") == "deny"
        and specific["permissionDecisionReason"] == document["reason"]
    )


def test_it_decides_as_the_socket_does(web: Web) -> None:
    """And records it in the same log."""
    assert web.post(call(web, "ls")) == (200, {})
    assert denied(web.post(call(web, "rm -rf /")))
    after = call(web, "ls").replace(b"PreToolUse", b"PostToolUse")
    assert web.post(after, "/hook/claude/PostToolUse") == (200, {})
    assert web.warm.calls() == ["t1", "t1"]


def test_the_token_is_private(web: Web) -> None:
    """Only its user reads it; it stays the same when the process is started again."""
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
def test_who_may_not_ask_is_blocked_and_told_nothing(web: Web, headers: dict[str, str]) -> None:
    """In a 200, because a client takes every other status for silence; where no action waits, no opinion."""
    assert denied(web.post(call(web, "ls"), **headers))
    assert web.post(call(web, "ls"), "/hook/claude/PostToolUse", **headers) == (200, {})
    assert web.warm.status()["calls"] <= 3
    assert not (web.warm.data / "ledger" / "s.jsonl").exists()


@pytest.mark.parametrize("body", [b"", b"{half", b"[]", b"null", b"\xff" * 100])
def test_what_cannot_be_read_is_blocked(web: Web, body: bytes) -> None:
    """Whatever is in the body."""
    assert denied(web.post(body))


def test_a_body_without_end_is_blocked(web: Web) -> None:
    """By what it announces, before it is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
    connection.putrequest("POST", "/hook/claude/PreToolUse")
    connection.putheader("Authorization", f"Bearer {web.token}")
    connection.putheader("Content-Length", str(protocol.MAX_PAYLOAD_BYTES + 1))
    connection.endheaders()
    response = connection.getresponse()

    assert denied((response.status, json.loads(response.read())))
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
def test_there_is_nothing_else_to_ask_for(web: Web, method: str, path: str) -> None:
    """Only POST, only hooks."""
    status, document = web.post(b"{}", path, method)

    assert status == 404
    assert "expected POST" in document["error"]


def test_nobody_is_there_unless_the_host_says_so(web: Web) -> None:
    """An ask becomes a block, except where a header hands on that a person sits in front of the session."""
    ask = call(web, "systemctl daemon-reload")
    alone = web.post(ask)
    status, document = web.post(ask, X_Verdikt_CLAUDE_CODE_ENTRYPOINT="cli")

    assert denied(alone)
    assert (status, document["hookSpecificOutput"]["permissionDecision"]) == (200, "ask")


def test_it_is_off_unless_switched_on(tmp_path: Path) -> None:
    """A warm process that a hook started listens on no port."""
    process = WarmProcess(tmp_path)
    try:
        process.start()
        assert process.status()["http"] is None
        assert not (process.run / "http.token").exists()
    finally:
        process.end()


def test_the_port_is_taken_over_by_the_process_that_follows(web: Web) -> None:
    """A client takes a closed port for silence: whoever takes the place listens there too, until a person ends it."""
    texts = ["0.0.0-other", "claude", "PreToolUse", "", "/", protocol.PYTHON_CLIENT]
    with pytest.raises(client.DaemonOutdated):
        client.send_request(web.warm.path, protocol.encode_request(texts, web.warm.env, b""), 10)
    web.warm.started[0].wait(timeout=60)
    eventually("another process listens", web.warm.reachable)

    assert web.warm.status()["http"] == web.port
    assert denied(web.post(call(web, "rm -rf /")))
    os.kill(find_daemon_pid(web.warm.run), signal.SIGTERM)
    eventually("it was ended", lambda: not find_daemon_pid(web.warm.run))
    web.warm.start()
    assert web.warm.status()["http"] is None
