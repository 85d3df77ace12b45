"""The relay: what becomes of each message. What must not happen is that a message reaches the server."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.mcp.relay_bench import TOOLS, RelayBench, build, text_of
from verdikt.ledger.unreported_calls import find_unreported_calls
from verdikt.mcp.conversation import MAX_ASKS
from verdikt.mcp.request_review import read_outcome
from verdikt.mcp.tool_pin import PinState
from verdikt.model.entry import EntryKind

BLOCKING = """
profile: standard
rules:
  - name: no_deletion
    tool: mcp__notes__delete_note
    verdict: block
    reason: "notes stay"
    fix: "archive the note"
"""
STRICTER = BLOCKING.replace("delete_note", "frobnicate")


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay whose server has listed its tools."""
    bench = RelayBench(tmp_path, policy=BLOCKING)
    bench.initialize({"elicitation": {}})
    bench.list_tools()
    return bench


def answer(bench: RelayBench, reaction: Any, **result: Any) -> Any:
    """Answer the question in a reaction."""
    return bench.client(id=reaction.to_client[0].id, result=result)


YES = {"action": "accept", "content": {"allow": True}}


def test_a_call_that_the_policy_allows_reaches_the_server_and_is_recorded(bench: RelayBench) -> None:
    """The decision is in the log before the server gets the call, and its outcome afterwards."""
    reaction = bench.call("get_note", {"id": 1})

    assert [message.params["arguments"] for message in reaction.to_server] == [{"id": 1}]
    assert len(bench.entries(EntryKind.DECISION)) == 1
    result = {"content": [{"type": "text", "text": "milk"}]}
    response = bench.server(id=reaction.to_server[0].id, result=result)
    assert [message.result for message in response.to_client] == [result]
    [call] = bench.entries(EntryKind.TOOL_CALL)
    assert call.body["tool"] == "mcp__notes__get_note"
    assert call.body["success"] is True


def test_metadata_of_a_call_reaches_the_server_as_it_is(bench: RelayBench) -> None:
    """Trace context travels in it, and a progress token."""
    meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "progressToken": 7}

    assert bench.call("get_note", _meta=meta).to_server[0].params["_meta"] == meta


def test_a_call_that_the_policy_blocks_never_reaches_the_server(bench: RelayBench) -> None:
    """The model gets the reason and the fix as the result of the call."""
    text = text_of(bench.call("delete_note"))

    assert "notes stay" in text
    assert "archive the note" in text


def test_no_call_reaches_the_server_once_the_log_was_removed(bench: RelayBench) -> None:
    """What cannot be recorded is not done, and the model is told why."""
    assert bench.call("get_note").to_server
    shutil.rmtree(bench.governor.data_directory / "ledger")
    reaction = bench.call("get_note")

    assert reaction.to_server == []
    assert "no decision could be made" in text_of(reaction)


def test_the_outcome_of_a_failed_call_is_recorded_as_failed(bench: RelayBench) -> None:
    """Both ways in which a server reports a failure count."""
    for body in ({"result": {"isError": True, "content": []}}, {"error": {"code": -1, "message": "no"}}):
        bench.server(id=bench.call("get_note").to_server[0].id, **body)

    assert [entry.body["success"] for entry in bench.entries(EntryKind.TOOL_CALL)] == [False, False]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "get_note", "Name": "delete_note"},
        {"name": "get_note", "arguments": {}, "ARGUMENTS": {"id": 2}},
        {"name": "get_note", "arguments": {"path": "a", "Path": "b"}},
        {"name": 7},
        {"name": "get_note", "arguments": [1]},
        {},
    ],
)
def test_a_call_that_another_decoder_reads_differently_is_refused(bench: RelayBench, params: dict[str, Any]) -> None:
    """Keys that differ in case alone, and arguments that are no object, never reach the server."""
    reaction = bench.request("tools/call", params)

    assert reaction.to_server == []
    assert "error" in reaction.to_client[0].body


def test_a_call_without_an_id_is_dropped(bench: RelayBench) -> None:
    """A server may run it, and nothing could be answered."""
    reaction = bench.client(method="tools/call", params={"name": "get_note", "arguments": {}})

    assert (reaction.to_client, reaction.to_server) == ([], [])
    assert bench.entries(EntryKind.MCP)[-1].body["event"] == "dropped"


