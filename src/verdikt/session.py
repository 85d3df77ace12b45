"""Public import path of the session stores."""

from verdikt.graph.session_store import InMemorySessionStore, SessionStore
from verdikt.ledger.session import SQLiteSessionStore

__all__ = ["InMemorySessionStore", "SQLiteSessionStore", "SessionStore"]
