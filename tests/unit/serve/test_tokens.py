"""Tokens of programs: what they can do, and that only their digests are stored."""

import secrets
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cleanup import close_after_test
from tests.unit.serve.http_client import Site, post
from tests.unit.serve.test_app import call_route
from tests.unit.team.chains import build_lines
from verdikt.serve.api import ROUTES
from verdikt.serve.people import ROLES
from verdikt.serve.store import TeamStore

DAY = 86_400


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a service with one session."""
    site = Site(close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True)))
    site.machine.send(*build_lines("s", range(1, 21)))
    return site


def make_token(site: Site, *scopes: str, days: int = 30) -> str:
    """Return a token of a person with every role."""
    body = {"name": "ci", "scopes": list(scopes), "days": days}
    return str(post(site.sign_in(*ROLES), "/v1/tokens", body).json()["token"])


def open_program(site: Site, token: str) -> TestClient:
    """Return a client that sends a token."""
    client = site.open_client()
    client.headers["Authorization"] = f"Bearer {token}"
    return client


def test_a_token_reads_within_its_scopes_and_never_writes(site: Site) -> None:
    """Each route, with each scope: what is not named is refused, whatever the person may do."""
    for scope in ("read", "export"):
        client = open_program(site, make_token(site, scope))
        for route in ROUTES:
            if route.roles:
                expected = 200 if not route.is_write and route.scope == scope else 403
                assert call_route(client, route, site).status_code == expected, (scope, route.path)
        assert client.get("/v1/feed").status_code == 403


def test_a_token_ends(site: Site) -> None:
    """By its time, by being revoked, and with its person; it is not taken for a cookie or the other way round."""
    short, long, revoked = make_token(site, "read", days=1), make_token(site, "read"), make_token(site, "read")
    person = site.sign_in(*ROLES)
    newest = person.get("/v1/tokens").json()["tokens"][0]
    assert newest["kid"] == revoked.split("_")[1]
    assert post(person, f"/v1/tokens/{newest['id']}/revocation").status_code == 200

    assert open_program(site, short).get("/v1/me").status_code == 200
    assert open_program(site, revoked).get("/v1/me").status_code == 401
    site.clock.seconds += DAY + 1
    assert open_program(site, short).get("/v1/me").status_code == 401
    assert open_program(site, long).get("/v1/me").status_code == 200
    organisation = site.machine.organisation
    site.people.set_disabled(organisation, site.people.list_people(organisation)[0]["id"], disabled=True)
    assert open_program(site, long).get("/v1/me").status_code == 401
    client = site.open_client()
    client.cookies.set("verdikt_login", long)
    assert client.get("/v1/me").status_code == 401


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "A", lambda t: t[:-1] + "!", lambda t: "vdk__"])
def test_a_wrong_token_is_refused(site: Site, change: object) -> None:
    """Every other text, also one with a known key id."""
    token = make_token(site, "read")
    assert callable(change)

    assert open_program(site, change(token)).get("/v1/me").status_code == 401
    assert open_program(site, token[:-2] + ("AA" if token[-2:] != "AA" else "BB")).get("/v1/me").status_code == 401


def test_the_secret_is_not_stored_nor_listed(site: Site, tmp_path: Path) -> None:
    """Who reads the database or the list of tokens cannot use one."""
    _, kid, secret = make_token(site, "read").split("_", 2)
    listed = site.sign_in("admin").get("/v1/tokens").text
    site.store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert (kid in listed, secret in listed) == (True, False)
    assert (kid.encode() in stored, secret.encode() in stored) == (True, False)


@pytest.mark.parametrize(
    "body", [{"days": 0}, {"days": 366}, {"days": "1"}, {"scopes": []}, {"scopes": ["vote"]}, {"name": "x" * 101}]
)
def test_a_token_has_limits(site: Site, body: dict[str, object]) -> None:
    """At most a year, known scopes, a short name."""
    assert post(site.sign_in("viewer"), "/v1/tokens", body).status_code == 400


def test_tokens_and_people_come_in_pages(site: Site) -> None:
    """Each once; people by a part of their name or address alone, too."""
    for _ in range(5):
        make_token(site, "read")
    organisation = site.machine.organisation
    for name in ("Cleo", "Ben", "Cleo", "Eve"):
        site.people.ensure_person(organisation, f"{name}{secrets.token_hex(2)}", name, frozenset({"viewer"}))
    site.people.ensure_person(site.other_machine.organisation, "x", "Cleo", frozenset({"viewer"}))
    admin = site.sign_in("admin")

    def list_all(path: str, name: str, **query: str) -> list[Any]:
        rows, cursor = [], ""
        while True:
            page = admin.get(path, params={"limit": "2", "cursor": cursor, **query}).json()
            rows += page[name]
            cursor = page["cursor"]
            if not cursor:
                return rows

    ids = [token["id"] for token in list_all("/v1/tokens", "tokens")]
    assert (len(ids), ids) == (5, sorted(set(ids), reverse=True))
    names = [person["name"] for person in list_all("/v1/people", "people")]
    assert names == ["Ana", "Ana", "Ben", "Cleo", "Cleo", "Eve"]
    assert [person["name"] for person in list_all("/v1/people", "people", q="LE")] == ["Cleo", "Cleo"]


def test_a_cursor_tells_nothing_of_a_person_of_another_organisation(site: Site) -> None:
    """A page that begins after them is empty: which of the own people come after them would tell their name."""
    foreign = site.people.ensure_person(site.other_machine.organisation, "aaron", "Aaron", frozenset({"viewer"}))
    admin = site.sign_in("admin")

    assert admin.get(f"/v1/people?cursor={foreign}").json() == {"people": [], "cursor": ""}


def test_a_group_without_a_name_is_none(site: Site) -> None:
    """A machine without a team is that of no group, whatever the provider names."""
    subject = f"{site.machine.organisation}-viewer"
    client = site.sign_in("viewer")
    site.people.ensure_person(
        site.machine.organisation, subject, "Ana", frozenset({"viewer"}), groups=["", "web", "a\nb"]
    )

    assert client.get("/v1/me").json()["groups"] == ["web"]


def test_people_see_and_revoke_their_own_tokens(site: Site) -> None:
    """Another person's token is not found; an administrator's hand reaches all."""
    make_token(site, "read")
    viewer, admin = site.sign_in("viewer"), site.sign_in("admin")
    token = admin.get("/v1/tokens").json()["tokens"][0]["id"]

    assert viewer.get("/v1/tokens").json()["tokens"] == []
    assert post(viewer, f"/v1/tokens/{token}/revocation").status_code == 404
    assert post(admin, f"/v1/tokens/{token}/revocation").status_code == 200
