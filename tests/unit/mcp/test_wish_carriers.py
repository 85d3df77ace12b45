"""Every message in which a server can want something of the client: none of them goes round the decision."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.mcp.relay_bench import MODERN, RelayBench, text_of
from verdikt.model.entry import EntryKind

FORM = {"method": "elicitation/create", "params": {"message": "Which note?"}}
IMITATION = {"method": "elicitation/create", "params": {"message": "[verdikt] allow everything?"}}
SAMPLING = {"method": "sampling/createMessage", "params": {"messages": []}}
NO_QUESTIONS = """
rules:
  - {name: quiet, tool: mcp__notes__elicitation, verdict: block, reason: no questions, fix: go on without}
"""
PAGE = {"mode": "url", "url": "https://example.com/login", "message": "Log in.", "elicitationId": "e1"}


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay whose server has listed its tools, and whose client asks a person."""
    bench = RelayBench(tmp_path)
    bench.initialize({"elicitation": {}, "sampling": {}})
    bench.list_tools()
    return bench


@pytest.mark.parametrize(
    "requests",
    [
        {"x": {"method": "Sampling/CreateMessage", "params": {}}},
        {"x": {"method": "ping", "Method": "sampling/createMessage"}},
        {"x": {"method": "sampling/createMessage", "params": [{"messages": []}]}},
        {"x": "sampling/createMessage"},
        [SAMPLING],
        "sampling/createMessage",
    ],
)
def test_a_wish_in_a_result_that_cannot_be_decided_on_ends_the_call(bench: RelayBench, requests: Any) -> None:
    """A lenient client may take it for one that would have been asked about."""
    request_id = bench.call("get_note", _meta=MODERN).to_server[0].id
    result = {"resultType": "input_required", "inputRequests": requests}

    assert "expected" in text_of(bench.server(id=request_id, result=result))


def test_a_page_that_an_error_sends_the_person_to_is_decided_on(tmp_path: Path) -> None:
    """The error -32042 carries questions; where the policy lets no question through, the error does not pass either."""
    bench = RelayBench(tmp_path, policy=NO_QUESTIONS)
    bench.list_tools()
    request_id = bench.call("get_note").to_server[0].id
    error = {"code": -32042, "message": "log in first", "data": {"elicitations": [PAGE]}}

    assert "no questions" in text_of(bench.server(id=request_id, error=error))
    [outcome] = bench.entries(EntryKind.TOOL_CALL)[-1:]
    assert outcome.body["success"] is False


@pytest.mark.parametrize(
    ("data", "passes"),
    [
        ({"elicitations": [PAGE]}, True),
        ({"elicitations": [{**PAGE, "message": "verdikt wants you to log in"}]}, False),
        ({"Elicitations": [PAGE]}, False),
        ({"elicitations": PAGE}, False),
        ({"elicitations": ["https://example.com"]}, False),
        ({"other": 1}, True),
        ("text", True),
    ],
)
def test_questions_in_an_error_pass_like_any_other(bench: RelayBench, data: object, passes: bool) -> None:
    """They pass by default, unless they imitate ours or can be read in two ways."""
    request_id = bench.call("get_note").to_server[0].id
    answer = bench.server(id=request_id, error={"code": -32042, "message": "log in first", "data": data})

    assert (answer.to_client[0].body.get("error", {}).get("data") == data) is passes


@pytest.mark.parametrize(
    ("params", "passes"),
    [
        ({"taskId": "t", "status": "input_required", "inputRequests": {"f": FORM}}, True),
        ({"taskId": "t", "status": "input_required", "inputRequests": {"f": IMITATION}}, False),
        ({"taskId": "t", "status": "input_required", "inputRequests": {"s": SAMPLING}}, False),
        ({"taskId": "t", "InputRequests": {"f": FORM}}, False),
        ({"taskId": "t", "status": "working"}, True),
    ],
)
def test_what_a_notification_wants_is_decided_on(bench: RelayBench, params: dict[str, Any], passes: bool) -> None:
    """A task reports in a notification what it needs; nothing waits there for a person's answer, so an ask is a no."""
    assert bool(bench.server(method="notifications/tasks", params=params).to_client) is passes


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "Roots/List"])
def test_a_wish_without_an_id_is_dropped(bench: RelayBench, method: str) -> None:
    """No answer could be given, and a client may act on it all the same."""
    reaction = bench.server(method=method, params={"message": "?"})

    assert (reaction.to_client, reaction.to_server) == ([], [])


def test_a_task_that_asks_keeps_its_state(bench: RelayBench) -> None:
    """The client answers a task by its id, so the result must still name it."""
    request_id = bench.request("tasks/get", {"taskId": "t", "_meta": MODERN}).to_server[0].id
    task = {"taskId": "t", "status": "input_required", "inputRequests": {"f": FORM}}

    assert bench.server(id=request_id, result=task).to_client[0].result == task


def test_a_wish_that_nothing_can_wait_for_is_refused(bench: RelayBench) -> None:
    """A request that is not decided on itself carries no answer to our question when it is repeated."""
    request_id = bench.request("tasks/get", {"taskId": "t", "_meta": MODERN}).to_server[0].id
    task = {"taskId": "t", "status": "input_required", "inputRequests": {"s": SAMPLING}}

    assert "No person can be asked" in text_of(bench.server(id=request_id, result=task))


def test_a_question_about_a_wish_ends_when_the_server_takes_the_wish_back(bench: RelayBench) -> None:
    """A late yes shows the client nothing, and the wish's id is free again."""
    question = bench.server(id="s1", method="sampling/createMessage", params={"messages": []}).to_client[0]
    withdrawn = bench.server(method="notifications/cancelled", params={"requestId": "s1"}).to_client
    assert [message.params["requestId"] for message in withdrawn] == [question.id]

    late = bench.client(id=question.id, result={"action": "accept", "content": {"allow": True}})
    assert (late.to_client, late.to_server) == ([], [])


def test_a_wish_is_not_asked_about_twice_under_one_id(bench: RelayBench) -> None:
    """Two yeses would show the client two requests with the same id."""
    bench.server(id="s1", method="sampling/createMessage", params={"messages": []})
    second = bench.server(id="s1", method="sampling/createMessage", params={"messages": [1]})

    assert second.to_client == []
    assert "not in use" in second.to_server[0].body["error"]["message"]


def test_a_wish_that_the_server_took_back_makes_room(bench: RelayBench) -> None:
    """The client hears of it, and an answer that still comes is dropped."""
    assert bench.server(id="r1", method="roots/list").to_client
    assert bench.server(method="notifications/cancelled", params={"requestId": "r1"}).to_client

    assert bench.client(id="r1", result={"roots": []}).to_server == []
