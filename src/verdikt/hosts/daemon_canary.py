"""A canary through the socket of the warm process, at the start of a session and when its agent stops.

It runs in the hook's own process. A program that took the place of the warm process, and even knows its secret, must
also write the log as verdikt does: the decision about the canary must be there, and must be the one that was answered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import SOCKET_NAME, DaemonUntrusted, NoReply, get_run_directory, relay_hook_call
from verdikt.daemon.proof import SECRET_NAME, create_nonce, read_secret
from verdikt.hosts.live.canary import Canary
from verdikt.hosts.registry import HOSTS
from verdikt.ledger.log_reader import LogReader
from verdikt.model.entry import EntryKind

_TIMEOUT_SECONDS = 3.0

_MAX_LATER_ENTRIES = 64
"""Number of canaries of other sessions that may have been recorded between ours and our look at the log."""


def find_daemon_fault(cwd: str, env: Mapping[str, str]) -> str:
    """Return why the warm process cannot be trusted; empty when it can, and when there is none.

    One that cannot be trusted is not asked again: its socket and its secret are removed, and the next hook starts
    another.
    """
    directory = get_run_directory(env)
    if not directory or not read_secret(directory):
        return ""
    fault = _fire_canary(os.path.dirname(directory), cwd, env)
    if fault:
        for name in (SECRET_NAME, SOCKET_NAME):
            with suppress(OSError):
                os.unlink(os.path.join(directory, name))
    return fault


def _fire_canary(data_directory: str, cwd: str, env: Mapping[str, str]) -> str:
    host, call_id = HOSTS["claude"], create_nonce().decode()
    payload = Canary(data_directory=data_directory).build_payload(host, "PreToolUse", cwd)
    payload[host.field_names.call] = call_id
    try:
        answer = relay_hook_call(
            ["claude", "PreToolUse"], json.dumps(payload).encode(), cwd, env, timeout_seconds=_TIMEOUT_SECONDS
        )
    except DaemonUntrusted as error:
        return str(error)
    except NoReply as error:
        return f"the canary was not answered: {error}"
    if answer is None:
        return ""  # none runs, or it ends: the hook decides by itself
    if answer[0] != 2:
        return "the warm process let the canary through, which every policy forbids"
    if not _is_recorded(data_directory, str(payload[host.field_names.session]), call_id):
        return "the warm process answered the canary, and its decision is not in the log"
    return ""


def _is_recorded(data_directory: str, session: str, call_id: str) -> bool:
    """Return whether the log holds the block of that call."""
    reader = LogReader(Path(data_directory, "ledger"))
    last_seq = reader.read_head(session).seq
    entries = reader.read_intact_entries(session, since=max(0, last_seq - _MAX_LATER_ENTRIES))
    return any(
        entry.kind is EntryKind.DECISION
        and entry.body.get("call_id") == call_id
        and entry.body.get("receipt", {}).get("verdict", {}).get("kind") == "block"
        for entry in entries
    )
