"""Any conversation through the relay: nothing is called without a decision, and nothing makes the relay fail."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fuzz_mcp import SEEDS, check_decoder, mutate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.mcp.relay_bench import MODERN, RelayBench
from verdikt.mcp.message import MessageError, MessageKind, decode_message, encode_message
from verdikt.mcp.reaction import Reaction
from verdikt.model.entry import EntryKind

IDS = st.sampled_from([1, 2, "a", "verdikt-0", "", -1, 2**70])
METHODS = st.sampled_from(
    "tools/call tools/list initialize resources/read prompts/get sampling/createMessage elicitation/create roots/list "
    "notifications/cancelled notifications/tools/list_changed ping unknown/method".split()
)
SCALARS = st.sampled_from(
    [None, True, 0, -1, 1e300, 2**80, "", "get_note", "frobnicate", "delete_note", "verdikt1.x.y", "[verdikt]", "\0"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("name arguments uri _meta tools content allow result inputSchema nextCursor".split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
PARAMS = st.dictionaries(
    st.sampled_from("name arguments uri requestState inputResponses requestId capabilities messages message".split()),
    VALUES,
    max_size=4,
)
CALLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["get_note", "frobnicate", "delete_note", "other"]),
        "arguments": st.dictionaries(st.sampled_from(["path", "sql", "command", "id"]), VALUES, max_size=2),
    },
    optional={"_meta": st.just(MODERN), "requestState": SCALARS, "inputResponses": VALUES},
)
REQUESTS = st.builds(lambda i, m, p: {"id": i, "method": m, "params": p}, IDS, METHODS, PARAMS)
TOOL_CALLS = st.builds(lambda i, p: {"id": i, "method": "tools/call", "params": p}, IDS, CALLS)
NOTIFICATIONS = st.builds(lambda m, p: {"method": m, "params": p}, METHODS, PARAMS)
RESPONSES = st.builds(lambda i, r: {"id": i, "result": r}, IDS, VALUES)
BODIES = REQUESTS | TOOL_CALLS | NOTIFICATIONS | RESPONSES


@pytest.fixture
def bench(tmp_path: Path) -> RelayBench:
    """Return a relay whose server has listed its tools; every example is another conversation with it."""
    bench = RelayBench(tmp_path)
    bench.list_tools()
    return bench


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.tuples(st.booleans(), BODIES), min_size=1, max_size=6))
def test_nothing_is_called_without_a_decision(bench: RelayBench, messages: list[tuple[bool, dict[str, Any]]]) -> None:
    """Whatever both sides send: each call that reaches the server has a decision of its own in the log."""
    relay = bench.reconnect()
    decided = len(bench.entries(EntryKind.DECISION)) + len(bench.entries(EntryKind.MCP))
    called = 0
    for is_from_client, body in messages:
        try:
            message = decode_message(json.dumps({"jsonrpc": "2.0", **body}).encode())
        except MessageError:
            continue
        reaction = relay.receive_from_client(message) if is_from_client else relay.receive_from_server(message)
        called += count_calls(reaction)

    assert called <= len(bench.entries(EntryKind.DECISION)) + len(bench.entries(EntryKind.MCP)) - decided


def count_calls(reaction: Reaction) -> int:
    """Return how many calls a reaction sends to the server; whatever it sends must be a message."""
    for message in (*reaction.to_client, *reaction.to_server):
        assert decode_message(encode_message(message)).kind is message.kind
    return sum(m.kind is MessageKind.REQUEST and m.method == "tools/call" for m in reaction.to_server)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_mutated_message_means_the_same_to_every_decoder(seed: int) -> None:
    """A short run of the fuzzer of `benchmarks/`; the seeds themselves are messages."""
    assert all(check_decoder(message) for message in SEEDS)
    check_decoder(mutate(random.Random(seed)))
