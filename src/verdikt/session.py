"""Where sessions are kept. Another name for what lives in the rooms."""

from verdikt.graph.session_store import InMemorySessionStore, SessionStore
from verdikt.ledger.session import SQLiteSessionStore

__all__ = ["InMemorySessionStore", "SQLiteSessionStore", "SessionStore"]
