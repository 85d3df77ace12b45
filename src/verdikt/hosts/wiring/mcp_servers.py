"""The MCP servers in the clients' configuration: which there are, and how they are made to go through the relay."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import McpError, WiringError
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.server_entry import (
    ADDRESS_KEYS,
    ENTRY_VARIABLE,
    HEADER_KEYS,
    find_address,
    list_variables,
    parse_entry,
)

RELAY_WORDS = ("mcp", "--name")
"""How the arguments of verdikt begin where a server goes through the relay."""

PORTABLE_COMMAND = ("verdikt",)
"""The command in files that a team commits, which name no path of a machine."""

_CLAUDE_STATE = "~/.claude.json"
"""Holds a person's servers, those of single projects, and much else that Claude Code writes at any time."""

_ADDRESS_KEYS = frozenset(
    {"type", *ADDRESS_KEYS, *HEADER_KEYS, "oauth", "scopes", "oauth_resource", "authProviderType"}
)
"""What an entry has for a server at an address and not for a command."""

_COMMAND_KEYS = frozenset({"type", "command", "args", "env", "environment", "env_vars"})
"""What an entry has for a command that `verdikt init --mcp` wrote in place of an address."""

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
    *(
        ConfigFile("opencode", f"{directory}{file}", ("mcp",), directory in ("", ".opencode/"))
        for directory in ("", ".opencode/", "~/.config/opencode/")
        # With comments it cannot be changed, and is named as what stays ungoverned.
        for file in ("opencode.json", "opencode.jsonc")
    ),
)

_FILE_NAMES = frozenset(os.path.basename(config.file) for config in CONFIG_FILES)

CAN_ASK = {"claude": "yes", "codex": "yes", "gemini": "no", "cursor": "unknown", "opencode": "no"}
"""Whether a client shows a server's questions to a person, as far as it was observed."""

ASKS_WITHOUT_HOOKS = frozenset({"codex"})
"""Clients whose hooks decide first and cannot ask: with hooks, an ask is a block before the relay could ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server in a client's configuration."""

    host: str
    file: str
    keys: tuple[str, ...]
    name: str
    settings: Mapping[str, Any]
    """The entry as it is in the file."""
    is_shared: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        """The command as it is configured; empty for a server at an address."""
        return _read_command(self.settings)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the entry sets for its command."""
        return _read_environment(self.settings)

    @property
    def is_relayed(self) -> bool:
        """Whether the server goes through the relay."""
        return find_relayed_server(self.settings) is not None

    @property
    def identity(self) -> tuple[str, ...]:
        """The command or the address of the server itself, without the relay."""
        server = find_relayed_server(self.settings) or self.settings
        return _read_command(server) or (find_address(server),)


def find_relayed_server(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an entry as it was before it went through the relay; None when it does not."""
    command = _read_command(settings)
    for index in range(len(command) - 1):
        if command[index : index + 2] == RELAY_WORDS and "verdikt" in " ".join(command[:index]):
            after = command[index:]
            if "--" in after:
                return _replace_command(settings, after[after.index("--") + 1 :])
            return _restore_address(settings) if "--to" in after else None
    return None


