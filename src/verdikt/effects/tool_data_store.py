"""Where the data lies that a connected tool works on, by its arguments: a file, an address, a server and a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import basename
from typing import TYPE_CHECKING, Any

from verdikt.effects.arguments import word_set
from verdikt.effects.command_verbs import split_tokens
from verdikt.effects.data_store import DataStore, is_server_here, parse_store_address, settle_losses
from verdikt.effects.installation_names import is_live_name

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_SERVER_WORDS = word_set("host hostname server endpoint")
_NAME_WORDS = word_set("database db dbname schema")
_FILE_WORDS = word_set("path file filename")
_MAX_VALUE = 400


def settle_tool_losses(call: Invocation, effects: list[Effect], payload: Mapping[str, Any]) -> Iterator[Effect]:
    """Yield the effects of a query, without losses in what the arguments say is on this machine and for a trial.

    Arguments that name no place leave the effects as they are.
    """
    store = _find_store(payload)
    yield from effects if store is None else settle_losses(call, effects, store, store.names)


def _find_store(payload: Mapping[str, Any]) -> DataStore | None:
    """Return the store that the arguments name; None where they name no file, address or server."""
    servers: list[str] = []
    names: list[str] = []
    texts = [(key, value) for key, value in payload.items() if isinstance(value, str) and len(value) < _MAX_VALUE]
    for key, value in texts:
        words = set(split_tokens(str(key)))
        more_servers, more_names = parse_store_address(value)
        servers += more_servers
        names += more_names
        if more_servers or more_names:
            continue
        if words & _NAME_WORDS and words & _FILE_WORDS:
            servers.append(f"file:{value}")
            names.append("tmp" if value.startswith(("/tmp/", "/var/tmp/", ":memory:")) else basename(value))
        elif words & _SERVER_WORDS:
            servers.append(value)
        elif words & _NAME_WORDS:
            names.append(value)
    if not servers or not names:
        return None
    is_live = any(is_live_name(value) for _, value in texts)
    is_here = not is_live and all(map(is_server_here, servers))
    return DataStore(tuple(servers), tuple(names), is_here, is_live)
