"""A relay between a client and a server that are both played by the test, with real governance behind it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.acceptance import accept
from tests.cleanup import close_after_test
from verdikt.graph.policy import Policy
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.mcp.call_governor import CallGovernor
from verdikt.mcp.message import Message, decode_message
from verdikt.mcp.pin_store import ServerPins
from verdikt.mcp.protocol_era import CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from verdikt.mcp.reaction import Reaction
from verdikt.mcp.relay import Relay
from verdikt.mcp.sealed_state import StateSealer
from verdikt.model.entry import Entry, EntryKind

MODERN = {PROTOCOL_VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {"elicitation": {"form": {}}}}
"""The `_meta` of a client of the new era that can ask a person."""

TOOLS = (
    {"name": "get_note", "description": "Returns a note.", "inputSchema": {"type": "object"}},
    {"name": "delete_note", "description": "Deletes a note.", "inputSchema": {"type": "object"}},
    {"name": "frobnicate", "description": "Does something.", "inputSchema": {"type": "object"}},
)


def build(body: Mapping[str, Any]) -> Message:
    """Return a message as it arrives."""
    return decode_message(json.dumps({"jsonrpc": "2.0", **body}).encode())


class RelayBench:
    """One conversation. Requests have ids that count up; what reaches the server is collected."""

    def __init__(
        self,
        root: Path,
        *,
        policy: str = "",
        trust_first: bool = True,
        env: Mapping[str, str] = {},
        has_person: bool = True,
    ) -> None:
        self.project = root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        (root / "home").mkdir(exist_ok=True)
        self.env = {"HOME": str(root / "home"), "VERDIKT_HOME": str(root / "data"), **env}
        if policy:
            (self.project / "governance.yaml").write_text(policy)
            accept(self.project, self.env)
        self.governor = CallGovernor("notes", cwd=str(self.project), env=self.env, has_person=has_person)
        close_after_test(self.governor)
        self.trust_first = trust_first
        self.pins = ServerPins(self.governor.data_directory, "notes", ("notes-server",))
        self.relay = self.reconnect()
        self._last_id = 0

    def reconnect(self) -> Relay:
        """Begin another conversation with the same server."""
        self.pins = ServerPins(self.governor.data_directory, "notes", ("notes-server",))
        self.sealer = StateSealer(self.governor.clock)
        self.relay = Relay(self.governor, self.pins, trust_first=self.trust_first, sealer=self.sealer)
        return self.relay

    def client(self, **body: Any) -> Reaction:
        """Send a client's message, and do what was deferred."""
        return self._finish(self.relay.receive_from_client(build(body)))

    def server(self, **body: Any) -> Reaction:
        """Send a server's message, and do what was deferred."""
        return self._finish(self.relay.receive_from_server(build(body)))

    def _finish(self, reaction: Reaction) -> Reaction:
        if reaction.deferred is not None:
            reaction.deferred()
        return reaction

    def initialize(self, capabilities: Mapping[str, Any]) -> None:
        """Do the handshake of the old era."""
        request = self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities})
        info = {"serverInfo": {"name": "notes", "version": "1"}, "capabilities": {}}
        self.server(id=request.to_server[0].id, result=info)

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Reaction:
        """Send a request with a fresh id."""
        self._last_id += 1
        return self.client(id=self._last_id, method=method, params=dict(params or {}))

    def list_tools(self, *tools: Mapping[str, Any], cursor: str = "", after: str = "") -> list[str]:
        """Have the server list these tools, on the page `after` a cursor; return the names that reach the client."""
        request = self.request("tools/list", {"cursor": after} if after else {})
        result: dict[str, Any] = {"tools": [dict(tool) for tool in tools or TOOLS]}
        answer = self.server(id=request.to_server[0].id, result=result | ({"nextCursor": cursor} if cursor else {}))
        return [tool["name"] for tool in answer.to_client[0].result["tools"]]

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **params: Any) -> Reaction:
        """Call a tool."""
        return self.request("tools/call", {"name": tool, "arguments": dict(arguments or {}), **params})

    def load_policy(self) -> Policy:
        """Return the policy in force."""
        return load_cached_policy(str(self.project), self.env)

    def entries(self, kind: EntryKind) -> list[Entry]:
        """Return the entries of a kind, of every session."""
        store = self.governor.store
        return [entry for name in store.list_sessions() for entry in store.read_entries(name) if entry.kind is kind]


def text_of(reaction: Reaction) -> str:
    """Return the text of the refusal in a reaction that reaches no server."""
    assert reaction.to_server == []
    body = reaction.to_client[0].body
    if "error" in body:
        return str(body["error"]["message"])
    assert body["result"]["isError"] is True
    return str(body["result"]["content"][0]["text"])
