"""The hook of a host and the relay recognise each other: one call is decided once."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.mcp.relay_bench import RelayBench, text_of
from verdikt.govern import Governance
from verdikt.ledger.grants import add_grant
from verdikt.mcp.host_link import HostLink, read_host_link
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.grant import Grant

CODEX_META = {"x-codex-turn-metadata": {}, "sessionId": "s1", "callId": "c1"}
CLAUDE_META = {"claudecode/toolUseId": "c1"}
CLAUDE_ENV = {"CLAUDE_CODE_SESSION_ID": "s1"}


@pytest.mark.parametrize(
    ("meta", "env", "link"),
    [
        (CODEX_META, {}, HostLink("s1", "c1")),
        (CLAUDE_META, CLAUDE_ENV, HostLink("s1", "c1")),
        (None, CLAUDE_ENV, HostLink("s1", "")),
        ({"progressToken": 1}, {}, HostLink()),
        ({**CODEX_META, "sessionId": 7}, {}, HostLink("", "c1")),
    ],
)
def test_the_session_and_the_call_of_a_host_are_recognised(meta: object, env: dict[str, str], link: HostLink) -> None:
    """By what the real clients send."""
    assert read_host_link(meta, env) == link


def decide_by_hook(bench: RelayBench, **changes: Any) -> Action:
    """Decide a call as the host's hook does, and return its action."""
    fields: dict[str, Any] = {"tool": "mcp__notes__get_note", "payload": {"id": 1}, "session_id": "s1", "call_id": "c1"}
    fields |= {"host": "claude", "cwd": str(bench.project)}
    action = Action(kind=ActionKind.MCP, **(fields | changes))
    with Governance.load(cwd=str(bench.project), env=bench.env) as governance:
        governance.before(action)
    return action


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay that a host with a session has started."""
    bench = RelayBench(tmp_path, env=CLAUDE_ENV)
    bench.list_tools()
    return bench


def test_a_call_that_the_hook_let_through_is_decided_once(bench: RelayBench) -> None:
    """The log shows one decision, that the relay recognised it, and leaves the outcome to the hook."""
    decide_by_hook(bench)
    request_id = bench.call("get_note", {"id": 1}, _meta=CLAUDE_META).to_server[0].id
    bench.server(id=request_id, result={"content": []})

    assert len(bench.entries(EntryKind.DECISION)) == 1
    assert bench.entries(EntryKind.TOOL_CALL) == []
    [event] = bench.entries(EntryKind.MCP)
    assert (event.body["event"], event.session) == ("covered", "s1")


@pytest.mark.parametrize(
    "changes",
    [{"payload": {"id": 2}}, {"call_id": "c2"}, {"tool": "mcp__notes__delete_note"}, {"session_id": "s2"}],
)
def test_a_decision_on_another_call_does_not_count(bench: RelayBench, changes: dict[str, Any]) -> None:
    """Tool, arguments, call and session must all be the same."""
    decide_by_hook(bench, **changes)
    bench.call("get_note", {"id": 1}, _meta=CLAUDE_META)

    assert len(bench.entries(EntryKind.DECISION)) == 2


def test_a_call_whose_outcome_is_recorded_does_not_cover_another(bench: RelayBench) -> None:
    """The id of a call that has ended cannot be used again."""
    action = decide_by_hook(bench)
    with Governance.load(cwd=str(bench.project), env=bench.env) as governance:
        governance.after(action, Outcome(success=True))
    bench.call("get_note", {"id": 1}, _meta=CLAUDE_META)

    assert len(bench.entries(EntryKind.DECISION)) == 2


def test_one_decision_of_the_hook_lets_one_call_through(bench: RelayBench) -> None:
    """What sends the same call again while the first one runs is no host: it is decided on as another call."""
    decide_by_hook(bench)
    for _ in range(2):
        bench.call("get_note", {"id": 1}, _meta=CLAUDE_META)

    assert len(bench.entries(EntryKind.DECISION)) == 2
    assert len(bench.entries(EntryKind.MCP)) == 1


def test_a_call_that_the_hook_blocked_is_decided_again(tmp_path: Path) -> None:
    """If it arrives all the same, the host did not obey: nothing runs."""
    rule = "rules:\n  - {name: r, tool: mcp__notes__get_note, verdict: block, reason: no, fix: none}\n"
    bench = RelayBench(tmp_path, env=CLAUDE_ENV, policy=rule)
    bench.list_tools()
    decide_by_hook(bench)

    assert bench.call("get_note", {"id": 1}, _meta=CLAUDE_META).to_server == []


def test_the_relays_own_ask_does_not_cover_the_call_when_it_is_repeated(bench: RelayBench) -> None:
    """A client that sends an unanswered call again, under the same id, is asked again and starts nothing."""
    bench.initialize({"elicitation": {}})
    for _ in range(2):
        repeated = bench.call("frobnicate", {}, _meta=CLAUDE_META)
        assert repeated.to_server == []
        assert repeated.to_client[0].method == "elicitation/create"
    no = {"action": "decline"}
    bench.client(id=repeated.to_client[0].id, result=no)

    assert "a person said no" in text_of(bench.call("frobnicate", {}, _meta=CLAUDE_META))


@pytest.fixture
def unnamed_bench(tmp_path: Path) -> RelayBench:
    """Return a relay that Gemini CLI has started, which tells a server neither its session nor the call."""
    bench = RelayBench(tmp_path, env={"GEMINI_CLI": "1"})
    bench.list_tools()
    return bench


def test_a_call_of_a_host_that_names_none_is_decided_once(unnamed_bench: RelayBench) -> None:
    """By place, tool and input; each decision of the hook lets one call through."""
    decide_by_hook(unnamed_bench, host="gemini", call_id="")
    for _ in range(2):
        request_id = unnamed_bench.call("get_note", {"id": 1}).to_server[0].id
        unnamed_bench.server(id=request_id, result={"content": []})

    decisions = unnamed_bench.entries(EntryKind.DECISION)
    assert [entry.body["receipt"]["action"]["host"] for entry in decisions] == ["mcp", "gemini"]
    [event] = unnamed_bench.entries(EntryKind.MCP)
    assert (event.body["event"], event.session) == ("covered", "s1")
    assert event.body["receipt"] == decisions[1].body["receipt_sha256"]


def test_an_approval_for_one_call_is_enough_for_hook_and_relay(unnamed_bench: RelayBench) -> None:
    """The hook uses it up, and the relay would ask again."""
    tool = "mcp__notes__frobnicate"
    decide_by_hook(unnamed_bench, host="gemini", call_id="", tool=tool)
    assert unnamed_bench.call("frobnicate", {"id": 1}).to_server == []
    expires = int(unnamed_bench.governor.clock.now()) + 60
    grant = Grant(id="g", guard="unknown_tool", target=tool, session="*", expires=expires, reason="a test", once=True)
    add_grant(unnamed_bench.governor.store, grant)

    decide_by_hook(unnamed_bench, host="gemini", call_id="", tool=tool)

    assert len(unnamed_bench.call("frobnicate", {"id": 1}).to_server) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": {"id": 2}},
        {"tool": "mcp__notes__delete_note"},
        {"cwd": "/elsewhere"},
        {"host": "claude"},
        {"tool": "mcp__notes__frobnicate"},
    ],
)
def test_another_call_of_a_host_that_names_none_does_not_count(
    unnamed_bench: RelayBench, changes: dict[str, Any]
) -> None:
    """Neither another one, nor one that the host's hook asked about: it cannot ask, so it refused."""
    decide_by_hook(unnamed_bench, **({"host": "gemini", "call_id": ""} | changes))
    tool = changes.get("tool", "get_note").removeprefix("mcp__notes__")
    unnamed_bench.call("get_note" if tool == "delete_note" else tool, {"id": 1})

    assert len(unnamed_bench.entries(EntryKind.DECISION)) == 2


def test_a_call_that_has_ended_covers_no_other(unnamed_bench: RelayBench) -> None:
    """Its outcome is in the log, so the next one that looks the same is another."""
    action = decide_by_hook(unnamed_bench, host="gemini", call_id="")
    with Governance.load(cwd=str(unnamed_bench.project), env=unnamed_bench.env) as governance:
        governance.after(action, Outcome(success=True))
    unnamed_bench.call("get_note", {"id": 1})

    assert len(unnamed_bench.entries(EntryKind.DECISION)) == 2
