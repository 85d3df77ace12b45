"""Sign-in by a real identity provider on loopback: who comes in with which roles, and what is refused."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.testclient import TestClient

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.identity_provider import run_provider
from tests.unit.serve.http_client import ORIGIN, Site, post
from verdikt.errors import ServiceError
from verdikt.observe.clock import SystemClock
from verdikt.serve.oidc import OidcSettings, OidcSignIn, check_address, load_settings
from verdikt.serve.store import TeamStore

USERS = (
    {"sub": "ana", "name": "Ana", "email": "ana@example.com", "groups": ["platform", "release"]},
    {"sub": "bo", "name": "Bo", "email": "bo@example.com", "email_verified": False, "groups": ["web"]},
    {"sub": "eve", "name": "Eve", "groups": "platform"},
)
ROLES = {"admin": ("platform",), "approver": ("release",), "viewer": ("web",)}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Run a provider."""
    with run_provider(USERS) as issuer:
        yield issuer


@pytest.fixture
def site(tmp_path: Path, issuer: str) -> Site:
    """Return a service that signs people in by the provider; the time is the real one, as the provider's is."""
    store = close_after_test(TeamStore(f"sqlite:///{tmp_path / 'team.db'}", create=True))
    site = Site(store, FakeClock(SystemClock().now()))
    settings = OidcSettings(issuer, "verdikt", "secret", ROLES, organisation="acme")
    site.service.oidc = OidcSignIn(settings, store.database, f"{ORIGIN}/oidc")
    return site


