"""A client of the application, as a browser or a program would call it."""

from dataclasses import dataclass, field
from typing import Any

import httpx2
from starlette.testclient import TestClient

from tests.fakes import FakeClock
from tests.unit.serve.submissions import NOW, Machine, add_machine
from verdikt.serve.app import WRITE_HEADER, build_app
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore

ORIGIN = "http://127.0.0.1:8787"


@dataclass
class Site:
    """A service with two organisations, and people of each role."""

    store: TeamStore
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW / 1e6))

    def __post_init__(self) -> None:
        self.service = Service(self.store, frozenset({ORIGIN}), self.clock)
        self.people = self.service.people
        self.app = build_app(self.service)
        self.machine: Machine = add_machine(self.store, team="web")
        self.other_machine: Machine = add_machine(self.store, "eve", "evil")

    def open_client(self) -> TestClient:
        """Return a client that is not signed in."""
        return TestClient(self.app, base_url=ORIGIN, raise_server_exceptions=False)

    def sign_in(self, *roles: str, other_organisation: bool = False) -> TestClient:
        """Return a client of a person with these roles."""
        organisation = (self.other_machine if other_organisation else self.machine).organisation
        subject = f"{organisation}-{'-'.join(roles)}"
        person = self.people.ensure_person(organisation, subject, "Ana", frozenset(roles), groups=["web"])
        client = self.open_client()
        assert (
            post(client, "/v1/sign-in", {"code": self.people.create_link(person, self.clock.now())}).status_code == 200
        )
        return client


def post(client: TestClient, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    """Send a write as a page of the service does."""
    return client.post(path, json=body or {}, headers={"Origin": ORIGIN, WRITE_HEADER: "1", **headers})
