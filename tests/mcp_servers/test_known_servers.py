"""The real tool lists of well-known servers: what each tool does is known from its record, its name or its schema."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.mcp_servers.test_real_servers import drive
from verdikt.effects.classifier import classify
from verdikt.mcp.tool_pin import ToolPin, build_hints
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import EffectClass
from verdikt.model.facts import Facts

KUBECONFIG = """\
{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {token: x}}]}
"""
SERVERS = {
    "everything": ["node_modules/.bin/mcp-server-everything"],
    "fetch": ["env/bin/mcp-server-fetch"],
    "filesystem": ["node_modules/.bin/mcp-server-filesystem", "."],
    "git": ["env/bin/mcp-server-git"],
    "github": ["node_modules/.bin/mcp-server-github"],
    "kubernetes": ["node_modules/.bin/mcp-server-kubernetes"],
    "memory": ["node_modules/.bin/mcp-server-memory"],
    "playwright": ["node_modules/.bin/playwright-mcp"],
    "postgres": ["node_modules/.bin/mcp-server-postgres", "postgresql://u@127.0.0.1:1/x"],
    "slack": ["node_modules/.bin/mcp-server-slack"],
    "time": ["env/bin/mcp-server-time"],
}
"""Server → its command; each lists its tools without the service that it is for."""


def build_value(schema: dict[str, Any]) -> Any:
    """Return some value that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [build_value(schema.get("items", {}))]
    if schema.get("type") == "object":
        return build_arguments(schema)
    return {"boolean": True, "integer": 1, "number": 1}.get(str(schema.get("type")), "x")


def build_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that a tool needs."""
    return {name: build_value(schema["properties"][name]) for name in schema.get("required", ())}


def list_effects(server: str, tool: dict[str, Any]) -> dict[str, EffectClass]:
    """Return the effects of a call of a tool, by name."""
    pin = ToolPin(name=tool["name"], seen=tool, seen_digest="")
    action = Action(
        kind=ActionKind.MCP,
        tool=f"mcp__{server}__{tool['name']}",
        payload=build_arguments(tool["inputSchema"]),
        hints=build_hints(pin),
    )
    return {effect.what: effect.cls for effect in classify(action, Facts(FakeWorld()))}


@pytest.mark.parametrize("server", SERVERS)
def test_every_tool_of_a_known_server_is_understood(servers: Path, project: Path, server: str) -> None:
    """No tool is unknown, and none that only reads counts as one that destroys something."""
    (project / "kubeconfig").write_text(KUBECONFIG)
    program, *arguments = SERVERS[server]
    variables = [f"KUBECONFIG={project}/kubeconfig", "SLACK_BOT_TOKEN=xoxb-none", "SLACK_TEAM_ID=T1"]
    command = ["env", *variables, str(servers / program), *arguments]
    tools = drive(servers, project, "legacy", ["--", *command], [])["tools"]["tools"]
    effects = {tool["name"]: list_effects(server, tool) for tool in tools}
    reading = [tool["name"] for tool in tools if tool.get("annotations", {}).get("readOnlyHint")]

    assert tools
    assert [name for name in effects if "unknown.tool" in effects[name]] == []
    assert [name for name in reading if EffectClass.DESTRUCTIVE in effects[name].values()] == []
