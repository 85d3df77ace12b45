"""The MCP servers in the clients' configuration: which there are, and how they are made to go through the relay."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.installation import Installation

RELAY_WORDS = ("mcp", "--name")
"""How the arguments of verdikt begin where a server goes through the relay."""

PORTABLE_COMMAND = ("verdikt",)
"""The command in files that a team commits, which name no path of a machine."""

_CLAUDE_STATE = "~/.claude.json"
"""Holds a person's servers, those of single projects, and much else that Claude Code writes at any time."""

_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file in which a client looks for servers, and the keys under which they stand there."""

    host: str
    file: str
    keys: tuple[str, ...]
    is_shared: bool
    """Whether it lies in the project, for everybody who works on it."""


CONFIG_FILES = (
    ConfigFile("claude", ".mcp.json", ("mcpServers",), True),
    ConfigFile("claude", _CLAUDE_STATE, ("mcpServers",), False),
    ConfigFile("claude", _CLAUDE_STATE, ("projects", "{project}", "mcpServers"), False),
    ConfigFile("codex", ".codex/config.toml", ("mcp_servers",), True),
    ConfigFile("codex", "~/.codex/config.toml", ("mcp_servers",), False),
    ConfigFile("gemini", ".gemini/settings.json", ("mcpServers",), True),
    ConfigFile("gemini", "~/.gemini/settings.json", ("mcpServers",), False),
    ConfigFile("cursor", ".cursor/mcp.json", ("mcpServers",), True),
    ConfigFile("cursor", "~/.cursor/mcp.json", ("mcpServers",), False),
    ConfigFile("opencode", "opencode.json", ("mcp",), True),
    ConfigFile("opencode", "~/.config/opencode/opencode.json", ("mcp",), False),
)

_FILE_NAMES = frozenset(os.path.basename(config.file) for config in CONFIG_FILES)

CAN_ASK = {"claude": "yes", "codex": "yes", "gemini": "no", "cursor": "unknown", "opencode": "unknown"}
"""Whether a client shows a server's questions to a person, as far as it was observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server in a client's configuration."""

    host: str
    file: str
    keys: tuple[str, ...]
    name: str
    command: tuple[str, ...]
    """The command as it is configured; empty for a server at an address."""
    url: str = ""
    is_shared: bool = False

    @property
    def is_relayed(self) -> bool:
        """Whether the server goes through the relay."""
        return find_relayed_command(self.command) is not None

    @property
    def server_command(self) -> tuple[str, ...]:
        """The command of the server itself, without the relay."""
        return find_relayed_command(self.command) or self.command


def find_relayed_command(command: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the server's command behind the relay's; None when it does not go through the relay."""
    for index in range(len(command) - 1):
        if command[index : index + 2] == RELAY_WORDS and "verdikt" in " ".join(command[:index]):
            after = command[index:]
            return after[after.index("--") + 1 :] if "--" in after else None
    return None


def list_servers(installation: Installation) -> list[ServerEntry]:
    """Return every server that a client finds in this project; files that cannot be read are left out."""
    entries: list[ServerEntry] = []
    for config in CONFIG_FILES:
        path = _resolve_file(installation, config)
        try:
            settings = _parse_file(read_file(path), path)
        except WiringError:
            continue
        entries += _list_entries(installation, config, path, settings)
    return entries


def find_unreadable_files(installation: Installation) -> list[str]:
    """Return a message for each file whose servers could not be listed."""
    faults: dict[str, None] = {}
    for config in CONFIG_FILES:
        path = _resolve_file(installation, config)
        try:
            _parse_file(read_file(path), path)
        except WiringError as error:
            faults[str(error)] = None
    return list(faults)


def find_direct_duplicates(entries: Iterable[ServerEntry]) -> list[ServerEntry]:
    """Return the servers that one client reaches through the relay and another entry reaches directly."""
    known = list(entries)
    relayed = {(entry.server_command or (entry.url,)) for entry in known if entry.is_relayed}
    return [entry for entry in known if not entry.is_relayed and entry.command in relayed]


def plan_relaying(installation: Installation, host_names: Iterable[str]) -> list[FileChange]:
    """Return the changes after which these clients' servers go through the relay."""
    hosts = set(host_names)
    chosen = [entry for entry in list_servers(installation) if entry.host in hosts]
    by_file: dict[str, list[ServerEntry]] = {}
    for entry in chosen:
        if entry.command and not entry.is_relayed:
            by_file.setdefault(entry.file, []).append(entry)
    changes = []
    for path, entries in by_file.items():
        data = after = read_file(path)
        for entry in entries:
            after = _write_command(after, path, entry, build_relay_command(installation, entry))
        names = ", ".join(entry.name for entry in entries)
        description = f"through the relay: {names}"
        changes.append(
            FileChange(
                path=path,
                before=data,
                after=after,
                host=entries[0].host,
                description=description,
                project=installation.project,
                has_hooks=False,
            )
        )
    return changes


