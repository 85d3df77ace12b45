"""Public import path of the SQLite session store."""

from verdikt.ledger.session import SQLiteSessionStore

__all__ = ["SQLiteSessionStore"]
