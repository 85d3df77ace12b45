"""What is kept in SQLite. Another name for what lives in the rooms."""

from verdikt.ledger.session import SQLiteSessionStore

__all__ = ["SQLiteSessionStore"]
