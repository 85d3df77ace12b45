"""What is on the disk before what: a decision before its call, or before anything that a call brings which reads."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.unit.mcp.relay_bench import RelayBench, build, text_of
from tests.unit.mcp.scripted_http_server import ScriptedHttpServer
from tests.unit.mcp.test_http_transport import listen
from verdikt.errors import LedgerError
from verdikt.ledger.log_file import LogFile
from verdikt.mcp.message import Message

RESULT = {"content": [{"type": "text", "text": "the note"}]}


class Disk:
    """Stands before every sync of a log: it can be held up, or be broken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_free = threading.Event()
        self.is_free.set()
        self.is_broken = False
        self.syncs = 0
        sync = LogFile.sync

        def sync_when_free(log: LogFile, write_count: int) -> None:
            self.is_free.wait(60)
            if self.is_broken:
                raise LedgerError("cannot write: the disk is broken")
            self.syncs += 1
            sync(log, write_count)

        monkeypatch.setattr(LogFile, "sync", sync_when_free)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Return a disk that works."""
    return Disk(monkeypatch)


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay whose tools are accepted: one that reads, and one that changes something and passes."""
    bench = RelayBench(tmp_path)
    tools = [{"name": name, "description": "A tool.", "inputSchema": {}} for name in ("get_note", "update_note")]
    bench.list_tools(*tools)
    return bench


def receive_call(bench: RelayBench, tool: str) -> Any:
    """Send a call without doing what was deferred."""
    return bench.relay.receive_from_client(build({"id": 77, "method": "tools/call", "params": {"name": tool}}))


def test_a_call_that_changes_something_reaches_the_server_after_its_decision_is_on_the_disk(
    bench: RelayBench, disk: Disk
) -> None:
    """Whatever happens to the machine then, the log has it."""
    before = disk.syncs
    reaction = receive_call(bench, "update_note")

    assert len(reaction.to_server) == 1
    assert disk.syncs > before


def test_a_call_that_changes_something_is_blocked_when_the_disk_fails(bench: RelayBench, disk: Disk) -> None:
    """The server never sees it."""
    disk.is_broken = True

    assert "no decision could be made" in text_of(receive_call(bench, "update_note"))


@pytest.mark.parametrize(
    "message",
    [{"id": 77, "result": RESULT}, {"method": "notifications/progress", "params": {"message": "the note"}}],
)
def test_nothing_of_a_call_that_reads_reaches_the_client_before_its_decision_is_on_the_disk(
    bench: RelayBench, disk: Disk, message: dict[str, Any]
) -> None:
    """The call goes on to the server meanwhile: what it reads is no effect until it is told."""
    disk.is_free.clear()
    assert len(receive_call(bench, "get_note").to_server) == 1
    sent: list[Message] = []
    server = threading.Thread(target=lambda: sent.extend(bench.relay.receive_from_server(build(message)).to_client))
    server.start()
    server.join(0.2)
    assert sent == []

    disk.is_free.set()
    server.join(60)

    assert len(sent) == 1


def test_a_call_that_reads_does_not_wait_while_the_system_is_told_to_write(
    bench: RelayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its decision is synced by another thread as soon as the call is on its way."""
    hints: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda descriptor, *_: hints.append(descriptor))

    assert len(receive_call(bench, "get_note").to_server) == 1
    assert hints == []


def test_what_a_call_read_is_withheld_when_the_disk_fails(bench: RelayBench, disk: Disk) -> None:
    """The client learns that it was not recorded, and the next call goes its way."""
    assert len(receive_call(bench, "get_note").to_server) == 1
    disk.is_broken = True

    progress = bench.relay.receive_from_server(build({"method": "notifications/progress", "params": {}}))
    wish = bench.relay.receive_from_server(build({"id": 1, "method": "roots/list"}))
    result = bench.relay.receive_from_server(build({"id": 77, "result": RESULT}))

    assert progress.to_client == []
    assert wish.to_client == []
    assert "error" in wish.to_server[0].body
    assert "could not be recorded" in text_of(result)
    disk.is_broken = False
    assert len(receive_call(bench, "get_note").to_server) == 1


def test_a_tool_that_was_not_accepted_is_never_called_before_its_decision_is_on_the_disk(
    tmp_path: Path, disk: Disk
) -> None:
    """A new tool may say of itself that it only reads."""
    bench = RelayBench(tmp_path, trust_first=False)
    bench.list_tools()
    disk.is_broken = True

    assert "no decision could be made" in text_of(receive_call(bench, "get_note"))


def test_a_call_over_http_is_on_the_disk_before_the_head_of_a_stream_without_a_result(
    tmp_path: Path, disk: Disk
) -> None:
    """A server may begin a stream and never send the result that the decision would be synced for."""
    client = listen(tmp_path, close_after_test(ScriptedHttpServer()))
    client.connect({})
    before = disk.syncs

    response = client.open(
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "get_wait", "arguments": {}}}
    )

    assert response.headers["content-type"] == "text/event-stream"
    assert disk.syncs > before