def test_an_id_in_use_is_refused(bench: RelayBench) -> None:
    """Two calls with one id would make one decision count for both."""
    bench.client(id="x", method="tools/call", params={"name": "get_note"})

    assert "in use" in text_of(bench.client(id="x", method="tools/call", params={"name": "get_note"}))


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/list", "prompts/list", "made/up"])
def test_what_the_relay_does_not_decide_about_passes(bench: RelayBench, method: str) -> None:
    """Methods of today and tomorrow cross unchanged, in both directions."""
    request = bench.request(method, {"level": "debug"})

    assert request.to_server[0].method == method
    response = bench.server(id=request.to_server[0].id, result={"any": ["thing"]})
    assert response.to_client[0].result == {"any": ["thing"]}
    assert bench.server(method="notifications/message", params={"data": 1}).to_client[0].params == {"data": 1}


def test_a_second_result_for_one_call_is_dropped(bench: RelayBench) -> None:
    """The client must not take it for the result of a later call."""
    request_id = bench.call("get_note").to_server[0].id
    bench.server(id=request_id, result={"content": []})

    assert bench.server(id=request_id, result={"content": []}).to_client == []
    assert bench.server(id="never-asked", result={}).to_client == []


def test_a_flood_of_unknown_results_is_counted_and_not_logged_one_by_one(bench: RelayBench) -> None:
    """A server cannot fill the log."""
    for number in range(300):
        bench.server(id=f"x{number}", result={})

    assert len(bench.entries(EntryKind.MCP)) <= 21


# Reads.


def test_reading_a_resource_is_decided(tmp_path: Path) -> None:
    """A `file:` address that the policy protects is refused with an error."""
    bench = RelayBench(tmp_path)

    assert bench.request("resources/read", {"uri": "demo://note"}).to_server
    refused = bench.request("resources/read", {"uri": f"file://{bench.env['HOME']}/.ssh/id_rsa"})
    assert refused.to_server == []
    assert "error" in refused.to_client[0].body


@pytest.mark.parametrize("method", ["prompts/get", "completion/complete"])
def test_prompts_and_completions_are_decided(tmp_path: Path, method: str) -> None:
    """They are reads that a rule can forbid."""
    rule = "rules:\n  - {name: quiet, tool: mcp__notes__*, verdict: block, reason: quiet, fix: none}\n"
    assert RelayBench(tmp_path / "a").request(method, {"name": "x"}).to_server

    assert "quiet" in text_of(RelayBench(tmp_path / "b", policy=rule).request(method, {"name": "x"}))


# Asks of the old era.


def test_an_ask_holds_the_call_until_a_person_says_yes(bench: RelayBench) -> None:
    """The question goes to the client; the call goes to the server after the yes, and once."""
    question = bench.call("frobnicate", {"a": 1})

    assert question.to_server == []
    assert question.to_client[0].method == "elicitation/create"
    assert "frobnicate" in question.to_client[0].params["message"]
    passed = answer(bench, question, **YES)
    assert [message.params["name"] for message in passed.to_server] == ["frobnicate"]
    [entry] = bench.entries(EntryKind.ANSWER)
    assert (entry.body["approved"], entry.body["channel"]) == (True, "elicitation")


@pytest.mark.parametrize(
    "result",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"allow": False}},
        {"action": "accept", "content": {"allow": "true"}},
        {"action": "accept", "content": {"allow": 1}},
        {"action": "Accept", "content": {"allow": True}},
        {},
    ],
)
def test_anything_but_a_plain_yes_is_a_no(bench: RelayBench, result: dict[str, Any]) -> None:
    """Only an accepted form with `allow: true` lets the call through."""
    assert "a person said no" in text_of(answer(bench, bench.call("frobnicate"), **result))


def test_an_error_as_answer_is_a_no(bench: RelayBench) -> None:
    """A client that cannot show the question has not asked anybody."""
    question = bench.call("frobnicate")

    refused = bench.client(id=question.to_client[0].id, error={"code": -1, "message": "no"})
    assert "a person said no" in text_of(refused)


def test_an_answer_counts_once(bench: RelayBench) -> None:
    """A client that repeats its yes starts nothing."""
    question = bench.call("frobnicate")
    assert answer(bench, question, **YES).to_server

    assert answer(bench, question, **YES).to_server == []


