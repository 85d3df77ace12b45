"""What tool policies remember beyond a session: for a project, or for the user."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.session_state import StoredMemory

if TYPE_CHECKING:
    from verdikt.ledger.store import LogStore

_MEMORY_PREFIX = "memory-"


def to_memory_session(scope: str, root: str) -> str:
    """Return the session of the log that holds the memory of a scope: of the user, or of the project at a root."""
    project = f"-{sha256_hex(root.encode('utf-8', 'surrogateescape'))[:16]}" if scope == "project" else ""
    return f"{_MEMORY_PREFIX}{scope}{project}"


def is_memory_session(session: str) -> bool:
    """Return whether a session holds a shared memory and is not an agent's."""
    return session.startswith(_MEMORY_PREFIX)


def read_shared_memory(store: LogStore, scope: str, root: str) -> StoredMemory:
    """Return the memory of a scope, loaded at the first access."""
    return StoredMemory(partial(store.read_projection, "memory", to_memory_session(scope, root)))
