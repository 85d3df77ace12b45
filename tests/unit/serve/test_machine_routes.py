"""Every route of machines, from the route table: whose signature counts, and what a request that comes again does."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from sqlalchemy import select

from tests.fakes import FakeClock
from tests.unit.serve.stored_approval import build_request
from tests.unit.serve.team_server import ShippingMachine, TeamServer, run_team
from tests.unit.team.chains import build_lines
from tests.unit.web.browser import ensure_vendor_files
from verdikt.serve import schema
from verdikt.serve.machine_api import MACHINE_ROUTES, MachineRoute
from verdikt.ship.machine_identity import MachineIdentity
from verdikt.team.request_signature import MAX_CLOCK_SKEW_SECONDS

SIGNED = [route for route in MACHINE_ROUTES if route.is_signed]
LINES = build_lines("s", range(1, 9))


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock of service and machines."""
    return FakeClock(1_793_000_000.0)


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[TeamServer]:
    """Return a replica."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path / 'team.db'}", clock) as server:
        yield server


def build_body(route: MachineRoute, machine: int, number: int = 0) -> bytes:
    """Return a body that a route takes from a machine; each number says something else."""
    request = build_request(number, machine)
    fields: dict[str, Any] = {
        "/v1/status": {"version": f"1.{number}", "hosts": ["claude"][number:]},
        "/v1/approval-answers": {"requests": {request.id: "waiting"}, "wait": 0},
        "/v1/approval-outcomes": {"id": request.id, "state": "used" if number else "cancelled"},
        "/v1/approvals": {
            **{name: getattr(request, name) for name in ("id", "digest", "document", "texts", "seq", "rule", "reason")},
            **{name: getattr(request, name) for name in ("asked", "expires", "calls")},
            "dominant": "network",
        },
    }
    if route.method == "GET":
        return b""
    if route.path == "/v1/entries":
        return zstandard.ZstdCompressor().compress(b"".join(LINES[: 3 + number]))
    return json.dumps(fields[route.path]).encode()


class Wire:
    """Sends requests as they are, with any signature."""

    def __init__(self, server: TeamServer) -> None:
        self._url = server.url

    def send(self, route: MachineRoute, path: str, body: bytes, authorization: str) -> int:
        """Return the status of the answer."""
        headers = {"Authorization": authorization}
        request = urllib.request.Request(self._url + path, body or None, headers, method=route.method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code


def sign(machine: ShippingMachine, route: MachineRoute, body: bytes, identity: MachineIdentity | None = None) -> str:
    """Return the header for a request of a machine."""
    time = int(machine.clock.now())
    return (identity or machine.identity).sign_request(machine.id, route.method, route.path, body, time)


@pytest.mark.parametrize("route", SIGNED, ids=lambda route: f"{route.method} {route.path}")
def test_only_a_fresh_signature_of_the_machine_itself_counts(
    server: TeamServer, clock: FakeClock, tmp_path: Path, route: MachineRoute
) -> None:
    """Nothing, another machine's key, another body, path or method, and another time are all refused."""
    ana, eve = (server.enrol(tmp_path / name, clock=clock) for name in ("ana", "eve"))
    wire, body = Wire(server), build_body(route, ana.id)
    right = sign(ana, route, body)
    other = next(item for item in SIGNED if item.path != route.path)
    refused = {
        "none": "",
        "a token": "Bearer vdk_x_y",
        "another key": sign(ana, route, body, eve.identity),
        "another machine": right.replace(f"machine={ana.id}", f"machine={eve.id}"),
        "another body": sign(ana, route, body + b" "),
        "another route": sign(ana, other, body),
        "another time": right.replace(f"time={int(clock.now())}", f"time={int(clock.now()) + 1}"),
    }

    assert {name: wire.send(route, route.path, body, header) for name, header in refused.items()} == dict.fromkeys(
        refused, 401
    )
    assert wire.send(route, f"{route.path}?x=1", body, right) == 401
    for seconds in (-MAX_CLOCK_SKEW_SECONDS - 1, 2 * MAX_CLOCK_SKEW_SECONDS + 2):
        clock.seconds += seconds
        assert wire.send(route, route.path, body, right) == 401
    clock.seconds -= MAX_CLOCK_SKEW_SECONDS + 1
    assert wire.send(route, route.path, body, right) == 200


def read_tables(server: TeamServer) -> dict[str, list[Any]]:
    """Return every row of the service."""
    with server.team.store.database.begin_read() as connection:
        return {table.name: list(connection.execute(select(table)).all()) for table in schema.metadata.sorted_tables}


@pytest.mark.parametrize("route", SIGNED, ids=lambda route: f"{route.method} {route.path}")
def test_a_request_that_comes_again_changes_nothing(
    server: TeamServer, clock: FakeClock, tmp_path: Path, route: MachineRoute
) -> None:
    """Recorded and sent once more, at once and after a later one of the same machine, while its time still counts."""
    machine = server.enrol(tmp_path / "ana", clock=clock)
    wire = Wire(server)
    ask = next(item for item in SIGNED if item.path == "/v1/approvals")
    for number in (0, 1):
        body = build_body(ask, machine.id, number)
        assert wire.send(ask, ask.path, body, sign(machine, ask, body)) == 200
    first = build_body(route, machine.id)
    header = sign(machine, route, first)
    assert wire.send(route, route.path, first, header) == 200
    once = read_tables(server)
    assert wire.send(route, route.path, first, header) == 200
    assert read_tables(server) == once

    clock.seconds += 60
    second = build_body(route, machine.id, 1)
    assert wire.send(route, route.path, second, sign(machine, route, second)) == 200
    later = read_tables(server)
    assert wire.send(route, route.path, first, header) == 200
    assert read_tables(server) == later


def test_a_machine_of_another_organisation_reaches_nothing(
    server: TeamServer, clock: FakeClock, tmp_path: Path
) -> None:
    """By any route: what it sends is its own, and what others asked and were answered stays theirs."""
    ana, eve = (server.enrol(tmp_path / name, clock=clock) for name in ("ana", "eve"))
    with server.team.store.database.begin_write() as connection:
        other = connection.execute(
            schema.organisation.insert().values(name="evil", created=1).returning(schema.organisation.c.id)
        ).scalar_one()
        table = schema.machine
        connection.execute(table.update().where(table.c.id == eve.id).values(organisation=other))
    wire = Wire(server)
    for route in SIGNED:
        body = build_body(route, ana.id)
        assert wire.send(route, route.path, body, sign(ana, route, body)) == 200
    before = read_tables(server)
    clock.seconds += 11  # keys are read again
    statuses = {}
    for route in SIGNED:
        body = build_body(route, ana.id, 1 if route.path == "/v1/status" else 0)
        statuses[route.path] = wire.send(route, route.path, body, sign(eve, route, body))
    after = read_tables(server)

    assert statuses.pop("/v1/approvals") == 422, "an approval in the name of another machine"
    assert set(statuses.values()) == {200}
    assert after["approval"] == before["approval"]
    assert [row for row in after["machine"] if row.id == ana.id] == [
        row for row in before["machine"] if row.id == ana.id
    ]
    own = [row for row in after["chain"] if row.machine == ana.id]
    assert own == before["chain"]
    assert {row.organisation for row in after["chain"] if row.machine == eve.id} == {other}