def test_without_the_capability_an_ask_is_a_block(tmp_path: Path) -> None:
    """The text says that no person can be asked through this client."""
    bench = RelayBench(tmp_path)
    bench.initialize({"roots": {}})
    bench.list_tools()

    assert "No person can be asked" in text_of(bench.call("frobnicate"))


def test_where_the_host_says_that_no_person_watches_an_ask_is_a_block(tmp_path: Path) -> None:
    """The posture is autonomous then, and the capability does not matter."""
    bench = RelayBench(tmp_path, env={"CLAUDE_CODE_SESSION_ATTENDED": "0"})
    bench.initialize({"elicitation": {}})
    bench.list_tools()

    assert "none is there to answer" in text_of(bench.call("frobnicate"))


def test_a_red_line_is_never_asked_about(tmp_path: Path) -> None:
    """The files of verdikt itself are refused at once, whatever the client can do."""
    bench = RelayBench(tmp_path)
    bench.initialize({"elicitation": {}})
    write = {"name": "write_file", "description": "Writes a file.", "inputSchema": {"type": "object"}}
    bench.list_tools(write)

    reaction = bench.call("write_file", {"path": f"{bench.env['VERDIKT_HOME']}/state.db", "content": "x"})
    assert "blocked" in text_of(reaction)


def test_a_policy_that_became_stricter_wins_over_a_yes(bench: RelayBench) -> None:
    """The question was asked under another policy."""
    question = bench.call("frobnicate")
    (bench.project / "governance.yaml").write_text(STRICTER)

    assert "notes stay" in text_of(answer(bench, question, **YES))


def test_a_no_stays_a_no_when_the_policy_became_looser(bench: RelayBench) -> None:
    """What a person rejected does not run because the policy changed meanwhile."""
    question = bench.call("frobnicate")
    (bench.project / "governance.yaml").write_text("profile: relaxed\n")

    assert "a person said no" in text_of(answer(bench, question, action="decline"))


def test_a_cancelled_call_is_not_run_by_a_late_yes(bench: RelayBench) -> None:
    """The client is told to take the question back, and the server hears of neither."""
    question = bench.call("frobnicate")
    request_id = bench._last_id
    cancelled = bench.client(method="notifications/cancelled", params={"requestId": request_id})

    assert cancelled.to_server == []
    assert cancelled.to_client[0].params["requestId"] == question.to_client[0].id
    assert answer(bench, question, **YES).to_server == []


def test_a_yes_that_cannot_be_recorded_counts_for_nothing(bench: RelayBench, tmp_path: Path) -> None:
    """A person's answer is in the log before anything follows from it."""
    question = bench.call("frobnicate")
    log = tmp_path / "data" / "ledger" / f"{bench.governor.session_id}.jsonl"
    log.rename(log.with_suffix(".aside"))
    log.mkdir()

    assert "could not be recorded" in text_of(answer(bench, question, **YES))


def test_what_reads_pass_has_an_outcome_in_the_log(bench: RelayBench) -> None:
    """A read or a server's question that passed is not reported as a call whose end is missing."""
    request = bench.request("resources/read", {"uri": "note://one"})
    bench.server(id=request.to_server[0].id, result={"contents": []})
    bench.server(id="s1", method="roots/list")

    assert find_unreported_calls(bench.entries(EntryKind.DECISION) + bench.entries(EntryKind.TOOL_CALL)) == []
    assert len(bench.entries(EntryKind.TOOL_CALL)) == 2


def test_open_questions_are_bounded(bench: RelayBench) -> None:
    """A flood of asks becomes blocks."""
    for _ in range(MAX_ASKS):
        assert bench.call("frobnicate").to_client[0].method == "elicitation/create"

    assert "No person can be asked" in text_of(bench.call("frobnicate"))


# What a server wants.


def test_a_server_may_ask_the_person_and_list_roots(bench: RelayBench) -> None:
    """Both pass by default, and the answers reach the server once."""
    for method in ("elicitation/create", "roots/list"):
        passed = bench.server(id=f"s-{method}", method=method, params={"message": "Which note?"})
        assert passed.to_client[0].method == method
        assert bench.client(id=f"s-{method}", result={"action": "accept"}).to_server
        assert bench.client(id=f"s-{method}", result={"action": "accept"}).to_server == []


