"""The clients' MCP servers: found, put behind the relay, and put back byte for byte."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.mcp_servers import (
    describe_remote,
    find_direct_duplicates,
    find_relayed_command,
    list_servers,
    plan_relaying,
    strip_relays,
)
from verdikt.hosts.wiring.plan import apply_plan, apply_unwiring, plan_unwiring

SERVER = {"command": "mcp-server-git", "args": ["--repository", "."], "env": {"A": "b"}}
JSON_FILES = {
    "claude": (".mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
}
CODEX = """\
# my servers
[mcp_servers.git]
command = "mcp-server-git"  # the git one
args = [
  "--repository",
  ".",
]
required = true

[mcp_servers."odd name"]
command = "x"
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Return an installation with a home and a project of its own."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    env = {"HOME": str(tmp_path / "home"), "VERDIKT_HOME": str(tmp_path / "data")}
    return Installation(project=str(tmp_path / "project"), data_directory=str(tmp_path / "data"), env=env)


def write(path: Path, text: str) -> Path:
    """Write a file, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("place", ["project", "home"])
@pytest.mark.parametrize("host", JSON_FILES)
@pytest.mark.parametrize("indent", [2, 4, "\t", None])
def test_a_server_goes_through_the_relay_and_back(
    installation: Installation, host: str, place: str, indent: int | str | None
) -> None:
    """The file is restored byte for byte, however it is indented."""
    name, key = JSON_FILES[host]
    name = ".claude.json" if (host, place) == ("claude", "home") else name
    path = Path(installation.project if place == "project" else installation.home, name)
    original = json.dumps({"other": 1, key: {"git": SERVER}}, indent=indent)
    write(path, original)
    apply_plan(installation, plan_relaying(installation, [host]))

    server = json.loads(path.read_text())[key]["git"]
    command = (server["command"], *server["args"])
    assert find_relayed_command(command) == ("mcp-server-git", "--repository", ".")
    assert server["command"] == ("verdikt" if place == "project" else sys.executable)
    assert server["env"] == {"A": "b"}
    assert plan_relaying(installation, [host]) == []
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == original


def test_a_file_that_changed_meanwhile_loses_only_the_relay(installation: Installation) -> None:
    """What a person or a client added stays."""
    path = write(Path(installation.home, ".claude.json"), json.dumps({"mcpServers": {"git": SERVER}}))
    apply_plan(installation, plan_relaying(installation, ["claude"]))
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "numStartups": 3}))
    apply_unwiring(installation, plan_unwiring(installation))

    assert json.loads(path.read_text()) == {"mcpServers": {"git": SERVER}, "numStartups": 3}


def test_servers_of_a_project_in_claudes_own_file_are_found(installation: Installation) -> None:
    """Those of other projects are left alone."""
    projects = {installation.project: {"mcpServers": {"git": SERVER}}, "/other": {"mcpServers": {"git": SERVER}}}
    path = write(Path(installation.home, ".claude.json"), json.dumps({"projects": projects}))
    apply_plan(installation, plan_relaying(installation, ["claude"]))

    changed = json.loads(path.read_text())["projects"]
    assert changed["/other"]["mcpServers"]["git"] == SERVER
    assert "--name" in changed[installation.project]["mcpServers"]["git"]["args"]
    assert json.loads(strip_relays(path.read_bytes(), str(path)) or b"")["projects"] == projects


def test_codex_keeps_comments_and_everything_else(installation: Installation) -> None:
    """Only command and arguments change; a list over several lines becomes one line."""
    path = write(Path(installation.home, ".codex/config.toml"), CODEX)
    apply_plan(installation, plan_relaying(installation, ["codex"]))
    text = path.read_text()

    assert "# my servers" in text
    server = tomllib.loads(text)["mcp_servers"]["git"]
    assert server["required"] is True
    assert find_relayed_command((server["command"], *server["args"])) == ("mcp-server-git", "--repository", ".")
    assert "odd-name" in tomllib.loads(text)["mcp_servers"]["odd name"]["args"]
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == CODEX


def test_opencode_has_its_command_in_one_list(installation: Installation) -> None:
    """And names its servers under another key."""
    original = json.dumps({"mcp": {"git": {"type": "local", "command": ["mcp-server-git", "."]}}})
    path = write(Path(installation.project, "opencode.json"), original)
    apply_plan(installation, plan_relaying(installation, ["opencode"]))

    command = tuple(json.loads(path.read_text())["mcp"]["git"]["command"])
    assert command[0] == "verdikt"
    assert find_relayed_command(command) == ("mcp-server-git", ".")
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == original


def test_a_server_that_is_also_reached_directly_is_found(installation: Installation) -> None:
    """One client goes through the relay, and another past it."""
    write(Path(installation.project, ".mcp.json"), json.dumps({"mcpServers": {"git": SERVER}}))
    apply_plan(installation, plan_relaying(installation, ["claude"]))
    write(Path(installation.project, ".cursor/mcp.json"), json.dumps({"mcpServers": {"g": SERVER}}))

    [duplicate] = find_direct_duplicates(list_servers(installation))
    assert (duplicate.host, duplicate.name) == ("cursor", "g")


def test_a_server_at_an_address_is_named_and_left_alone(installation: Installation) -> None:
    """Its relay must be started by the person."""
    servers = {"mcpServers": {"remote": {"type": "http", "url": "https://mcp.example/mcp"}}}
    write(Path(installation.project, ".mcp.json"), json.dumps(servers))

    assert plan_relaying(installation, ["claude"]) == []
    assert "--to https://mcp.example/mcp" in describe_remote(list_servers(installation))[0]


@pytest.mark.parametrize(
    "command",
    [
        ("mcp", "--name", "x", "--", "y"),
        ("verdikt", "mcp", "--name", "x"),
        ("verdikt", "mcp", "pins"),
        ("other", "mcp", "--name", "x", "--", "y"),
    ],
)
def test_only_the_relay_itself_counts_as_relay(command: tuple[str, ...]) -> None:
    """A command that merely resembles it does not."""
    assert find_relayed_command(command) is None
