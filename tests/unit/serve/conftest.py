"""The store on each database that the service supports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.postgres import PostgresServer, run_postgres
from verdikt.serve.store import TeamStore

BACKENDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests; each test has a database of its own."""
    with run_postgres(in_memory=True) as server:
        yield server


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'team.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture
def store(database_url: str) -> TeamStore:
    """Return an empty store."""
    return close_after_test(TeamStore(database_url, create=True))
