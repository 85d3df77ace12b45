"""PostgreSQL itself keeps organisations apart, whatever a statement of ours forgets."""

import pytest
from sqlalchemy import text

from tests.cleanup import close_after_test
from tests.postgres import PostgresServer
from tests.unit.serve.submissions import NOW, Machine, add_machine
from tests.unit.team.chains import build_lines
from verdikt.errors import ServiceError, WireError
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
        machine.send(*build_lines(f"s{machine.id}", range(1, 6), flavour="another"))
        people.ensure_person(machine.organisation, "p", "Ana", frozenset({"viewer"}))
        people.record_event(machine.organisation, "Ana", "test", "", NOW / 1e6)
    return both


def list_secured(machine: Machine) -> list[str]:
    """Return the tables with row-level security, without their partitions."""
    with machine.store.database.begin_read() as connection:
        query = "SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relispartition ORDER BY relname"
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
        query = """
            SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
            WHERE attname = 'organisation' AND relkind IN ('r', 'p', 'v') AND NOT relrowsecurity
        """
        unsecured = set(connection.execute(text(query)).scalars())

    # The view has the conditions itself, and is in the list of the next test.
    assert unsecured == {"searched_entry"}


SENT = ("machine", "chain", "entry", "searched_entry", "segment", "fork")
"""What machines sent, of which people see a part."""


def test_what_machines_sent_is_shown_of_visible_ones(postgres: PostgresServer) -> None:
    """Without any condition, a statement sees what the machines sent that the person sees, and of no other team."""
    store = close_after_test(TeamStore(postgres.create_database(), create=True))
    ana, ben, eve = add_machine(store), add_machine(store, "ben"), add_machine(store, "eve", "evil")
    for machine in (ana, ben, eve):
        machine.send(*build_lines("s", range(1, 6), flavour=str(machine.id)))
        # A second history leaves evidence.
        machine.send(*build_lines("s", range(1, 6), flavour="another"))

    def count(organisation: int, *visible: Machine) -> dict[str, int]:
        with store.database.begin_read_of(organisation, frozenset(machine.id for machine in visible)) as connection:
            return {table: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in SENT}

    of_one = {"machine": 1, "chain": 2, "entry": 5, "searched_entry": 5, "segment": 1, "fork": 1}
    assert count(ana.organisation, ana) == count(ana.organisation, ben) == of_one
    assert count(ana.organisation, ana, ben) == {table: 2 * number for table, number in of_one.items()}
    assert count(ana.organisation, ana, eve) == of_one
    assert count(ana.organisation) == count(ana.organisation, eve) == dict.fromkeys(SENT, 0)
    # What a person reads with names them, beside its own conditions.
    with store.read_as(ana.organisation, frozenset({ana.id}))._begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM chain")).scalar_one() == of_one["chain"]


@pytest.mark.parametrize("table", SENT)
def test_a_transaction_that_names_no_machines_fails(machines: tuple[Machine, Machine], table: str) -> None:
    """A forgotten setting is an error, not what all teams sent."""
    database = machines[0].store.database
    with pytest.raises(ServiceError, match="failed"), database.begin_read() as connection:
        connection.execute(text("SELECT set_config('verdikt.organisation', '1', true)"))
        connection.execute(text("SET LOCAL ROLE verdikt_reader"))
        connection.execute(text(f"SELECT count(*) FROM {table}")).scalar()


@pytest.mark.parametrize("partition", ["entry_first", "segment_first"])
def test_partitions_are_read_by_way_of_their_tables(machines: tuple[Machine, Machine], partition: str) -> None:
    """A partition has no policy of its own, so that neither role may read it."""
    database = machines[0].store.database
    for begin in (lambda: database.begin_read_of(1), database.begin_ingest):
        with pytest.raises(ServiceError, match="permission denied"), begin() as connection:
            connection.execute(text(f"SELECT * FROM {partition}"))


def test_a_transaction_that_names_no_organisation_fails(machines: tuple[Machine, Machine]) -> None:
    """A forgotten setting is an error, not everybody's data; on a connection that was used before, too."""
    database = machines[0].store.database
    for _ in range(2):
        with pytest.raises(ServiceError, match="failed"), database.begin_read() as connection:
            connection.execute(text("SET LOCAL ROLE verdikt_reader"))
            connection.execute(text("SELECT count(*) FROM entry")).scalar()
        with database.begin_read_of(1) as connection:
            connection.execute(text("SELECT count(*) FROM entry")).scalar()


def test_a_statement_for_people_ends_by_itself(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that reads everything must not do so for ever; who asked hears to search for less."""
    monkeypatch.setattr("verdikt.serve.database.READ_TIMEOUT", "50ms")
    with (
        pytest.raises(WireError, match="this takes too long: search for less"),
        machines[0].store.database.begin_read_of(machines[0].organisation) as connection,
    ):
        connection.execute(text("SELECT pg_sleep(60)"))


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
