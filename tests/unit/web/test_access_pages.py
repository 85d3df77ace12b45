"""Signing in by an identity provider, tokens and device codes, in a real Chromium."""

import re
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.identity_provider import run_provider
from tests.unit.web.browser import Complaints, ensure_vendor_files
from verdikt.serve.oidc import OidcSettings
from verdikt.serve.store import TeamStore
from verdikt.serve.team_service import ORGANISATION, TeamService

USERS = ({"sub": "ana", "name": "Ana <b>", "groups": ["platform"]}, {"sub": "eve", "name": "Eve"})


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamService]:
    """Run a replica with a provider."""
    ensure_vendor_files()
    url = f"sqlite:///{tmp_path_factory.mktemp('team') / 'team.db'}"
    with TeamStore(url, create=True) as store:
        store.ensure_organisation(ORGANISATION, 1)
    with run_provider(USERS) as issuer:
        settings = OidcSettings(issuer, "verdikt", "secret", {"admin": ("platform",), "developer": ("platform",)})
        with TeamService(url, "127.0.0.1:0", "", oidc=settings) as team:
            started = threading.Event()
            thread = threading.Thread(target=team.run, args=(started.set,))
            thread.start()
            started.wait(30)
            yield team
            team.stop()
            thread.join()


def test_a_person_signs_in_makes_a_token_and_lets_a_machine_in(browser: Browser, team: TeamService) -> None:
    """By the provider's page and back; the strict cookie is there although another site led here."""
    page = browser.new_context().new_page()
    page.goto(f"http://{team.address}/settings?from=mail")
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=sub]").fill("ana")
    page.get_by_role("button", name=re.compile("Authorize")).first.click()
    complaints = Complaints()
    complaints.watch(page, f"http://{team.address}/")
    # The page that they wanted, not the first one.
    page.wait_for_url(f"http://{team.address}/settings?from=mail")
    expect(page.get_by_text("Ana <b>, admin, developer")).to_be_visible()
    page.get_by_label("Name of the token").fill("ci")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("shown once: vdk_[0-9a-f]{16}_"))).to_be_visible()
    begun = team.service.devices.begin("ana-laptop", b"k" * 32, team.clock.now())
    assert begun is not None
    page.get_by_label("Code that a machine shows").fill(begun.code.lower())
    page.keyboard.press("Enter")
    expect(page.get_by_text("ana-laptop, key")).to_be_visible()
    page.get_by_label("seen by").select_option("platform")
    page.get_by_role("button", name="It is mine").click()
    expect(page.get_by_text(re.compile("machine [0-9]+ may send now"))).to_be_visible()
    page.context.close()

    assert complaints == []
    assert [machine.team for machine in team.store.read_as(1).list_machines()] == ["platform"]


def test_a_person_without_a_role_reads_why(browser: Browser, team: TeamService) -> None:
    """The page says it, and there is a way to begin again."""
    page = browser.new_context().new_page()
    page.goto(f"http://{team.address}/sessions")
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=sub]").fill("eve")
    page.get_by_role("button", name=re.compile("Authorize")).first.click()
    expect(page.get_by_text("you have no role here")).to_be_visible()
    expect(page.get_by_role("link", name="Begin again")).to_be_visible()
    page.context.close()
