"""Every route with values that no page of ours sends: refused or taken, and never a failure of the service."""

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.postgres import PostgresServer
from tests.unit.serve.http_client import ORIGIN, Site
from tests.unit.serve.stored_approval import build_request
from tests.unit.serve.team_server import run_team
from tests.unit.serve.test_machine_routes import Wire, build_body, sign
from tests.unit.team.chains import build_lines
from tests.unit.web.browser import ensure_vendor_files
from verdikt.errors import CanonicalError
from verdikt.model.canonical_json import hash_canonical
from verdikt.serve.api import ROUTES
from verdikt.serve.app import WRITE_HEADER
from verdikt.serve.machine_api import MACHINE_ROUTES, MachineRoute
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.notice_messages import Mailer
from verdikt.serve.notifications import NotificationSettings
from verdikt.serve.people import ROLES
from verdikt.serve.routes import ApiRoute
from verdikt.serve.safe_request import SafeSender
from verdikt.serve.store import TeamStore

VALUES: tuple[Any, ...] = ("\0", "\ud800", "é" * 70_000, {"\0": "\0", "id": "é"}, ["\0"], 2**53)
QUERY_VALUES = ("\0", "0", "é" * 70, "9" * 18, "9" * 40, "9223372036854775807.9223372036854775807", "verdict:\0")
PATH_VALUES = ("%00", "%ff", "9" * 18, "9" * 19, "%F0%9F%98%80")
QUERY_NAMES = sorted({name for route in ROUTES for name in route.parameters})
ADDRESSES = (
    "https://93.184.215.14/é",
    "https://93.184.215.14/a b",
    "https://93.184.215.14/\0",
    "https://93.184.215.14/\r\nX: y",
    f"https://{'a' * 70}.example/",
    "https://.example/",
    "https://é.example/",
    "https://[::1",
    "https://[x]/",
    "https://93.184.215.14:99999/",
)
BODY: dict[str, Any] = {
    "code": "x",
    "name": "n",
    "days": 1,
    "scopes": ["read"],
    "approved": True,
    "reason": "",
    "assertion": None,
    "response": {},
    "kind": "webhook",
    "address": "https://93.184.215.14/",
    "mode": "each",
    "group": "",
    "team": "",
    "uses": 1,
    "hours": 1,
    "allowed": True,
    "state": "s",
}
"""A body that has what each write wants."""

NEWCOMER = {"code": "x", "name": "laptop", "public_key": "aa" * 32, "secret": "x"}
"""What the routes want of a machine that enrols."""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing to a place, which is a public address."""
    monkeypatch.setattr(SafeSender, "post", lambda *_: None)


@pytest.fixture
def site(postgres: PostgresServer) -> Site:
    """Return a service with mail, on the database that holds less than the other."""
    store = close_after_test(TeamStore(postgres.create_database(), create=True))
    site = Site(store)
    site.machine.send(*build_lines("s", range(1, 21)))
    settings = NotificationSettings(SafeSender(), Mailer("smtp://127.0.0.1:1", "verdikt@example.org"))
    site.service.notifications = type(site.service.notifications)(store.database, ORIGIN, settings)
    return site


def build_bodies() -> Iterator[dict[str, Any]]:
    """Yield bodies with one value each that is none of ours."""
    for name in (*BODY, "digest"):
        for value in VALUES:
            yield {**BODY, name: value}
    for address in ADDRESSES:
        yield {**BODY, "address": address}
    for address in ("\0@example.org", "\ud800@example.org", "é@example.org"):
        yield {**BODY, "kind": "email", "address": address}


def write(client: TestClient, path: str, body: Any) -> int:
    """Send a write as a page does, whatever is in it; return the status."""
    headers = {"Origin": ORIGIN, WRITE_HEADER: "1", "Content-Type": "application/json"}
    return client.post(path, content=json.dumps(body).encode(), headers=headers).status_code


def name_things(route: ApiRoute, site: Site) -> tuple[str, str]:
    """Return a path of a route that names things which are there, and the digest of an approval among them."""
    organisation, now = site.machine.organisation, site.clock.now()
    request = build_request(secrets.randbelow(2**40), site.machine.id)
    path = route.path
    if "{approval}" in path:
        machine = EnrolledMachine(site.machine.id, organisation)
        number, _ = site.service.approvals.submit(machine, request, int(now))
        path = path.format(approval=number)
    elif "{code}" in path:
        begun = site.service.devices.begin("laptop", secrets.token_bytes(32), now)
        assert begun is not None
        path = path.format(code=begun.code)
    elif "{person}" in path:
        path = path.format(person=site.people.ensure_person(organisation, "o", "O", frozenset({"viewer"})))
    return re.sub(r"{\w+}", "1", path), request.digest


def test_a_write_with_a_hostile_value_is_no_failure(site: Site) -> None:
    """Text that no database holds, names that no resolver takes, numbers that no column has."""
    client = site.sign_in(*ROLES)
    failures: Counter[tuple[str, int]] = Counter()
    for route in ROUTES:
        if not route.is_write or route.path == "/v1/sign-out":
            continue
        for body in build_bodies():
            path, digest = name_things(route, site)
            if route.path == "/v1/keys":
                write(client, "/v1/keys/options", {})
            status = write(client, path, {"digest": digest, **body})
            failures[(route.path, status)] += status >= 500

    assert +failures == Counter()


def test_a_read_with_a_hostile_value_is_no_failure(site: Site) -> None:
    """In the query and in the path."""
    client = site.sign_in(*ROLES)
    failures: Counter[tuple[str, int]] = Counter()
    for route in ROUTES:
        calls: list[tuple[str, dict[str, str]]] = [
            (re.sub(r"{\w+}", value, route.path), {}) for value in PATH_VALUES if "{" in route.path
        ]
        if not route.is_write:
            path = re.sub(r"{\w+}", "1", route.path)
            calls += [(path, {name: value}) for name in QUERY_NAMES for value in QUERY_VALUES]
        for path, query in calls:
            status = write(client, path, {}) if route.is_write else client.get(path, params=query).status_code
            failures[(route.path, status)] += status >= 500

    assert +failures == Counter()


def build_machine_bodies(route: MachineRoute, machine: int) -> Iterator[bytes]:
    """Yield bodies of a machine with one value each that is none of ours, in the document of an approval too."""
    if route.path == "/v1/entries":
        return
    fields = json.loads(build_body(route, machine)) if route.is_signed else dict(NEWCOMER)
    for name in fields:
        for value in VALUES:
            yield json.dumps({**fields, name: value}).encode()
    for name in fields.get("document", {}):
        for value in VALUES:
            # As a hostile machine does: with the digest of what it sends.
            document = {**fields["document"], name: value}
            with suppress(CanonicalError):
                yield json.dumps({**fields, "document": document, "digest": hash_canonical(document)}).encode()


def test_a_machine_with_a_hostile_value_is_no_failure(postgres: PostgresServer, tmp_path: Path) -> None:
    """It would send again what cannot be stored, for ever, if it were told that the database is away."""
    ensure_vendor_files()
    failures: Counter[tuple[str, int]] = Counter()
    clock = FakeClock(1_793_000_000.0)
    with run_team(postgres.create_database(), clock) as server:
        machine, wire = server.enrol(tmp_path / "ana", clock=clock), Wire(server)
        for route in MACHINE_ROUTES:
            if route.method == "GET":
                continue
            for body in build_machine_bodies(route, machine.id):
                # So that it never sends too much.
                clock.seconds += 1
                status = wire.send(route, route.path, body, sign(machine, route, body))
                failures[(route.path, status)] += status >= 500

    assert +failures == Counter()
