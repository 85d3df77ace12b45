"""What arrives in a month is a partition in PostgreSQL, and rare words are found by an index."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, text

from tests.cleanup import close_after_test
from tests.postgres import PostgresServer
from tests.unit.serve.submissions import NOW, Machine, add_machine
from tests.unit.team.chains import build_lines
from verdikt.errors import ServiceError
from verdikt.serve.store import TeamStore
from verdikt.serve.text_index import create_text_index, drop_text_index
from verdikt.team.chain_extension import Continuation
from verdikt.team.search_query import SearchQuery, parse_query

CHAIN = build_lines("s", range(1, 21))
DAY = 86_400_000_000
# The first partition ends with the month in which the test runs.
FUTURE = 4_100_000_000_000_000
FUTURE_NAMES = ["entry_2099_12", "segment_2099_12"]
NEXT_NAMES = ["entry_2100_01", "segment_2100_01"]


@pytest.fixture
def machine(postgres: PostgresServer) -> Machine:
    """Return a machine of a service on PostgreSQL."""
    return add_machine(close_after_test(TeamStore(postgres.create_database(), create=True)))


def list_partitions(machine: Machine) -> list[str]:
    """Return the partitions that a month added."""
    with machine.store.database.begin_read() as connection:
        names = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND relname NOT LIKE '%first'"
        return sorted(connection.execute(text(names)).scalars())


def count_rows(machine: Machine, table: str) -> int:
    """Return the number of rows."""
    with machine.store.database.begin_read() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_each_month_has_partitions_of_its_own(machine: Machine) -> None:
    """A session over two months is read, searched, repeated and continued as one."""
    machine.send(*CHAIN[:5])
    machine.send(*CHAIN[5:8], now=FUTURE)
    machine.send(*CHAIN[8:9], now=FUTURE + DAY)
    machine.send(*CHAIN[9:15], now=FUTURE + 31 * DAY)
    repeated = machine.send(*CHAIN[3:7], now=FUTURE + 32 * DAY)
    machine.send(*CHAIN[15:], now=NOW)

    assert list_partitions(machine) == sorted(FUTURE_NAMES + NEXT_NAMES)
    assert [count_rows(machine, name) for name in ("entry_first", "entry_2099_12", "entry_2100_01")] == [10, 4, 6]
    assert [count_rows(machine, name) for name in ("segment_first", *FUTURE_NAMES[1:], *NEXT_NAMES[1:])] == [2, 2, 1]
    assert repeated[0].continuation is Continuation.REPEATS
    assert machine.read_lines("s") == CHAIN
    reader = machine.store.read_as(machine.organisation)
    chain = machine.list_sessions()[0]["chain"]
    assert [row["seq"] for row in reader.read_index(chain, 0, 100)] == list(range(1, 21))
    assert [row["seq"] for row in reader.search_entries(SearchQuery()).entries] == list(range(20, 0, -1))
    assert [row["seq"] for row in reader.read_feed("0.0")[1]] == list(range(1, 21))


def test_a_partition_can_be_detached_and_the_rest_goes_on(machine: Machine) -> None:
    """What retention will do: a month leaves as a table, without a statement for each row."""
    machine.send(*CHAIN[:5], now=FUTURE)
    machine.send(*CHAIN[5:10], now=FUTURE + 31 * DAY)
    with machine.store.database.begin_write() as connection:
        connection.execute(text("ALTER TABLE entry DETACH PARTITION entry_2099_12"))
        connection.execute(text("ALTER TABLE segment DETACH PARTITION segment_2099_12"))
    machine.send(*CHAIN[10:], now=FUTURE + 31 * DAY)

    assert machine.read_lines("s") == CHAIN[5:]
    assert count_rows(machine, "entry_2099_12") == 5


def test_replicas_that_meet_at_the_beginning_of_a_month_make_it_once(machine: Machine) -> None:
    """Each wants the partition at the same time; one makes it, and nothing is lost."""
    stores = [close_after_test(TeamStore(str(machine.store.database.url))) for _ in range(4)]
    barrier = threading.Barrier(4)

    def send(number: int) -> None:
        barrier.wait()
        lines = build_lines(f"s{number}", range(1, 6))
        Machine(stores[number], machine.organisation, machine.id).send(*lines, now=FUTURE)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))

    assert list_partitions(machine) == FUTURE_NAMES
    assert count_rows(machine, "entry_2099_12") == 20


def test_a_restored_database_gets_the_partitions_that_it_lacks(machine: Machine) -> None:
    """A copy of last month has no place for what arrives; the second attempt, which machines make, makes it."""
    machine.send(*CHAIN[:5], now=FUTURE)
    with machine.store.database.begin_write() as connection:
        connection.execute(text("DROP TABLE entry_2099_12, segment_2099_12"))
    with pytest.raises(ServiceError, match="no partition"):
        machine.send(*CHAIN[5:10], now=FUTURE)
    machine.send(*CHAIN[5:10], now=FUTURE)

    assert list_partitions(machine) == FUTURE_NAMES


def explain_search(machine: Machine, query: SearchQuery, *, visible: bool = True, sessions: bool = False) -> str:
    """Return the plan of a search, as the statement that it really runs; for one who sees this machine, or all."""
    database, statements = machine.store.database, []
    machines = frozenset({machine.id}) if visible else None

    def collect(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        statements.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", collect)
    reader = machine.store.read_as(machine.organisation, machines)
    reader.find_sessions(query) if sessions else reader.search_entries(query)
    event.remove(database.engine, "before_cursor_execute", collect)
    with database.begin_read_of(machine.organisation, machines) as connection:
        statement, parameters = statements[-1]
        return "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())


def add_many_entries(machine: Machine, chains: int = 1) -> None:
    """Add so many that reading each of them costs more than an index; their lines are not there."""
    values = f"1, 0, 1 + i % {chains}, 1000 + i, 1, 1, 1, 1, 1, 1, 1, 'h', repeat(md5(i::text), 3), 's'"
    columns = "organisation, day, chain, seq, ts, kind, guard, class, tool, effect, host, hash, summary, shape"
    with machine.store.database.begin_write() as connection:
        connection.execute(text(f"INSERT INTO entry ({columns}) SELECT {values} FROM generate_series(1, 40000) AS i"))
    with machine.store.database.begin_alone() as connection:
        connection.execute(text("ANALYZE entry"))


def test_a_page_is_found_by_time_and_not_by_reading_everything(machine: Machine) -> None:
    """The conditions that PostgreSQL adds of its own make it expect few rows: it would read all of them and sort."""
    add_many_entries(machine, chains=20_000)
    columns = "organisation, machine, session, generation, seq, hash, signed_seq, first_ts, last_ts, received, host"
    counts = "directory, title, decisions, asks, blocks, claims, proofs, forked"
    values = f"1, {machine.id}, 's' || i, 0, 9, 'h', 0, 1, 1000 + i, 1, '', '', '', 9, 0, 1, 0, 0, false"
    with machine.store.database.begin_write() as connection:
        chains = f"INSERT INTO chain ({columns}, {counts}) SELECT {values} FROM generate_series(1, 20000) AS i"
        connection.execute(text(chains))
    with machine.store.database.begin_alone() as connection:
        connection.execute(text("ANALYZE chain"))

    for query, sessions in (("", False), ("", True), ("verdict:block", True)):
        plan = explain_search(machine, parse_query(query, NOW / 1e6), visible=False, sessions=sessions)
        assert ("chain_by_time" if sessions else "entry_first_by_time") in plan, (query, plan)


def test_a_search_by_text_uses_the_index(machine: Machine) -> None:
    """It is made for each organisation that wants it, in present partitions and later ones, and can be removed."""
    if not has_trigrams(machine):
        pytest.skip("this PostgreSQL has no `pg_trgm`: its contrib package is not installed")
    other = add_machine(machine.store, "ben")
    machine.send(*CHAIN[:5])
    create_text_index(machine.store.database, machine.organisation)
    create_text_index(machine.store.database, machine.organisation)
    machine.send(*CHAIN[5:], now=FUTURE)
    other.send(*CHAIN)
    add_many_entries(machine)

    query = parse_query('"echo 17"', NOW / 1e6)
    assert "entry_first_text_1" in explain_search(machine, query)
    with machine.store.database.begin_read() as connection:
        indexed = connection.execute(text("SELECT tablename FROM pg_indexes WHERE indexdef LIKE '%gin_trgm_ops%'"))
        assert sorted(indexed.scalars()) == ["entry", "entry_2099_12", "entry_first"]
    reader = machine.store.read_as(machine.organisation, frozenset({machine.id}))
    assert [(row["machine"], row["seq"]) for row in reader.search_entries(query).entries] == [("ana", 17)]
    assert [row["session"] for row in reader.find_sessions(query).sessions] == ["s"]
    drop_text_index(machine.store.database, machine.organisation)
    assert "entry_first_text_1" not in explain_search(machine, query)


def has_trigrams(machine: Machine) -> bool:
    """Return whether the server can index texts."""
    with machine.store.database.begin_read() as connection:
        names = connection.execute(text("SELECT name FROM pg_available_extensions")).scalars()
        return "pg_trgm" in set(names)


def test_sqlite_has_no_index_of_texts(tmp_path: object) -> None:
    """The command says so."""
    store = close_after_test(TeamStore(f"sqlite:///{tmp_path}/team.db", create=True))
    with pytest.raises(ServiceError, match="expected a PostgreSQL database: SQLite has no index of texts"):
        create_text_index(store.database, 1)
