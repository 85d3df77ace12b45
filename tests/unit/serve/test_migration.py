"""The schema: migrations give what the code expects, and data survives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from alembic import autogenerate, command
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, select, text

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.postgres import PostgresServer
from tests.unit.serve.http_client import ORIGIN
from tests.unit.serve.security_key import SoftwareKey
from tests.unit.serve.stored_approval import build_request
from tests.unit.serve.submissions import NOW, Machine, add_machine
from tests.unit.team.chains import build_lines
from verdikt.errors import ServiceError
from verdikt.model.approval import ApprovalState
from verdikt.serve import schema
from verdikt.serve.approvals import Ballot
from verdikt.serve.database import Database, parse_url
from verdikt.serve.jobs import JobQueue
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.migration import SCHEMA_VERSION, build_config, migrate, read_schema_version
from verdikt.serve.people import Person
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore
from verdikt.team.chain_extension import Continuation
from verdikt.team.search_query import parse_query

LINES = build_lines("s", range(1, 7))
SECONDS = NOW / 1e6
PLACE = "https://93.184.215.14/"


@pytest.mark.filterwarnings("ignore:Did not recognize type 'xid8'")
def test_migrated_database_is_the_schema(database_url: str) -> None:
    """What the migrations create is what the code describes, and the newest revision is the one that it expects."""
    database = close_after_test(Database(database_url))
    migrate(database)
    with database.begin_read() as connection:
        differences = autogenerate.compare_metadata(MigrationContext.configure(connection), schema.metadata)
        newest = ScriptDirectory.from_config(build_config(connection)).get_current_head()

    found = {str(getattr(difference[-1], "name", difference)) for difference in differences}
    # In PostgreSQL alone there are partitions, each with its own index of chains, a column for the feed, and its index.
    expected = {"xid", "entry_by_transaction", "entry_by_chain"} if database.is_postgresql else set()
    assert {name for name in found if not name.startswith(("entry_first", "segment_first"))} == expected
    assert newest == SCHEMA_VERSION


def test_migrate_again_keeps_the_data(database_url: str) -> None:
    """A second start changes nothing."""
    with TeamStore(database_url, create=True) as store:
        add_machine(store).send(*build_lines("s", range(1, 5)))
    with TeamStore(database_url, create=True) as again:
        assert again.read_as(1).list_machines()[0].entries == 4
    with TeamStore(database_url) as checked, checked.database.begin_read() as connection:
        assert read_schema_version(connection) == SCHEMA_VERSION


@dataclass
class KeptService:
    """What a service held, and the secrets with which its people and programs come again."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Table → rows."""
    cookie: str = ""
    link: str = ""
    token: str = ""
    service_key: str = ""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptService:
    """Return a service in which every table has rows: chains with a fork, people, machines, approvals in each state."""
    url = f"sqlite:///{tmp_path_factory.mktemp('kept') / 'team.db'}"
    kept = KeptService()
    with TeamStore(url, create=True) as store:
        machine = add_machine(store)
        machine.send(*LINES[:6])
        machine.send(*build_lines("s", range(1, 4), flavour="another"))
        machine.send(*build_lines("t", range(1, 6)))
        service = Service(store, frozenset({ORIGIN}), FakeClock(SECONDS))
        ana = add_people(service, machine.organisation, kept)
        add_approvals(service, EnrolledMachine(machine.id, machine.organisation), ana)
        with store.database.begin_read() as connection:
            kept.rows = {
                table.name: [dict(row) for row in connection.execute(table.select()).mappings()]
                for table in schema.metadata.sorted_tables
            }
    return kept


def add_people(service: Service, organisation: int, kept: KeptService) -> Person:
    """Let a person sign in, and make what a person, a program and machines come in with; return the person."""
    people, roles = service.people, frozenset({"viewer", "approver"})
    person = people.ensure_person(organisation, "p", "Ana", roles, ["web"])
    ana = Person(person, organisation, "Ana", roles, frozenset({"web"}))
    signed_in = people.exchange_link(people.create_link(person, SECONDS), SECONDS)
    assert signed_in is not None
    kept.cookie, kept.link = signed_in[1], people.create_link(person, SECONDS)
    people.record_event(organisation, "Ana", "test", "", SECONDS)
    service.machines.create_code(organisation, 3, 60, SECONDS, "web")
    service.devices.begin("laptop", b"k" * 32, SECONDS)
    kept.token = service.tokens.create_token(ana, "t", frozenset({"read"}), 60, SECONDS)
    kept.service_key = service.service_key.public_hex
    JobQueue(service.store.database).add(organisation, "rollup", {}, SECONDS)
    SoftwareKey(service.store, ana, ORIGIN)
    service.security_keys.begin_registration(ana, ORIGIN, int(SECONDS))
    flow = {"state_sha256": "0" * 64, "nonce": "n", "verifier": "v", "expires": NOW}
    with service.store.database.begin_write() as connection:
        connection.execute(schema.sign_in_flow.insert().values(**flow))
    return ana


