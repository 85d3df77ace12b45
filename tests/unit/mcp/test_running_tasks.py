"""Calls that run as tasks: their outcome is what comes of the task, and not that it was begun."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.mcp.relay_bench import MODERN, RelayBench
from verdikt.mcp import running_tasks
from verdikt.model.entry import EntryKind

TEXT = {"content": [{"type": "text", "text": "the note"}]}
FAILED = {"content": [{"type": "text", "text": "no such note"}], "isError": True}


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay whose server has listed its tools."""
    bench = RelayBench(tmp_path)
    bench.list_tools()
    return bench


def begin(bench: RelayBench, task_id: str = "t1", *, is_modern: bool = False) -> None:
    """Call a tool that the server goes on with as a task."""
    call = bench.call("get_note", _meta=MODERN) if is_modern else bench.call("get_note", task={"ttl": 60000})
    task: dict[str, Any] = {"taskId": task_id, "status": "working"}
    result = {"resultType": "task", **task} if is_modern else {"task": task}
    assert bench.server(id=call.to_server[0].id, result=result).to_client[0].result == result


def poll(bench: RelayBench, method: str, result: dict[str, Any], task_id: str = "t1") -> None:
    """Ask for a task, and have the server answer; the client sees the answer as it is."""
    request_id = bench.request(method, {"taskId": task_id}).to_server[0].id
    assert bench.server(id=request_id, result=result).to_client[0].result == result


def list_outcomes(bench: RelayBench) -> list[bool]:
    """Return of each outcome in the log whether it is a success."""
    return [entry.body["success"] for entry in bench.entries(EntryKind.TOOL_CALL)]


@pytest.mark.parametrize(("result", "success"), [(TEXT, True), (FAILED, False)])
def test_the_result_of_a_task_is_the_outcome_of_its_call(
    bench: RelayBench, result: dict[str, Any], success: bool
) -> None:
    """Until 2025-11-25 a request of its own brings it."""
    begin(bench)
    poll(bench, "tasks/get", {"taskId": "t1", "status": "working"})
    assert list_outcomes(bench) == []

    poll(bench, "tasks/result", result)
    poll(bench, "tasks/result", result)
    assert list_outcomes(bench) == [success]


@pytest.mark.parametrize("task", [{"task": {"taskId": "t1"}}, {"resultType": "task", "taskId": "t1"}])
@pytest.mark.parametrize("shown", [TEXT, {"structuredContent": {"note": "the note"}}])
def test_a_result_that_shows_something_is_the_outcome_whatever_task_it_names(
    bench: RelayBench, task: dict[str, Any], shown: dict[str, Any]
) -> None:
    """A server cannot keep what the client reads out of the log by calling it a task."""
    call = bench.call("get_note")
    bench.server(id=call.to_server[0].id, result={**task, **shown})

    assert list_outcomes(bench) == [True]


@pytest.mark.parametrize(("result", "success"), [(TEXT, True), (FAILED, False)])
def test_the_result_inside_the_state_of_a_task_is_its_outcome(
    bench: RelayBench, result: dict[str, Any], success: bool
) -> None:
    """From 2026-07-28 on."""
    begin(bench, is_modern=True)
    poll(bench, "tasks/get", {"taskId": "t1", "status": "completed", "result": result})

    assert list_outcomes(bench) == [success]


@pytest.mark.parametrize(("method", "status"), [("tasks/get", "failed"), ("tasks/cancel", "cancelled")])
def test_a_task_that_ends_without_a_result_has_failed(bench: RelayBench, method: str, status: str) -> None:
    """The log says so."""
    begin(bench)
    poll(bench, method, {"taskId": "t1", "status": status})

    assert list_outcomes(bench) == [False]


def test_another_task_is_none_of_ours(bench: RelayBench) -> None:
    """A server cannot end a call by the result of a task that it never began."""
    begin(bench)
    poll(bench, "tasks/result", TEXT, task_id="t2")

    assert list_outcomes(bench) == []


def test_tasks_are_bounded(bench: RelayBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest one is forgotten."""
    monkeypatch.setattr(running_tasks, "MAX_TASKS", 1)
    begin(bench, "t1")
    begin(bench, "t2")
    poll(bench, "tasks/result", TEXT, task_id="t1")
    assert list_outcomes(bench) == []

    poll(bench, "tasks/result", TEXT, task_id="t2")
    assert list_outcomes(bench) == [True]
