"""A client's entry for a server at an address, as the relay gets it: the address, and the headers to send there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verdikt.errors import McpError

ENTRY_VARIABLE = "VERDIKT_MCP_SERVER"
"""Holds the entry, as JSON, that `verdikt init --mcp` replaced. Not among the arguments, which every user can read."""

ADDRESS_KEYS = ("url", "httpUrl")
_TOKEN_VARIABLE = "bearer_token_env_var"
_HEADER_VARIABLES = "env_http_headers"
HEADER_KEYS = ("headers", "http_headers", _TOKEN_VARIABLE, _HEADER_VARIABLES)
"""How clients write headers: Codex has the last three, all others the first."""


def parse_entry(env: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry in the environment; empty without one. Raises `McpError` for anything that is no entry."""
    text = env.get(ENTRY_VARIABLE)
    if not text:
        return {}
    try:
        entry = json.loads(text)
    except ValueError as error:
        raise McpError(f"expected JSON in {ENTRY_VARIABLE}, found something else") from error
    if not isinstance(entry, dict):
        raise McpError(f"expected an object in {ENTRY_VARIABLE}, found something else")
    return entry


def find_address(entry: Mapping[str, Any]) -> str:
    """Return the address in an entry; empty for a server that is a command."""
    return next((entry[key] for key in ADDRESS_KEYS if isinstance(entry.get(key), str)), "")


def list_variables(entry: Mapping[str, Any]) -> list[str]:
    """Return the variables from which an entry takes headers."""
    named = entry.get(_HEADER_VARIABLES)
    variables = [*named.values()] if isinstance(named, Mapping) else []
    return sorted({name for name in (entry.get(_TOKEN_VARIABLE), *variables) if isinstance(name, str)})


def build_headers(entry: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that an entry wants to be sent; raise `McpError` for one that could hold a second one."""
    headers: dict[str, str] = {}
    for key in ("headers", "http_headers"):
        named = entry.get(key)
        headers |= {str(name): str(value) for name, value in named.items()} if isinstance(named, Mapping) else {}
    named = entry.get(_HEADER_VARIABLES)
    for name, variable in named.items() if isinstance(named, Mapping) else ():
        if env.get(str(variable)):
            headers[str(name)] = env[str(variable)]
    token = env.get(str(entry.get(_TOKEN_VARIABLE, "")), "")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    for name, value in headers.items():
        if not name.isprintable() or not value.isprintable() or not (name + value).isascii():
            raise McpError(f"expected a header of printable letters, found another in `{name}`")
    return {name.lower(): value for name, value in headers.items()}
