"""`verdikt mcp`: names, pins for people, and one command that governs a client's servers and takes it all back."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.cli.conftest import Verdikt
from tests.unit.cli.test_pause import build_clean_env, run_at_terminal
from verdikt.cli import root
from verdikt.cli.mcp import guess_host_name, guess_server_name
from verdikt.mcp.pin_store import ServerPins

SERVER = [sys.executable, str(Path(__file__).parent.parent / "mcp" / "scripted_server.py")]
NOTE = {"name": "get_note", "description": "Returns a note.", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("mcp-server-git", "--repository", "."), "git"),
        (("npx", "-y", "@modelcontextprotocol/server-filesystem", "/tmp"), "filesystem"),
        (("uvx", "mcp-server-fetch@2026.1"), "fetch"),
        (("node", "dist/server.js"), "server"),
        (("/opt/tools/notes-mcp",), "notes"),
    ],
)
def test_a_server_is_named_after_its_package(command: tuple[str, ...], name: str) -> None:
    """Without what all of them have in common."""
    assert guess_server_name(command) == name


def test_a_server_at_an_address_is_named_after_its_host() -> None:
    """By the first part of the host's name."""
    assert guess_host_name("https://notes.example.org/mcp") == "notes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mcp", "--name", "a__b", "--", "x"], "letters, digits"),
        (["mcp", "--name", "x"], "after `--`"),
        (["mcp", "--listen", "127.0.0.1:0"], "either"),
        (["mcp", "--listen", "127.0.0.1:0", "--to", "http://x/", "--", "y"], "either"),
        (["mcp", "--listen", "127.0.0.1:0", "--", "y"], "--to URL with --listen"),
        (["mcp", "--attended", "--to", "http://127.0.0.1/"], "--listen with --attended"),
        (["mcp", "--to", "ftp://x/"], "the address of a server"),
        (["mcp", "--listen", "0.0.0.0:0", "--to", "http://127.0.0.1/"], "--everywhere"),
        (["mcp", "--listen", "x", "--to", "http://127.0.0.1/"], "HOST:PORT"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    """With what was expected."""
    result = CliRunner().invoke(root, arguments)

    assert result.exit_code != 0
    assert message in result.output


def make_pins(home: Path) -> ServerPins:
    """Return the pins of a server that changed a tool since it was accepted."""
    pins = ServerPins(home / ".local/share/verdikt", "notes", ("notes-server",))
    pins.record_tools([NOTE], trust=True)
    pins.record_tools([{**NOTE, "description": "Deletes\u202e everything."}], trust=True)
    return pins


def test_pins_show_what_changed(tmp_path: Path) -> None:
    """With the diff, its hidden characters made visible, and what is conspicuous."""
    make_pins(tmp_path)
    result = CliRunner(env={"HOME": str(tmp_path)}).invoke(root, ["mcp", "pins", "show", "notes"])

    assert "changed" in result.output
    assert '"description": "Returns a note."' in result.output
    assert "Deletes\\u202e everything." in result.output
    assert "direction of the text" in result.output
    rows = json.loads(CliRunner(env={"HOME": str(tmp_path)}).invoke(root, ["mcp", "pins", "--json"]).output)
    assert rows["servers"][0]["states"] == {"get_note": "changed"}


def test_only_a_person_at_a_terminal_accepts_a_change(tmp_path: Path) -> None:
    """A pipe is refused; the terminal's user is recorded, with the effects that were confirmed."""
    make_pins(tmp_path)
    env = build_clean_env(tmp_path)
    arguments = ["mcp", "pins", "accept", "notes", "get_note", "--effect", "read", "--yes"]
    refused = CliRunner(env=env).invoke(root, arguments)
    assert refused.exit_code == 1
    assert make_pins(tmp_path).get_state("get_note") == "changed"

    code, output = run_at_terminal(*arguments, env=env)
    assert code == 0, output
    pin = ServerPins(tmp_path / ".local/share/verdikt", "notes", ("notes-server",)).book.pins["get_note"]
    assert (pin.state, pin.accepted_by, pin.effects) == ("accepted", "ada", ("read",))


def test_a_forgotten_server_is_new_again(tmp_path: Path) -> None:
    """Its next list counts as the first."""
    pins = make_pins(tmp_path)
    code, output = run_at_terminal("mcp", "pins", "forget", "notes", env=build_clean_env(tmp_path))

    assert (code, "forgot notes" in output) == (0, True)
    assert not pins.path.exists()


def write_server(host: str, home: Path, command: list[str]) -> Path:
    """Configure a server in the user's file of a client, as its documentation says, and return the file."""
    names = {"claude": ".claude.json", "codex": ".codex/config.toml", "opencode": ".config/opencode/opencode.json"}
    names |= {"gemini": ".gemini/settings.json", "cursor": ".cursor/mcp.json"}
    path = home / names[host]
    path.parent.mkdir(parents=True, exist_ok=True)
    if host == "codex":
        path.write_text(f"[mcp_servers.notes]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n")
    elif host == "opencode":
        path.write_text(json.dumps({"mcp": {"notes": {"type": "local", "command": command}}}))
    else:
        path.write_text(json.dumps({"mcpServers": {"notes": {"command": command[0], "args": command[1:]}}}))
    return path


@pytest.mark.parametrize(
    ("host", "can_ask"),
    [("claude", "yes"), ("codex", "no"), ("gemini", "no"), ("cursor", "unknown"), ("opencode", "no")],
)
def test_one_command_governs_the_servers_of_a_client_and_one_takes_it_back(
    project: Path, verdikt: Verdikt, host: str, can_ask: str
) -> None:
    """The doctor proves the relay and says who can be asked; what was written is gone afterwards, byte for byte."""
    path = write_server(host, project.parent / "home", [*SERVER, str(project / "seen")])
    original = path.read_bytes()
    shown = verdikt("init", "--host", host, "--mcp", "--dry-run")
    assert "through the relay: notes" in shown.stdout
    assert path.read_bytes() == original

    options = ["--trust-codex"] if host == "codex" else []
    wired = verdikt("init", "--host", host, "--mcp", "--yes", *options)
    assert wired.returncode == 0, wired.stderr
    report = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)
    [server] = report["mcp"]
    assert (server["relayed"], server["state"], server["can_ask"]) == (True, "canary refused", can_ask)
    assert not (project / "seen").exists()

    assert verdikt("uninstall", "--yes").returncode == 0
    assert path.read_bytes() == original


