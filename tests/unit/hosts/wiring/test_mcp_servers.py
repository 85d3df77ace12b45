"""The clients' MCP servers: found, put behind the relay, and put back byte for byte."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from verdikt.errors import McpError
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.mcp_servers import (
    describe_remote,
    find_direct_duplicates,
    find_relayed_server,
    find_unreadable_files,
    list_servers,
    plan_relaying,
    strip_relays,
)
from verdikt.hosts.wiring.plan import apply_plan, apply_unwiring, plan_unwiring
from verdikt.hosts.wiring.server_entry import build_headers, parse_entry

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
    assert find_relayed_server(server) == SERVER
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
    assert find_relayed_server(server) == tomllib.loads(CODEX)["mcp_servers"]["git"]
    assert "odd-name" in tomllib.loads(text)["mcp_servers"]["odd name"]["args"]
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == CODEX


@pytest.mark.parametrize("file", ["opencode.json", "opencode.jsonc", ".opencode/opencode.json"])
def test_opencode_has_its_command_in_one_list(installation: Installation, file: str) -> None:
    """And names its servers under another key, in any of its files."""
    original = json.dumps({"mcp": {"git": {"type": "local", "command": ["mcp-server-git", "."]}}})
    path = write(Path(installation.project, file), original)
    apply_plan(installation, plan_relaying(installation, ["opencode"]))

    server = json.loads(path.read_text())["mcp"]["git"]
    assert server["command"][0] == "verdikt"
    assert find_relayed_server(server) == json.loads(original)["mcp"]["git"]
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == original


def test_a_file_with_comments_is_named_as_one_that_stays_as_it_is(installation: Installation) -> None:
    """Its servers cannot go through the relay, and a person must hear of it."""
    servers = json.dumps({"mcp": {"git": {"type": "local", "command": ["mcp-server-git", "."]}}})
    path = write(Path(installation.project, "opencode.jsonc"), f"// mine\n{servers}")

    assert plan_relaying(installation, ["opencode"]) == []
    assert [fault for fault in find_unreadable_files(installation) if str(path) in fault and "comments" in fault]


def test_a_server_that_is_also_reached_directly_is_found(installation: Installation) -> None:
    """One client goes through the relay, and another past it."""
    write(Path(installation.project, ".mcp.json"), json.dumps({"mcpServers": {"git": SERVER}}))
    apply_plan(installation, plan_relaying(installation, ["claude"]))
    write(Path(installation.project, ".cursor/mcp.json"), json.dumps({"mcpServers": {"g": SERVER}}))

    [duplicate] = find_direct_duplicates(list_servers(installation))
    assert (duplicate.host, duplicate.name) == ("cursor", "g")


HEADERS = {"Authorization": "Bearer abc"}
ADDRESS = "https://mcp.example/mcp"
ADDRESS_ENTRIES = {
    ("claude", ".mcp.json", "mcpServers"): {"type": "http", "url": ADDRESS, "headers": HEADERS},
    ("claude", "~/.claude.json", "mcpServers"): {"type": "sse", "url": ADDRESS},
    ("gemini", ".gemini/settings.json", "mcpServers"): {"httpUrl": ADDRESS, "headers": HEADERS, "timeout": 9},
    ("cursor", ".cursor/mcp.json", "mcpServers"): {"url": ADDRESS},
    ("opencode", "opencode.json", "mcp"): {"type": "remote", "url": ADDRESS, "enabled": True, "headers": HEADERS},
}


@pytest.mark.parametrize(("place", "entry"), ADDRESS_ENTRIES.items())
def test_a_server_at_an_address_goes_through_the_relay_and_back(
    installation: Installation, place: tuple[str, str, str], entry: dict[str, Any]
) -> None:
    """The client starts the relay, which has the address as argument and the headers in the environment."""
    host, name, key = place
    path = Path(installation.project, name) if "~" not in name else Path(installation.home, name[2:])
    original = json.dumps({"other": 1, key: {"docs": entry}}, indent=3)
    write(path, original)
    apply_plan(installation, plan_relaying(installation, [host]))
    settings = json.loads(path.read_text())
    server = settings[key]["docs"]

    words = [*server["command"]] if host == "opencode" else [server["command"], *server["args"]]
    assert words[-2:] == ["--to", ADDRESS]
    assert not any("Bearer" in word for word in words)
    assert server.keys().isdisjoint({"url", "httpUrl", "headers"})
    assert server.get("timeout") == entry.get("timeout")
    environment = server.get("env") or server["environment"]
    assert build_headers(parse_entry(environment), {}).get("authorization") == entry.get("headers", {}).get(
        "Authorization"
    )
    assert plan_relaying(installation, [host]) == []
    # Also a file that was changed meanwhile gets its entry back.
    settings["other"] = 2
    assert json.loads(strip_relays(json.dumps(settings).encode(), str(path)) or b"")[key]["docs"] == entry
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == original


CODEX_ADDRESS = """\
[mcp_servers.docs]
url = "https://mcp.example/mcp"  # the docs
bearer_token_env_var = "DOCS_TOKEN"
required = true