def add_approvals(service: Service, machine: EnrolledMachine, ana: Person) -> None:
    """Ask for approvals that are used, refused and still wait, and tell a place of them."""
    place = service.notifications.add_notifier(ana, {"kind": "webhook", "address": PLACE}, int(SECONDS))["id"]
    for number, approved in enumerate((True, False, None)):
        request = build_request(number, machine.id)
        approval, _ = service.approvals.submit(machine, request, int(SECONDS))
        if approved is not None:
            ballot = Ballot(approved=approved, digest=request.digest, reason="read")
            service.approvals.vote(ana, approval, ballot, int(SECONDS))
        if approved:
            service.approvals.report(machine, request.id, ApprovalState.USED, int(SECONDS))
        delivery = {"organisation": ana.organisation, "notifier": place, "approval": approval, "state": "sent"}
        with service.store.database.begin_write() as connection:
            connection.execute(schema.delivery.insert().values(**delivery, tries=1, due=0, problem=""))


def test_the_kept_service_has_rows_in_every_table(kept: KeptService) -> None:
    """A table that is added later has to have some too, or its migrations are checked with nothing in it."""
    assert {name for name, rows in kept.rows.items() if not rows} == set()


@pytest.mark.parametrize("version", [f"{number:04}" for number in range(1, int(SCHEMA_VERSION))])
@pytest.mark.filterwarnings("ignore:Did not recognize type 'xid8'")
def test_migrate_from_each_version_keeps_the_data(database_url: str, version: str, kept: KeptService) -> None:
    """A database of any earlier version, with everything that it can hold, has it afterwards, and goes on."""
    database = close_after_test(Database(database_url))
    with database.begin_write() as connection:
        command.upgrade(build_config(connection), version)
        old = insert_rows(connection, kept.rows)
    migrate(database)

    with database.begin_read() as connection:
        for name, (columns, rows) in old.items():
            table = schema.metadata.tables[name]
            selected = connection.execute(select(*(table.c[column] for column in columns))).all()
            assert sorted(map(tuple, selected), key=repr) == sorted((tuple(row.values()) for row in rows), key=repr), (
                name
            )
    store = close_after_test(TeamStore(database_url))
    machine = Machine(store, 1, 1)
    assert machine.read_lines("t") == build_lines("t", range(1, 6))
    assert machine.send(*build_lines("u", range(1, 6)), now=NOW)[0].continuation is Continuation.EXTENDS
    assert machine.send(*build_lines("t", range(1, 6)), now=NOW)[0].continuation is Continuation.REPEATS
    reader = store.read_as(1, frozenset({machine.id}))
    assert len(reader.search_entries(parse_query("echo", NOW / 1e6)).entries) == 16
    assert [row.forks for row in reader.list_machines()] == [1]
    check_people_and_approvals(Service(store, frozenset({ORIGIN}), FakeClock(SECONDS)), kept, old)


def check_people_and_approvals(service: Service, kept: KeptService, old: Mapping[str, Any]) -> None:
    """Fail unless people and programs still come in, as far as there were any, and what waited can be answered."""
    ana = service.people.find_person(kept.cookie, SECONDS)
    assert ana is not None
    assert service.people.exchange_link(kept.link, SECONDS) is not None
    assert (service.tokens.find_person(kept.token, SECONDS) is not None) == ("token" in old)
    if "approval" not in old:
        return
    assert service.service_key.public_hex == kept.service_key
    assert [place["address"] for place in service.notifications.list_notifiers(ana)] == [PLACE]
    assert len(service.security_keys.list_keys(ana)) == 1
    history = service.approvals.list_approvals(ana, history=True)
    assert sorted((row["state"], row["votes"][0]["name"], row["calls"]) for row in history) == [
        ("refused", "Ana", 1),
        ("used", "Ana", 1),
    ]
    (waiting,) = service.approvals.list_approvals(ana, history=False)
    ballot = Ballot(approved=True, digest=waiting["digest"])
    assert service.approvals.vote(ana, waiting["id"], ballot, int(SECONDS)) is ApprovalState.APPROVED
    machine = EnrolledMachine(1, ana.organisation)
    assert service.approvals.submit(machine, build_request(9, 1), int(SECONDS))[1], "the counters go on"


def insert_rows(connection: Connection, kept: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Insert what a database of an older version has tables and columns for; return table → columns and rows."""
    old = MetaData()
    old.reflect(connection)
    inserted = {}
    for name, rows in kept.items():
        if not rows or name not in old.tables:
            continue
        columns = [column for column in rows[0] if column in old.tables[name].c]
        inserted[name] = columns, [{column: row[column] for column in columns} for row in rows]
        connection.execute(old.tables[name].insert(), inserted[name][1])
        if connection.dialect.name == "postgresql" and (counter := {"n", "id"} & set(columns)):
            # Rows with numbers of their own do not move the counter.
            column = counter.pop()
            connection.execute(
                text(f"SELECT setval(pg_get_serial_sequence('{name}', '{column}'), max({column})) FROM {name}")
            )
    return inserted


def test_store_on_an_empty_database_says_what_to_run(database_url: str) -> None:
    """A replica never changes the schema by itself."""
    with pytest.raises(ServiceError, match=r"expected a database of version 0007, found it empty: run `verdikt serve"):
        TeamStore(database_url)


def test_a_database_in_another_encoding_is_refused_with_the_statement_for_a_new_one(postgres: PostgresServer) -> None:
    """A cluster of an account without a locale makes such databases unless the statement says otherwise."""
    url = postgres.create_database("ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(ServiceError, match="expected a database in UTF8, found SQL_ASCII: create it with `CREATE DATA"):
        TeamStore(url, create=True)


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