def test_servers_that_are_governed_for_every_project_stay_so_when_one_is_left(project: Path, verdikt: Verdikt) -> None:
    """All files of such an installation go the same way, and `uninstall` says what is left and how it goes."""
    path = write_server("cursor", project.parent / "home", [*SERVER, str(project / "seen")])
    original = path.read_bytes()
    assert verdikt("init", "--host", "cursor", "--mcp", "--scope", "user", "--yes").returncode == 0
    (project / ".cursor").mkdir()
    (project / ".cursor/mcp.json").write_bytes(original)
    assert verdikt("init", "--host", "cursor", "--mcp", "--scope", "local", "--yes").returncode == 0

    assert "`verdikt uninstall --all`" in verdikt("uninstall", "--yes").stdout
    assert (project / ".cursor/mcp.json").read_bytes() == original
    assert path.read_bytes() != original
    assert verdikt("uninstall", "--all", "--yes").returncode == 0
    assert path.read_bytes() == original


def test_the_doctor_names_tools_that_wait_for_a_person(project: Path, verdikt: Verdikt) -> None:
    """They are hidden from the model, so the client shows nothing of it."""
    (project / ".claude").mkdir()
    home = project.parent / "home"
    command = (SERVER[0], SERVER[1], str(project / "seen"))
    servers = json.dumps({"mcpServers": {"notes": {"command": command[0], "args": list(command[1:])}}})
    (home / ".claude.json").write_text(servers)
    verdikt("init", "--host", "claude", "--mcp", "--yes")
    [report] = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)["mcp"]
    assert report["state"] == "canary refused"
    pins = ServerPins(home / ".local/share/verdikt", "notes", command)
    pins.record_tools([NOTE], trust=True)
    pins.record_tools([{**NOTE, "description": "Another."}], trust=True)

    [report] = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)["mcp"]
    assert "hidden until a person accepts the change: get_note" in report["state"]
    assert "1 definition of `notes` hidden: changed since accepted; see `verdikt mcp pins show notes`" in (
        verdikt("status").stdout
    )


