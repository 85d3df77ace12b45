"""Which session and call of a host an MCP request belongs to, so that its hook and the relay recognise each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
_UNNAMED_HOSTS = {"GEMINI_CLI": "gemini"}
"""Variable that a host sets for the servers it starts → the host; it tells them neither its session nor the call."""

_CODEX_MARK = "x-codex-turn-metadata"
_MAX_LENGTH = 200


class HostLink(NamedTuple):
    """The host's session and its id of the call; empty where the host names none."""

    session_id: str = ""
    call_id: str = ""


def read_host_link(meta: object, env: Mapping[str, str]) -> HostLink:
    """Return what a request's `_meta` and the relay's environment say of the host."""
    fields = meta if isinstance(meta, Mapping) else {}
    if _CODEX_MARK in fields:
        return HostLink(_get_text(fields, "sessionId"), _get_text(fields, "callId"))
    return HostLink(env.get(_SESSION_VARIABLE, "")[:_MAX_LENGTH], _get_text(fields, "claudecode/toolUseId"))


def find_unnamed_host(env: Mapping[str, str]) -> str:
    """Return the host that started the relay, where that names no calls; empty for any other."""
    for name, host in _UNNAMED_HOSTS.items():
        if env.get(name):
            return host
    return ""


def _get_text(fields: Mapping[object, object], key: str) -> str:
    value = fields.get(key)
    return value[:_MAX_LENGTH] if isinstance(value, str) else ""


def is_attended(env: Mapping[str, str]) -> bool:
    """Whether a person may be there to answer; only a host that says no counts."""
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED")
    if attended is not None:
        return attended == "1"
    return env.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"
