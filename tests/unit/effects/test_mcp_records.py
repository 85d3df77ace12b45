"""Tools of well-known MCP servers are judged like their shell counterparts."""

from typing import Any

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.classifier import classify
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.knowledge import list_server_tools
from verdikt.model.action import Action, ActionKind
from verdikt.model.facts import Facts

READERS = {"url", "sql", "shell", "code", "run:"}


def list_effects(tool: str, **arguments: Any) -> set[str]:
    """Return the names of the effects of a call."""
    action = Action(kind=ActionKind.MCP, tool=tool, payload=arguments)
    return {effect.what for effect in classify(action, Facts(FakeWorld()))}


def run_effects(command: str) -> set[str]:
    """Return the names of the effects of a command."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command})
    return {effect.what for effect in classify(action, Facts(FakeWorld()))}


def test_every_record_names_effects_of_the_catalogue() -> None:
    """A typing error would be an effect that no rule matches."""
    words = {part.split()[0] for _, _, line in list_server_tools() for part in line.split(";")}

    assert words - READERS <= set(EFFECT_CATALOG)
    assert len({word for word, _, _ in list_server_tools()}) >= 10


@pytest.mark.parametrize(
    ("tool", "arguments", "command"),
    [
        ("mcp__filesystem__move_file", {"source": "a", "destination": ".git/config"}, "mv a .git/config"),
        ("mcp__filesystem__delete_directory", {"path": "/home"}, "rm -r /home"),
        ("mcp__git__git_checkout", {"repo_path": ".", "branch_name": "x"}, "git -C . checkout x"),
        ("mcp__git__git_add", {"repo_path": ".", "files": ["a", "b c"]}, "git -C . add a 'b c'"),
        ("mcp__k8s__kubectl_delete", {"resourceType": "ns", "name": "prod"}, "kubectl delete ns prod"),
        ("mcp__k8s__kubectl_delete", {"manifest": "kind: Pod"}, "kubectl delete -f 'kind: Pod'"),
        (
            "mcp__k8s__kubectl_generic",
            {"command": "delete", "args": ["pods"], "flags": {"all": True}},
            "kubectl delete pods --all",
        ),
        ("mcp__k8s__node_management", {"operation": "drain", "nodeName": "n"}, "kubectl drain n"),
        ("mcp__k8s__upgrade_helm_chart", {"name": "a", "chart": "b"}, "helm upgrade a b"),
        ("mcp__my-kubernetes__pods_delete", {"name": "x", "namespace": "y"}, "kubectl delete pod x -n y"),
    ],
)
def test_a_call_has_the_effects_of_its_command(tool: str, arguments: dict[str, Any], command: str) -> None:
    """Arguments are quoted, and an option without a value is left out."""
    assert run_effects(command) <= list_effects(tool, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments", "effect"),
    [
        ("mcp__postgres__query", {"sql": "drop table users"}, "db.drop"),
        ("mcp__sqlite__write_query", {"query": "delete from users"}, "db.delete.all"),
        ("mcp__slack__slack_post_message", {"channel_id": "c", "text": "hi"}, "message.send"),
        ("mcp__github__merge_pull_request", {"owner": "o"}, "repo.merge"),
        ("mcp__playwright__browser_navigate", {"url": "http://169.254.169.254/latest"}, "cred.read"),
        ("mcp__playwright__browser_drop", {"paths": ["~/.ssh/id_rsa"]}, "cred.read"),
        ("mcp__playwright__browser_file_upload", {}, "mcp.send"),
        ("mcp__fetch__fetch", {"url": "https://example.org/"}, "net.fetch"),
        ("mcp__fetch__fetch", {"url": "file:///etc/passwd"}, "fs.read"),
        ("mcp__memory__delete_entities", {"entityNames": ["a"]}, "mcp.delete"),
        ("mcp__filesystem__read_text_file", {"path": "~/.ssh/id_rsa"}, "cred.read"),
        ("mcp__kubernetes__pods_exec", {"command": "rm -rf /"}, "fs.delete.tree"),
    ],
)
def test_a_record_names_what_a_tool_does(tool: str, arguments: dict[str, Any], effect: str) -> None:
    """By the effect that a rule would match."""
    assert effect in list_effects(tool, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mcp__filesystem__list_allowed_directories", {}),
        ("mcp__filesystem__read_text_file", {"path": "src/a.py"}),
        ("mcp__git__git_status", {"repo_path": "."}),
        ("mcp__postgres__query", {"sql": "select * from users where id = 1"}),
        ("mcp__memory__read_graph", {}),
        ("mcp__slack__slack_list_channels", {}),
        ("mcp__kubernetes__kubectl_logs", {"resourceType": "pod", "name": "x", "namespace": "y"}),
    ],
)
def test_ordinary_reads_stay_reads(tool: str, arguments: dict[str, Any]) -> None:
    """No friction where nothing changes, whatever the name of the service suggests."""
    action = Action(kind=ActionKind.MCP, tool=tool, payload=arguments)

    assert {effect.cls.value for effect in classify(action, Facts(FakeWorld()))} == {"read"}


def test_a_record_counts_more_than_the_word_of_the_server() -> None:
    """A browser's server says of every key that is pressed that it destroys something."""
    hints = {"proposed": ["destructive", "network"]}
    action = Action(kind=ActionKind.MCP, tool="mcp__playwright__browser_press_key", payload={"key": "a"}, hints=hints)

    assert [effect.what for effect in classify(action, Facts(FakeWorld()))] == ["mcp.write"]


def test_a_call_without_the_usual_arguments_is_read_by_its_name() -> None:
    """A record does not hide what it does not know."""
    assert "mcp.delete" in list_effects("mcp__filesystem__delete_file", target="x")
    assert "unknown.tool" in list_effects("mcp__filesystem__frobnicate", path="x")
    assert "mcp.delete" in list_effects("mcp__kubernetes__kubectl_delete", selector="app=x")


def test_an_argument_cannot_add_a_command() -> None:
    """Quotes and separators in arguments stay text."""
    effects = list_effects("mcp__git__git_commit", repo_path=".", message="x'; rm -rf / #")

    assert "fs.delete.tree" not in effects