def test_the_name_of_a_tool_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """A person judges a server by what the screen shows."""
    pins = ServerPins(tmp_path / ".local/share/verdikt", "notes", ("notes-server",))
    pins.note_server("notes \x1b[2J1")
    pins.record_tools([{**NOTE, "name": "get\x1b[1A\x1b[2K\nnote"}], trust=False)
    result = CliRunner(env={"HOME": str(tmp_path)}).invoke(root, ["mcp", "pins"])

    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "get\ufffd[1A\ufffd[2K note" in result.output


def test_codex_with_hooks_is_not_said_to_ask(project: Path, verdikt: Verdikt) -> None:
    """Its hook decides first and cannot ask, so the relay never gets to."""
    config = write_server("codex", project.parent / "home", [*SERVER, str(project / "seen")])
    original = config.read_text()
    verdikt("init", "--host", "codex", "--mcp", "--trust-codex", "--yes")
    [report] = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)["mcp"]
    assert (report["state"], report["can_ask"]) == ("canary refused", "no")

    # Codex itself writes into this file in every session.
    config.write_text(f"{config.read_text()}\n[tui]\nseen = true\n")
    assert verdikt("uninstall", "--yes").returncode == 0
    tables = tomllib.loads(config.read_text())
    assert tables == tomllib.loads(original) | {"tui": {"seen": True}, "projects": tables["projects"]}


def test_wiring_for_one_person_says_that_git_sees_the_servers(project: Path, verdikt: Verdikt) -> None:
    """They stand in a file that a team shares."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": {"command": "x"}}}))
    output = verdikt("init", "--host", "claude", "--scope", "local", "--mcp", "--yes").stdout

    assert "git does not ignore .mcp.json: commit it only if everyone here has verdikt" in output
    assert "nothing to commit" not in output


def test_wiring_for_a_team_does_not_say_that_its_servers_name_no_path(project: Path, verdikt: Verdikt) -> None:
    """The command of a server is the person's own, and may be a path of this machine."""
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": {"command": "/opt/notes"}}}))
    output = verdikt("init", "--host", "claude", "--mcp", "--yes").stdout

    assert "governance.yaml: what verdikt added names no path of this machine" in output
    assert "/opt/notes" in (project / ".mcp.json").read_text()


def test_the_pins_of_a_server_that_was_never_seen(tmp_path: Path) -> None:
    """The text names those that were."""
    make_pins(tmp_path)
    result = CliRunner(env={"HOME": str(tmp_path)}).invoke(root, ["mcp", "pins", "show", "nots"])

    assert result.exit_code == 1
    assert "no server `nots` was seen yet; known: notes" in result.output


def test_the_doctor_says_why_a_relay_does_not_start(project: Path, verdikt: Verdikt) -> None:
    """A committed file names `verdikt`, which must be in PATH."""
    (project / ".claude").mkdir()
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": {"command": "x"}}}))
    verdikt("init", "--host", "claude", "--mcp", "--yes")

    [report] = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)["mcp"]
    assert report["healthy"] is False
    assert "`verdikt` is not in PATH" in report["state"]


def test_the_doctor_says_why_a_server_does_not_start(project: Path, verdikt: Verdikt) -> None:
    """The relay is well; what it should start is missing."""
    (project / ".claude").mkdir()
    servers = json.dumps({"mcpServers": {"notes": {"command": "/missing/server"}}})
    (project.parent / "home/.claude.json").write_text(servers)
    verdikt("init", "--host", "claude", "--mcp", "--yes")

    [report] = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)["mcp"]
    assert report["healthy"] is False
    assert "cannot start the server `/missing/server`" in report["state"]


def test_the_doctor_flags_a_server_that_is_also_reached_directly(project: Path, verdikt: Verdikt) -> None:
    """One client goes past the relay."""
    (project / ".claude").mkdir()
    servers = json.dumps({"mcpServers": {"notes": {"command": SERVER[0], "args": [SERVER[1], str(project / "seen")]}}})
    (project.parent / "home/.claude.json").write_text(servers)
    verdikt("init", "--host", "claude", "--mcp", "--yes")
    (project / ".cursor").mkdir()
    (project / ".cursor/mcp.json").write_text(servers)
    completed = verdikt("doctor", "--calls", "1")

    assert completed.returncode == 1
    assert "reached directly here, and through the relay elsewhere" in completed.stdout