[mcp_servers.docs.http_headers]
X-Team = "a"

[other]
url = "x"
"""


def test_codex_gets_a_server_at_an_address_back(installation: Installation) -> None:
    """The relay gets the variable with the token, which Codex would not hand on by itself."""
    path = write(Path(installation.home, ".codex/config.toml"), CODEX_ADDRESS)
    apply_plan(installation, plan_relaying(installation, ["codex"]))
    server = tomllib.loads(path.read_text())["mcp_servers"]["docs"]

    assert server["args"][-2:] == ["--to", ADDRESS]
    assert server["env_vars"] == ["DOCS_TOKEN"]
    assert server["required"] is True
    assert server.keys().isdisjoint({"url", "bearer_token_env_var", "http_headers"})
    headers = build_headers(parse_entry(server["env"]), {"DOCS_TOKEN": "t"})
    assert headers == {"x-team": "a", "authorization": "Bearer t"}
    stripped = strip_relays(path.read_bytes() + b"# changed\n", str(path)) or b""
    assert tomllib.loads(stripped.decode()) == tomllib.loads(CODEX_ADDRESS)
    apply_unwiring(installation, plan_unwiring(installation))
    assert path.read_text() == CODEX_ADDRESS


def test_a_login_through_the_client_is_named_where_no_header_is_set(installation: Installation) -> None:
    """Such a server would answer the relay with 401."""
    servers = {"open": {"type": "http", "url": ADDRESS}, "token": {"type": "http", "url": ADDRESS, "headers": HEADERS}}
    write(Path(installation.project, ".mcp.json"), json.dumps({"mcpServers": servers}))

    [line] = describe_remote(list_servers(installation))
    assert "`open`" in line
    assert "--mcp-except open" in line
    [change] = plan_relaying(installation, ["claude"], ["open"])
    assert change.description == "through the relay: token"


def test_a_server_at_an_address_that_is_also_reached_directly_is_found(installation: Installation) -> None:
    """By its address."""
    entry = {"type": "http", "url": ADDRESS}
    write(Path(installation.project, ".mcp.json"), json.dumps({"mcpServers": {"docs": entry}}))
    apply_plan(installation, plan_relaying(installation, ["claude"]))
    write(Path(installation.project, ".gemini/settings.json"), json.dumps({"mcpServers": {"d": {"httpUrl": ADDRESS}}}))

    assert [entry.name for entry in find_direct_duplicates(list_servers(installation))] == ["d"]


@pytest.mark.parametrize("text", ["not json", "[]", "null"])
def test_an_entry_that_is_none_is_refused(text: str) -> None:
    """The relay does not go on without the headers that a person wrote."""
    with pytest.raises(McpError, match="VERDIKT_MCP_SERVER"):
        parse_entry({"VERDIKT_MCP_SERVER": text})


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "\x00", "é"])
def test_a_header_that_could_hold_another_is_refused(value: str) -> None:
    """It would be sent as two."""
    with pytest.raises(McpError, match="printable"):
        build_headers({"headers": {"a": value}}, {})


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
    assert find_relayed_server({"command": command[0], "args": list(command[1:])}) is None
