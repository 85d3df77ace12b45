"""What tool policies remember beyond a session: for a project, or for the user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import StoredMemory

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.ledger.store import LogStore
    from verdikt.model.world import World

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


class SharedMemory:
    """The memories of one data directory, each in a log of its own."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._logs: dict[tuple[str, str], tuple[str, bool]] = {}

    def read(self, world: World, scope: str) -> StoredMemory:
        """Return the memory of a scope for the project of a world."""
        root = str(world.place().get("project_root", ""))
        path, is_archived = self._find_log(scope, root)
        # A look at the directory is much cheaper than one at the database, and few projects remember anything.
        if not is_archived and not os.path.exists(path):
            return StoredMemory(dict)
        return read_shared_memory(self._store, scope, root)

    def remember_in_project(self, root: str, changes: Mapping[str, Any]) -> None:
        """Record what later sessions of the project have to know."""
        body = {"given": [], "failures": {}, "kept": dict(changes)}
        self._store.append(to_memory_session("project", root), EntryKind.FEEDBACK, body)

    def _find_log(self, scope: str, root: str) -> tuple[str, bool]:
        """Return the file of a memory's log, and whether it had one when first asked for."""
        if (scope, root) not in self._logs:
            session = to_memory_session(scope, root)
            path = str(self._store.reader.hot_file_path(session))
            self._logs[scope, root] = (path, self._store.reader.has_session(session))
        return self._logs[scope, root]