def build_relay_command(installation: Installation, entry: ServerEntry) -> tuple[str, ...]:
    """Return the command that starts the relay in front of a server.

    The person who wires a server has used it so far: its tools as they are now are accepted at first sight.
    """
    relay = PORTABLE_COMMAND if entry.is_shared else (*installation.create_registration().python, "-m", "verdikt")
    name = _NAME_CHARACTERS.sub("-", entry.name).replace("__", "_").strip("-") or "server"
    return (*relay, *RELAY_WORDS, name, "--trust-first", "--", *entry.command)


def strip_relays(data: bytes | None, path: str) -> bytes | None:
    """Return a configuration with every server of it as it was before it went through the relay."""
    if data is None or os.path.basename(path) not in _FILE_NAMES:
        return data
    settings = _parse_file(data, path)
    result = data
    for keys, servers in _find_server_tables(settings):
        for name, server in servers.items():
            command = find_relayed_command(_read_command(server))
            if command is not None:
                entry = ServerEntry(host="", file=path, keys=keys, name=name, command=_read_command(server))
                result = _write_command(result, path, entry, command)
    return result


def _resolve_file(installation: Installation, config: ConfigFile) -> str:
    host = HOSTS[config.host]
    if config.file == _CLAUDE_STATE and not installation.env.get(host.config_variable):
        return os.path.join(installation.home, ".claude.json")
    if config.file == _CLAUDE_STATE:
        # With its configuration elsewhere, the file lies in that directory too.
        return os.path.join(installation.env[host.config_variable], ".claude.json")
    return installation.resolve_host_file(host, config.file)


def _parse_file(data: bytes | None, path: str) -> dict[str, Any]:
    return toml_editor.parse(data, path) if path.endswith(".toml") else json_settings.parse(data, path)


def _list_entries(
    installation: Installation, config: ConfigFile, path: str, settings: Mapping[str, Any]
) -> Iterator[ServerEntry]:
    keys = tuple(installation.project if key == "{project}" else key for key in config.keys)
    servers = toml_editor.find_value(settings, *keys)
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict):
            continue
        url = next((server[key] for key in ("url", "httpUrl") if isinstance(server.get(key), str)), "")
        command = _read_command(server)
        if command or url:
            yield ServerEntry(
                host=config.host, file=path, keys=keys, name=name, command=command, url=url, is_shared=config.is_shared
            )


def _read_command(server: object) -> tuple[str, ...]:
    """Return a server's command line, from one list or from a program and its arguments."""
    if not isinstance(server, dict):
        return ()
    command, arguments = server.get("command"), server.get("args", [])
    if isinstance(command, list):
        return tuple(map(str, command))
    if isinstance(command, str) and isinstance(arguments, list):
        return (command, *map(str, arguments))
    return ()


def _find_server_tables(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for key in ("mcpServers", "mcp_servers", "mcp"):
        if isinstance(settings.get(key), dict):
            yield (key,), settings[key]
    projects = settings.get("projects")
    for project, table in projects.items() if isinstance(projects, dict) else ():
        if isinstance(table, dict) and isinstance(table.get("mcpServers"), dict):
            yield ("projects", project, "mcpServers"), table["mcpServers"]


def _write_command(data: bytes | None, path: str, entry: ServerEntry, command: tuple[str, ...]) -> bytes:
    if path.endswith(".toml"):
        table = (*entry.keys, entry.name)
        changed = toml_editor.set_key(data, table, "command", command[0], path)
        has_arguments = toml_editor.find_value(toml_editor.parse(data, path), *table, "args") is not None
        if has_arguments or command[1:]:
            changed = toml_editor.set_key(changed, table, "args", list(command[1:]), path)
        return changed
    settings = json_settings.parse(data, path)
    server = settings
    for key in (*entry.keys, entry.name):
        server = server[key]
    if isinstance(server["command"], list):
        server["command"] = list(command)
    else:
        server["command"] = command[0]
        if command[1:] or "args" in server:
            server["args"] = list(command[1:])
    return _render_like(data or b"", settings)


def _render_like(data: bytes, settings: Mapping[str, Any]) -> bytes:
    """Return settings as JSON with the indentation that the file has."""
    match = re.search(rb"\n([ \t]+)\"", data)
    if match is None or match[1] == b"  ":
        return json_settings.render(settings)
    indent: str | int = "\t" if b"\t" in match[1] else len(match[1])
    return json.dumps(settings, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def describe_remote(entries: Iterable[ServerEntry]) -> list[str]:
    """Return a line for each server at an address, which a client reaches without the relay."""
    return [
        f"{entry.host}: `{entry.name}` is at {entry.url}; put a relay in front of it: "
        f"`verdikt mcp --listen 127.0.0.1:PORT --to {entry.url}`"
        for entry in entries
        if entry.url and not entry.command
    ]
