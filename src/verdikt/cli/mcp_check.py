"""The MCP servers of the clients, for `verdikt doctor`: a canary through each relay, and what goes past it."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from verdikt.errors import McpError, WiringError
from verdikt.hosts.host_decision import TEXT_MARK, sanitize_text
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.mcp_servers import (
    ASKS_WITHOUT_HOOKS,
    CAN_ASK,
    ServerEntry,
    find_direct_duplicates,
    list_servers,
)
from verdikt.mcp.pin_store import list_books

CANARY_SECONDS = 30.0
CANARY_TOOL = "verdikt_canary"
"""A tool that no server lists: a relay refuses to call it, and a server that is reached directly does not know us."""

_CAPABILITIES = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "verdikt", "version": "1"}}


def check_servers(installation: Installation) -> list[dict[str, Any]]:
    """Return a report on each server: whether it goes through the relay, and whether the relay refuses the canary."""
    entries = list_servers(installation)
    duplicates = find_direct_duplicates(entries)
    hooked_hosts = {wired.host for wired in find_wired_files(installation)} if entries else set()
    return [
        _check_server(installation, entry, is_duplicate=entry in duplicates, has_hooks=entry.host in hooked_hosts)
        for entry in entries
    ]


def _check_server(
    installation: Installation, entry: ServerEntry, *, is_duplicate: bool, has_hooks: bool
) -> dict[str, Any]:
    state, healthy = "not relayed", not is_duplicate
    if entry.is_relayed and not _is_known(installation, entry):
        # A stranger could have put any command into a project's file.
        state = "not tried: the file was changed since `verdikt init --mcp`, and the server would be started"
        healthy = False
    elif entry.is_relayed:
        fault = fire_relay_canary(entry, installation)
        state, healthy = fault or "canary refused", not fault
        if changed := _find_changed_tools(installation, entry):
            names = sanitize_text(", ".join(changed))
            state += f"; hidden until a person accepts the change: {names} (`verdikt mcp pins`)"
    elif is_duplicate:
        state = "reached directly here, and through the relay elsewhere"
    return {
        "host": entry.host,
        "server": entry.name,
        "file": entry.file,
        "relayed": entry.is_relayed,
        "state": state,
        "can_ask": "no" if has_hooks and entry.host in ASKS_WITHOUT_HOOKS else CAN_ASK.get(entry.host, "unknown"),
        "healthy": healthy,
    }


def _find_changed_tools(installation: Installation, entry: ServerEntry) -> list[str]:
    """Return the tools of a server that changed since they were accepted; damaged pins have none to show."""
    with suppress(McpError):
        for book in list_books(Path(installation.data_directory)):
            if book.identity == entry.identity:
                return book.list_hidden()
    return []


def _is_known(installation: Installation, entry: ServerEntry) -> bool:
    """Whether an entry is a person's own, or in a project's file that is as `verdikt init` left it."""
    if not entry.is_shared:
        return True
    try:
        record = installation.load_record()
        return entry.file in record.files and record.is_untouched(entry.file)
    except WiringError:
        return False


def fire_relay_canary(entry: ServerEntry, installation: Installation) -> str:
    """Start a relay as a client does, call a tool that does not exist, and return why the relay did not refuse it."""
    requests = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CAPABILITIES},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": CANARY_TOOL, "arguments": {}}},
    )
    payload = "".join(f"{json.dumps(request)}\n" for request in requests)
    env = {**os.environ, **installation.env, **entry.environment}
    try:
        # The refusal does not wait for the server, and the end of our input ends both.
        completed = subprocess.run(
            entry.command,
            cwd=installation.project,
            env=env,
            input=payload,
            capture_output=True,
            text=True,
            timeout=CANARY_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return f"the relay cannot be started: `{entry.command[0]}` is not in PATH"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the relay cannot be started, or hangs ({type(error).__name__})"
    if any(_is_refusal(line) for line in completed.stdout.splitlines()):
        return ""
    if completed.returncode:
        last_line = next(filter(None, map(str.strip, reversed(completed.stderr.splitlines()))), "it says nothing")
        return f"the server does not run: status {completed.returncode}, {sanitize_text(last_line[:200])}"
    return "the canary was not refused by the relay"


def _is_refusal(line: str) -> bool:
    with suppress(ValueError, KeyError, TypeError, IndexError):
        message = json.loads(line)
        return message["id"] == 2 and str(message["result"]["content"][0]["text"]).startswith(TEXT_MARK)
    return False


def describe_server(report: dict[str, Any]) -> str:
    """Return a report as one line."""
    asks = {"yes": "can be asked", "no": "cannot be asked", "unknown": "may be asked"}[report["can_ask"]]
    return f"{report['server']} ({HOSTS[report['host']].title}, {report['file']}): {report['state']}; a person {asks}"