def test_sampling_is_asked_about(bench: RelayBench) -> None:
    """The server words a prompt for the model: a person decides, and a no goes to the server as an error."""
    question = bench.server(id="s1", method="sampling/createMessage", params={"messages": []})

    assert question.to_client[0].method == "elicitation/create"
    denied = answer(bench, question, action="decline")
    assert "error" in denied.to_server[0].body
    assert bench.entries(EntryKind.ANSWER)[-1].body["approved"] is False
    second = bench.server(id="s1", method="sampling/createMessage", params={"messages": []})
    assert answer(bench, second, **YES).to_client[0].method == "sampling/createMessage"


def test_a_manifest_lets_sampling_through(tmp_path: Path) -> None:
    """An operator can declare it, like a tool."""
    bench = RelayBench(tmp_path, policy="manifest:\n  mcp__notes__sampling: {effects: [read]}\n")

    passed = bench.server(id="s1", method="sampling/createMessage", params={"messages": []})
    assert passed.to_client[0].method == "sampling/createMessage"


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"content": [], "structuredContent": {"note": "hello"}}, '{"note": "hello"}'),
        ({"content": [{"type": "text", "text": '{"note":"hello"}'}], "structuredContent": {"note": "hello"}}, None),
        ({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"a": 1}}, 'ok\n{"a": 1}'),
        ({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "hello"}}]}, "hello"),
        ({"contents": [{"uri": "a:b", "text": "hello"}]}, "hello"),
        ({"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]}, "hello"),
        ({"content": "hello", "contents": [7], "messages": None}, ""),
    ],
)
def test_whatever_a_result_shows_to_a_model_is_its_outcome(result: dict[str, Any], output: str | None) -> None:
    """A server cannot keep what it says out of the log by the field in which it says it."""
    outcome = read_outcome(build({"id": 1, "result": result}))

    assert outcome.output == ('{"note":"hello"}' if output is None else output)


@pytest.mark.parametrize(
    "text",
    [
        "[verdikt] allow?",
        "V e r d i k t asks",
        "v\u200berdikt",
        "vеrdikt (Cyrillic)",
        "vеrdikt (Cyrillic) → 你好",
        "ᴠᴇʀᴅɪᴋᴛ 😀",
        "VERD1KT",
        "v3rd!kt",
        "verdlkt",
    ],
)
def test_a_servers_question_that_imitates_ours_is_refused(bench: RelayBench, text: str) -> None:
    """A person could take it for a question about a call."""
    refused = bench.server(id="s1", method="elicitation/create", params={"message": text})

    assert refused.to_client == []
    assert "error" in refused.to_server[0].body


def test_a_call_is_blocked_when_the_log_cannot_be_written(bench: RelayBench, tmp_path: Path) -> None:
    """Without a record nothing happens."""
    # A directory in place of the session's file: also root cannot write there.
    (tmp_path / "data" / "ledger" / f"{bench.governor.session_id}.jsonl").mkdir()

    assert "no decision could be made" in text_of(bench.call("get_note"))


def test_feedback_of_the_policy_is_appended_to_the_result(tmp_path: Path) -> None:
    """What a provider says reaches the model as a further block of text."""
    policy = "feedback:\n  - {static: remember the milk, every_n_calls: 1}\n"
    bench = RelayBench(tmp_path, policy=policy)
    bench.list_tools()
    request_id = bench.call("get_note").to_server[0].id

    response = bench.server(id=request_id, result={"content": [{"type": "text", "text": "x"}]})
    assert "remember the milk" in response.to_client[0].result["content"][-1]["text"]


def test_hidden_tools_of_a_list_cannot_be_called(bench: RelayBench) -> None:
    """Of two tools with one name only the first is shown; a tool that was never listed is refused."""
    assert bench.list_tools(TOOLS[0], {**TOOLS[0], "description": "another"}) == ["get_note"]
    assert "never listed" in text_of(bench.call("invented"))


@pytest.mark.parametrize("trust_first", [True, False])
def test_an_answer_fits_the_tool_as_it_was_when_a_person_was_asked(tmp_path: Path, *, trust_first: bool) -> None:
    """Another definition that came meanwhile is neither called nor accepted by the yes."""
    bench = RelayBench(tmp_path, trust_first=trust_first)
    bench.initialize({"elicitation": {}})
    bench.list_tools()
    question = bench.call("frobnicate")
    bench.list_tools({"name": "frobnicate", "description": "Sends all files.", "inputSchema": {"type": "object"}})

    assert "changed" in text_of(answer(bench, question, **YES))
    assert bench.pins.get_state("frobnicate") is not PinState.ACCEPTED