def authorise(client: TestClient, subject: str) -> dict[str, str]:
    """Begin to sign in, and do at the provider what a person does; return what the browser comes back with."""
    address = post(client, "/v1/sign-in/oidc").json()["url"]
    answer = httpx.post(address, data={"sub": subject})
    assert answer.status_code == 302, answer.text
    location = urlsplit(answer.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == f"{ORIGIN}/oidc"
    return {name: values[0] for name, values in parse_qs(location.query).items()}


def test_groups_give_roles_and_a_cookie_is_set(site: Site) -> None:
    """The provider's groups become groups here; a role that excludes others wins over them."""
    client = site.open_client()
    answer = authorise(client, "ana")
    response = post(client, "/v1/sign-in/oidc/answer", {"code": answer["code"], "state": answer["state"]})
    me = client.get("/v1/me").json()

    assert response.status_code == 200
    assert all(part in response.headers["set-cookie"] for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert (me["name"], me["roles"], me["groups"]) == ("Ana", ["admin"], ["platform", "release"])
    people = client.get("/v1/people").json()["people"]
    assert [(person["name"], person["email"]) for person in people] == [("Ana", "ana@example.com")]
    assert [event["verb"] for event in client.get("/v1/events").json()["events"]] == ["sign_in"]


def test_an_unproven_address_is_not_taken_over(site: Site) -> None:
    """It could be that of another person."""
    client, admin = site.open_client(), site.sign_in("admin")
    assert post(client, "/v1/sign-in/oidc/answer", authorise(client, "bo")).status_code == 200

    assert {person["name"]: person["email"] for person in admin.get("/v1/people").json()["people"]}["Bo"] == ""


def test_a_person_without_a_role_stays_outside(site: Site) -> None:
    """Groups that are no list are none."""
    client = site.open_client()
    response = post(client, "/v1/sign-in/oidc/answer", authorise(client, "eve"))

    assert response.status_code == 403
    assert "you have no role here" in response.json()["error"]
    assert client.get("/v1/me").status_code == 401


def test_an_answer_is_used_once_by_the_browser_that_asked(site: Site) -> None:
    """A second use, another browser, another state, a wrong code and a late answer are refused."""
    client = site.open_client()
    answer = authorise(client, "ana")
    other = site.open_client()
    authorise(other, "ana")
    assert post(other, "/v1/sign-in/oidc/answer", answer).status_code == 403
    assert post(client, "/v1/sign-in/oidc/answer", {**answer, "state": "x"}).status_code == 403
    assert post(client, "/v1/sign-in/oidc/answer", {"code": "x"}).status_code == 400
    assert post(client, "/v1/sign-in/oidc/answer", answer).status_code == 200
    assert post(client, "/v1/sign-in/oidc/answer", answer).status_code == 403
    wrong = {**authorise(other, "ana"), "code": "wrong"}
    assert post(other, "/v1/sign-in/oidc/answer", wrong).status_code == 403
    late = authorise(other, "ana")
    site.clock.seconds += 601
    assert "took too long" in post(other, "/v1/sign-in/oidc/answer", late).json()["error"]


@pytest.mark.parametrize(
    ("client_id", "issuer_suffix"), [("other-client", ""), ("verdikt", "/")], ids=["audience", "issuer"]
)
def test_a_token_for_others_is_refused(site: Site, client_id: str, issuer_suffix: str) -> None:
    """What the provider signed for another client, or under another name, signs in no one."""
    client = site.open_client()
    answer = authorise(client, "ana")
    oidc = site.service.oidc
    assert oidc is not None
    oidc.settings = replace(oidc.settings, client_id=client_id, issuer=oidc.settings.issuer + issuer_suffix)

    assert post(client, "/v1/sign-in/oidc/answer", answer).status_code == 403


def test_a_disabled_person_stays_outside(site: Site) -> None:
    """Also one whom the provider vouches for, and with the cookie that they have."""
    client, admin = site.open_client(), site.sign_in("admin")
    post(client, "/v1/sign-in/oidc/answer", authorise(client, "bo"))
    bo = next(person["id"] for person in admin.get("/v1/people").json()["people"] if person["name"] == "Bo")
    assert post(admin, f"/v1/people/{bo}/access", {"allowed": False}).status_code == 200

    assert client.get("/v1/me").status_code == 401
    response = post(client, "/v1/sign-in/oidc/answer", authorise(client, "bo"))
    assert (response.status_code, "disabled" in response.json()["error"]) == (403, True)


def test_a_provider_that_is_gone_is_said(site: Site) -> None:
    """The page shows a reason, and nothing about the inside."""
    oidc = site.service.oidc
    assert oidc is not None
    oidc.settings = replace(oidc.settings, issuer="http://127.0.0.1:1")
    response = post(site.open_client(), "/v1/sign-in/oidc")

    assert (response.status_code, response.json()["error"]) == (
        502,
        "the identity provider does not answer (ConnectError)",
    )


def test_settings_are_read_from_a_file(tmp_path: Path) -> None:
    """The secret is in a file of its own, or in the environment."""
    path = tmp_path / "oidc.toml"
    path.write_text('issuer = "https://login.example"\nclient_id = "v"\n[roles]\nadmin = ["a"]\nviewer = ["*"]\n')
    settings = load_settings(path, {"VERDIKT_OIDC_SECRET": "s"})

    assert settings.client_secret == "s"
    assert settings.find_roles(frozenset()) == {"viewer"}
    assert settings.find_roles(frozenset({"a"})) == {"admin", "viewer"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "cannot read"),
        ('issuer = "https://x"\nclient_id = "v"\n[roles]\nking = ["a"]\n', "expected roles among"),
        ('issuer = "http://x"\nclient_id = "v"\n[roles]\n', "with `https://`"),
        ('issuer = "https://x"\nclient_id = "v"\nother = 1\n[roles]\n', "cannot read"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    """The service does not start with half of them."""
    path = tmp_path / "oidc.toml"
    path.write_text(text)
    with pytest.raises(ServiceError, match=re.escape(problem)):
        load_settings(path, {})


@pytest.mark.parametrize("url", ["http://login.example", "ftp://x", "https://", "", "http://127.0.0.1.evil.example"])
def test_nothing_is_sent_in_the_clear(url: str) -> None:
    """Loopback alone needs no TLS."""
    with pytest.raises(ServiceError):
        check_address(url)
