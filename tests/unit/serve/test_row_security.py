"""PostgreSQL itself keeps organisations apart, whatever a statement of ours forgets."""

import pytest
from sqlalchemy import text

from tests.cleanup import close_after_test
from tests.postgres import PostgresServer
from tests.unit.serve.submissions import NOW, Machine, add_machine
from tests.unit.team.chains import build_lines
from verdikt.errors import ServiceError
from verdikt.serve.people import People
from verdikt.serve.store import TeamStore


@pytest.fixture
def machines(postgres: PostgresServer) -> tuple[Machine, Machine]:
    """Return a machine of each of two organisations, with entries, lines, people and events."""
    store = close_after_test(TeamStore(postgres.create_database(), create=True))
    both = add_machine(store), add_machine(store, "eve", "evil")
    people = People(store.database)
    for machine in both:
        machine.send(*build_lines(f"s{machine.id}", range(1, 6)))
        people.ensure_person(machine.organisation, "p", "Ana", frozenset({"viewer"}))
        people.record_event(machine.organisation, "Ana", "test", "", NOW / 1e6)
    return both


def list_secured(machine: Machine) -> list[str]:
    """Return the tables with row-level security."""
    with machine.store.database.begin_read() as connection:
        query = "SELECT relname FROM pg_class WHERE relrowsecurity ORDER BY relname"
        return list(connection.execute(text(query)).scalars())


def test_each_table_shows_one_organisation(machines: tuple[Machine, Machine]) -> None:
    """Without any condition, a statement for people sees the rows of the organisation that it names."""
    mine, other = machines
    database = mine.store.database
    tables = list_secured(mine)
    for table in tables:
        with database.begin_read() as connection:
            total = connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
        counts = []
        for organisation in (mine.organisation, other.organisation, 999):
            with database.begin_read_of(organisation) as connection:
                counts.append(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())
        assert sum(counts) == total, table
        assert counts[2] == 0, table
    assert {"chain", "entry", "segment", "fork", "machine", "person", "token", "audit_event", "tally"} <= set(tables)


def test_every_table_of_an_organisation_is_secured(machines: tuple[Machine, Machine]) -> None:
    """A table that is added with an organisation must not be forgotten."""
    with machines[0].store.database.begin_read() as connection:
        query = "SELECT table_name FROM information_schema.columns WHERE column_name = 'organisation'"
        named = set(connection.execute(text(query)).scalars())

    assert named - set(list_secured(machines[0])) == set()


def test_a_transaction_that_names_no_organisation_fails(machines: tuple[Machine, Machine]) -> None:
    """A forgotten setting is an error, not everybody's data; on a connection that was used before, too."""
    database = machines[0].store.database
    for _ in range(2):
        with pytest.raises(ServiceError, match="failed"), database.begin_read() as connection:
            connection.execute(text("SET LOCAL ROLE verdikt_reader"))
            connection.execute(text("SELECT count(*) FROM entry")).scalar()
        with database.begin_read_of(1) as connection:
            connection.execute(text("SELECT count(*) FROM entry")).scalar()


@pytest.mark.parametrize("statement", ["DELETE FROM entry", "UPDATE chain SET seq = 0", "SELECT * FROM login"])
def test_people_change_nothing_by_reading(machines: tuple[Machine, Machine], statement: str) -> None:
    """The role of people can neither write nor read secrets."""
    with (
        pytest.raises(ServiceError, match="permission denied"),
        machines[0].store.database.begin_read_of(1) as connection,
    ):
        connection.execute(text(statement))


@pytest.mark.parametrize("table", ["segment", "entry", "fork", "login", "token", "person"])
def test_ingest_cannot_read_what_was_sent(machines: tuple[Machine, Machine], table: str) -> None:
    """The role that takes what machines send sees neither lines nor people."""
    with (
        pytest.raises(ServiceError, match="permission denied"),
        machines[0].store.database.begin_ingest() as connection,
    ):
        connection.execute(text(f"SELECT * FROM {table}"))
