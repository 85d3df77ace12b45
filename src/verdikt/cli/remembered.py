"""What a session and its project remember, for commands that ask what would be decided."""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from verdikt.cli.store_access import open_data_store, resolve_home, resolve_session
from verdikt.ledger.shared_memory import read_shared_memory
from verdikt.model.session_state import StoredMemory
from verdikt.observe.world import find_project_root


def load_memory(session: str, cwd: str) -> Mapping[str, Any]:
    """Return what the project at a directory remembers and, with a session named, what that session does."""
    # A question must not create a data directory.
    if not (resolve_home(None) / "ledger").is_dir() and not session:
        return {}
    store = open_data_store(None)
    root = find_project_root(cwd, os.environ.get("HOME", ""))
    load_state = partial(store.read_projection, "memory", resolve_session(store, session)) if session else dict
    return StoredMemory(load_state, lambda scope: read_shared_memory(store, scope, root))