def _restore_address(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        entry = parse_entry(_read_environment(settings))
    except McpError:
        return None
    if not find_address(entry):
        return None
    # What a person changed beside the relay since, stays changed.
    return entry | {key: value for key, value in settings.items() if key not in _COMMAND_KEYS}


def _read_environment(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that an entry sets."""
    environment = settings.get("environment" if isinstance(settings.get("command"), list) else "env")
    return {str(key): str(value) for key, value in environment.items()} if isinstance(environment, dict) else {}


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
    relayed = {entry.identity for entry in known if entry.is_relayed}
    return [entry for entry in known if not entry.is_relayed and entry.identity in relayed]


def plan_relaying(
    installation: Installation,
    host_names: Iterable[str],
    excepted: Iterable[str] = (),
    *,
    in_every_project: bool = False,
) -> list[FileChange]:
    """Return the changes after which these clients' servers go through the relay, except those of some names.

    What is changed outside this project is taken back with it, unless it is meant for every project.
    """
    hosts = set(host_names)
    names = set(excepted)
    chosen = [entry for entry in list_servers(installation) if entry.host in hosts and entry.name not in names]
    by_file: dict[str, list[ServerEntry]] = {}
    for entry in chosen:
        if not entry.is_relayed:
            by_file.setdefault(entry.file, []).append(entry)
    changes = []
    for path, entries in by_file.items():
        data = after = read_file(path)
        for entry in entries:
            after = _write_settings(after, path, entry, build_relay_settings(installation, entry))
        description = f"through the relay: {', '.join(entry.name for entry in entries)}"
        changes.append(
            FileChange(
                path=path,
                before=data,
                after=after,
                host=entries[0].host,
                description=description,
                project="" if in_every_project else installation.project,
                has_hooks=False,
            )
        )
    return changes


def build_relay_settings(installation: Installation, entry: ServerEntry) -> dict[str, Any]:
    """Return the entry with which a client starts the relay in front of a server.

    The person who wires a server has used it so far: its tools as they are now are accepted at first sight.
    """
    relay = PORTABLE_COMMAND if entry.is_shared else (*installation.create_registration().python, "-m", "verdikt")
    name = _NAME_CHARACTERS.sub("-", entry.name).replace("__", "_").strip("-") or "server"
    words = (*relay, *RELAY_WORDS, name, "--trust-first")
    if entry.command:
        return _replace_command(entry.settings, (*words, "--", *entry.command))
    settings = {key: value for key, value in entry.settings.items() if key not in _ADDRESS_KEYS}
    environment = {ENTRY_VARIABLE: json.dumps(entry.settings, ensure_ascii=False)}
    command = (*words, "--to", find_address(entry.settings))
    if entry.host == "opencode":
        return {"type": "local", "command": list(command), "environment": environment, **settings}
    # Codex hands only those variables on that an entry names.
    variables = list_variables(entry.settings)
    extra = {"env_vars": variables} if entry.host == "codex" and variables else {}
    return {"command": command[0], "args": list(command[1:]), "env": environment, **extra, **settings}


def strip_relays(data: bytes | None, path: str) -> bytes | None:
    """Return a configuration with every server of it as it was before it went through the relay."""
    if data is None or os.path.basename(path) not in _FILE_NAMES:
        return data
    settings = _parse_file(data, path)
    result = data
    for keys, servers in _find_server_tables(settings):
        for name, server in servers.items():
            original = find_relayed_server(server) if isinstance(server, dict) else None
            if original is not None:
                entry = ServerEntry(host="", file=path, keys=keys, name=name, settings=server)
                result = _write_settings(result, path, entry, original)
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
        if _read_command(server) or find_address(server):
            yield ServerEntry(
                host=config.host, file=path, keys=keys, name=name, settings=server, is_shared=config.is_shared
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


def _replace_command(settings: Mapping[str, Any], command: tuple[str, ...]) -> dict[str, Any]:
    """Return an entry with another command line, in the form that it has."""
    if isinstance(settings["command"], list):
        return {**settings, "command": list(command)}
    arguments = {"args": list(command[1:])} if command[1:] or "args" in settings else {}
    return {**settings, "command": command[0], **arguments}


def _write_settings(data: bytes | None, path: str, entry: ServerEntry, settings: Mapping[str, Any]) -> bytes:
    """Return the file with another entry for a server."""
    if path.endswith(".toml"):
        table = (*entry.keys, entry.name)
        changed = data or b""
        for key in entry.settings.keys() - settings.keys():
            changed = toml_editor.remove_key(changed, table, key, path)
        for key, value in settings.items():
            if entry.settings.get(key) != value:
                changed = toml_editor.set_key(changed, table, key, value, path)
        return changed
    document = json_settings.parse(data, path)
    servers = document
    for key in entry.keys:
        servers = servers[key]
    servers[entry.name] = dict(settings)
    return _render_like(data or b"", document)


def _render_like(data: bytes, settings: Mapping[str, Any]) -> bytes:
    """Return settings as JSON with the indentation that the file has."""
    match = re.search(rb"\n([ \t]+)\"", data)
    if match is None or match[1] == b"  ":
        return json_settings.render(settings)
    indent: str | int = "\t" if b"\t" in match[1] else len(match[1])
    return json.dumps(settings, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def describe_remote(entries: Iterable[ServerEntry]) -> list[str]:
    """Return a line for each server at an address: what a login in the client means for it."""
    return [
        f"{entry.host}: `{entry.name}` is at {find_address(entry.settings)}; a login through the client does not reach "
        f"a server behind the relay: `--mcp-except {entry.name}` leaves it as it is"
        for entry in entries
        if not entry.command and not any(entry.settings.get(key) for key in HEADER_KEYS)
    ]
