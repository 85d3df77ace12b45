"""A fixture that closes the stores a test opens."""

from collections.abc import Iterator
from typing import Any

import pytest

from verdikt.ledger.files import FileStore
from verdikt.ledger.session import SQLiteSessionStore
from verdikt.ledger.state_database import StateDatabase


@pytest.fixture(autouse=True)
def close_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every store made in the test, however it was made, so that no descriptor outlives it."""
    opened: list[Any] = []
    for store_class in (FileStore, SQLiteSessionStore, StateDatabase):

        def remember(self: Any, *args: Any, initialize: Any = store_class.__init__, **settings: Any) -> None:
            initialize(self, *args, **settings)
            opened.append(self)

        monkeypatch.setattr(store_class, "__init__", remember)
    yield
    # The newest first: a store closes its own database.
    for store in reversed(opened):
        store.close()
