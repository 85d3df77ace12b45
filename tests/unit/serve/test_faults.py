"""What goes wrong around the service: a full disk, slow clients, a database of an older version."""

import resource
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.postgres import PostgresServer
from tests.unit.serve.team_server import TeamServer, run_team
from tests.unit.web.browser import ensure_vendor_files
from verdikt.errors import ServiceError
from verdikt.serve import request_body
from verdikt.ship.service_client import Unreachable


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TeamServer]:
    """Return a replica on SQLite."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        yield server


def test_a_full_disk_stores_nothing_half_and_is_caught_up_with(server: TeamServer, tmp_path: Path) -> None:
    """The machine hears that it shall try later; when there is room again, everything is there once."""
    machine = server.enrol(tmp_path / "ana")
    machine.log("s", 3)
    shipper = machine.open_shipper()
    shipper.ship_new_lines()
    limit_pages(server, 1)
    machine.log("s", 400)
    with pytest.raises(Unreachable, match="the database does not answer"):
        shipper.ship_new_lines()
    assert machine.read_stored()["s"] == machine.read_log()["s"][:3]
    limit_pages(server, 1_000_000)
    shipper.ship_new_lines()

    assert machine.read_stored() == machine.read_log()


def limit_pages(server: TeamServer, pages: int) -> None:
    """Let the database file have so many pages at most; it is never made smaller than it is."""
    engine = server.team.store.database.engine
    engine.dispose()
    # The limit is one of a connection.
    event.listen(engine, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count = {pages}"))


def test_a_full_disk_of_postgresql_stores_nothing_half_and_is_caught_up_with(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """As with SQLite; the server itself fails to extend a table, and goes on for others."""
    ensure_vendor_files()
    with run_team(postgres.create_database()) as server:
        machine = server.enrol(tmp_path / "ana")
        machine.log("s", 3)
        shipper = machine.open_shipper()
        shipper.ship_new_lines()
        for _ in range(6):
            # Too random to be compressed to less than the limit.
            machine.log("s", 1, text=secrets.token_hex(400_000))
        try:
            limit_files(server, postgres, 2 << 20)
            with pytest.raises(Unreachable, match="the database does not answer"):
                shipper.ship_new_lines()
            stored = machine.read_stored()["s"]
        finally:
            limit_files(server, postgres, resource.RLIM_INFINITY)
        shipper.ship_new_lines()

        assert stored == machine.read_log()["s"][: len(stored)]
        assert 3 <= len(stored) < 9
        assert machine.read_stored() == machine.read_log()


def limit_files(server: TeamServer, postgres: PostgresServer, size: int) -> None:
    """Set the limit and close what was connected before: the server was started again."""
    postgres.limit_files(size)
    server.team.store.database.close()


def open_connection(server: TeamServer) -> socket.socket:
    """Return a connection that is given up after a minute."""
    host, _, port = server.team.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def sign_in(server: TeamServer, role: str) -> str:
    """Return the cookie of a person."""
    people, now = server.team.service.people, server.team.clock.now()
    person = people.ensure_person(server.organisation, role, role, frozenset({role}))
    signed_in = people.exchange_link(people.create_link(person, now), now)
    assert signed_in is not None
    return f"{server.team.service.cookie_name}={signed_in[1]}"


@pytest.mark.parametrize("request_line", ["GET /v1/export?format=csv", "GET /v1/export", "GET /v1/feed", ""])
def test_others_are_served_while_clients_do_not_read_or_never_finish(
    server: TeamServer, tmp_path: Path, request_line: str
) -> None:
    """They hold connections; threads and connections to the database stay free for others."""
    machine = server.enrol(tmp_path / "ana")
    for _ in range(4):
        machine.log("s", 1, text=secrets.token_hex(200_000))
    machine.log("s", 3000)
    machine.open_shipper().ship_new_lines()
    cookie = f"Host: {server.team.address}\r\nCookie: {sign_in(server, 'auditor')}\r\n"
    head = f"{request_line or 'GET /v1/me'} HTTP/1.1\r\n{cookie}" + ("\r\n" if request_line else "")
    clients = [open_connection(server) for _ in range(60)]
    try:
        for client in clients:
            # Small, so that the answer does not fit into what the kernel holds for it.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(head.encode())
        for path in ("/healthz", "/v1/sessions", "/v1/machines"):
            with open_connection(server) as other:
                other.sendall(f"GET {path} HTTP/1.1\r\n{cookie}\r\n".encode())
                assert other.recv(1 << 16).startswith(b"HTTP/1.1 200")
        machine.log("s", 2)
        machine.open_shipper().ship_new_lines()
    finally:
        for client in clients:
            client.close()

    assert machine.read_stored() == machine.read_log()


def test_no_connection_to_the_database_left_is_answered(postgres: PostgresServer) -> None:
    """As a database that does not answer: the client comes again."""
    ensure_vendor_files()
    with run_team(postgres.create_database()) as server, ExitStack() as stack:
        database = server.team.store.database
        database.engine.pool._timeout = 0.1  # type: ignore[attr-defined]
        with suppress(ServiceError):
            while True:
                stack.enter_context(database.begin_read())
        with open_connection(server) as client:
            client.sendall(f"GET /readyz HTTP/1.1\r\nHost: {server.team.address}\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 503")


def test_a_body_that_never_ends_is_given_up(server: TeamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many slow clients hold connections, not threads, and each for a while only; others are served meanwhile."""
    monkeypatch.setattr(request_body, "MAX_BODY_SECONDS", 1.0)
    head = f"POST /v1/entries HTTP/1.1\r\nHost: {server.team.address}\r\nContent-Length: 100\r\n\r\nx".encode()
    clients = [open_connection(server) for _ in range(60)]
    try:
        for client in clients:
            client.sendall(head)
        with open_connection(server) as other:
            other.sendall(f"GET /healthz HTTP/1.1\r\nHost: {server.team.address}\r\n\r\n".encode())
            assert other.recv(100).startswith(b"HTTP/1.1 200")
        answers = {client.recv(100)[:12] for client in clients}
    finally:
        for client in clients:
            client.close()

    assert answers == {b"HTTP/1.1 408"}
