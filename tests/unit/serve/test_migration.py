"""The schema: migrations give what the code expects, and data survives them."""

import pytest
from alembic import autogenerate
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.cleanup import close_after_test
from tests.unit.serve.submissions import add_machine
from tests.unit.team.chains import build_lines
from verdikt.errors import ServiceError
from verdikt.serve import schema
from verdikt.serve.database import Database, parse_url
from verdikt.serve.migration import SCHEMA_VERSION, build_config, migrate, read_schema_version
from verdikt.serve.store import TeamStore


@pytest.mark.filterwarnings("ignore:Did not recognize type 'xid8'")
def test_migrated_database_is_the_schema(database_url: str) -> None:
    """What the migrations create is what the code describes, and the newest revision is the one that it expects."""
    database = close_after_test(Database(database_url))
    migrate(database)
    with database.begin_read() as connection:
        differences = autogenerate.compare_metadata(MigrationContext.configure(connection), schema.metadata)
        newest = ScriptDirectory.from_config(build_config(connection)).get_current_head()

    # In PostgreSQL alone there is a column for the feed, and its index.
    expected = {"xid", "entry_by_transaction"} if database.is_postgresql else set()
    assert {str(getattr(difference[-1], "name", difference)) for difference in differences} == expected
    assert newest == SCHEMA_VERSION


def test_migrate_again_keeps_the_data(database_url: str) -> None:
    """A second start changes nothing."""
    with TeamStore(database_url, create=True) as store:
        add_machine(store).send(*build_lines("s", range(1, 5)))
    with TeamStore(database_url, create=True) as again:
        assert again.list_machines(1)[0].entries == 4
    with TeamStore(database_url) as checked, checked.database.begin_read() as connection:
        assert read_schema_version(connection) == SCHEMA_VERSION


def test_store_on_an_empty_database_says_what_to_run(database_url: str) -> None:
    """A replica never changes the schema by itself."""
    with pytest.raises(ServiceError, match=r"expected a database of version 0004, found it empty: run `verdikt serve"):
        TeamStore(database_url)


@pytest.mark.parametrize("url", ["", "x", "mysql://a/b", "http://x", "sqlite", "postgresql"])
def test_other_databases_are_refused(url: str) -> None:
    """Only two databases are supported."""
    with pytest.raises(ServiceError, match="expected `sqlite:///FILE` or `postgresql://"):
        parse_url(url)


def test_unreachable_database_is_named_without_its_password() -> None:
    """The message says which database, and no secret."""
    with pytest.raises(ServiceError, match=r"the database postgresql.*@127\.0\.0\.1:1/x failed") as error:
        TeamStore("postgresql://me:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(error.value)
