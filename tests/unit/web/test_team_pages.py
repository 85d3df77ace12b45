"""The pages of a team in a real Chromium: who may do what, machines, and names that try to do something."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.unit.serve.team_server import TeamServer, run_team
from tests.unit.web.browser import Complaints, ensure_vendor_files
from tests.unit.web.hostile import HOSTILE, check_page
from verdikt.serve import schema
from verdikt.serve.people import Person

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """Run a replica to which one machine has sent its log."""
    ensure_vendor_files()
    directory = tmp_path_factory.mktemp("team")
    with run_team(f"sqlite:///{directory / 'team.db'}") as server:
        machine = server.enrol(directory / "ana-laptop")
        machine.log("s1", 3, summary="x")
        machine.open_shipper().ship_new_lines()
        yield server


@pytest.fixture
def open_as(browser: Browser, server: TeamServer) -> Iterator[OpenPage]:
    """Return what opens a page for a person with some roles; what any page complains about fails the test."""
    complaints, contexts = Complaints(), []

    def open_page(path: str, *roles: str) -> Page:
        people = server.team.service.people
        person = people.ensure_person(server.organisation, "-".join(roles), "Ana", frozenset(roles))
        context = browser.new_context(locale="en-GB", timezone_id="UTC")
        contexts.append(context)
        page = context.new_page()
        complaints.watch(page, f"{server.url}/")
        page.goto(f"{server.url}/sign-in#{people.create_link(person, server.team.clock.now())}")
        expect(page.get_by_role("heading", name="Now")).to_be_visible()
        page.goto(server.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def test_an_admin_makes_a_code_and_revokes_a_machine(open_as: OpenPage, server: TeamServer, tmp_path: Path) -> None:
    """Settings shows the command for a new machine; revoking takes two presses, and the list says so."""
    machine = server.enrol(tmp_path / "lost-laptop")
    page = open_as("/settings", "admin")
    page.get_by_role("button", name="Make a code").click()
    expect(page.get_by_text(re.compile("verdikt ship enrol http://127.0.0.1:[0-9]+ --code vde_"))).to_be_visible()
    row = page.get_by_role("row", name=re.compile("^lost-laptop"))
    row.get_by_role("button", name="Revoke", exact=True).click()
    assert find_revoked(server) == []
    row.get_by_role("button", name="Really revoke").click()
    expect(row).to_contain_text("revoked")

    assert find_revoked(server) == [machine.id]


def test_a_large_fleet_is_read_by_what_is_wrong_with_it(browser: Browser, tmp_path: Path) -> None:
    """Page by page, or by a trait or a name, which the address says; numbers on the first page lead to these lists."""
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        store, organisation, now = server.team.store, server.organisation, int(server.team.clock.now() * 1e6)
        machines = [store.add_machine(organisation, f"m{n:03}", bytes([n]) * 32, now) for n in range(130)]
        with store.database.begin_write() as connection:
            table = schema.machine
            connection.execute(table.update().values(seen=now))
            lost = table.update().where(table.c.id.in_(machines[120:123]))
            connection.execute(lost.values(status=json.dumps({"lost": ["claude"]})))
        people, complaints = server.team.service.people, Complaints()
        admin = people.ensure_person(organisation, "a", "Ana", frozenset({"admin"}))
        page = browser.new_context(locale="en-GB").new_page()
        complaints.watch(page, f"{server.url}/")
        page.goto(f"{server.url}/sign-in#{people.create_link(admin, server.team.clock.now())}")
        page.get_by_role("link", name="3 machines").click()
        expect(page.get_by_role("cell", name=re.compile("^m"))).to_have_text(["m120 ", "m121 ", "m122 "])
        page.get_by_role("button", name="All 130").click()
        expect(page.get_by_role("cell", name=re.compile("^m"))).to_have_count(100)
        page.get_by_role("button", name="More machines").click()
        expect(page.get_by_role("cell", name=re.compile("^m"))).to_have_count(130)
        page.get_by_role("main").get_by_label("Search").fill("m04")
        page.keyboard.press("Enter")
        expect(page.get_by_role("cell", name=re.compile("^m"))).to_have_count(10)
        assert page.url == f"{server.url}/settings?q=m04"
        page.get_by_label("machines", exact=True).fill("50")
        page.get_by_label("team", exact=True).fill("web")
        page.keyboard.press("Enter")
        expect(page.get_by_text("for 50 machines, for a day")).to_be_visible()
        page.context.close()

    assert complaints == []


def test_the_record_of_the_service_is_read_to_its_beginning_and_verified(open_as: OpenPage, server: TeamServer) -> None:
    """Older rows are asked for; the chain of all is verified on request."""
    people, now = server.team.service.people, server.team.clock.now()
    for number in range(120):
        people.record_event(server.organisation, "Ben", "look", f"at {number}", now)
    page = open_as("/settings", "auditor")
    expect(page.get_by_text("look at 119", exact=True)).to_be_visible()
    expect(page.get_by_text("look at 0", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_text("look at 0", exact=True)).to_have_count(1)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("intact", exact=True).last).to_be_visible()


def find_revoked(server: TeamServer) -> list[int]:
    """Return the machines that may no longer send."""
    machines = server.team.store.read_as(server.organisation).list_machines()
    return [machine.id for machine in machines if machine.revoked is not None]


@pytest.mark.parametrize(("role", "offered"), [("auditor", True), ("viewer", False)])
def test_export_is_offered_to_those_who_may(open_as: OpenPage, role: str, offered: bool) -> None:
    """A button that could only fail is not there."""
    page = open_as("/integrity", role)
    expect(page.get_by_text(re.compile("as of"))).to_be_visible()

    expect(page.get_by_role("link", name="JSONL")).to_have_count(int(offered))


def test_a_person_without_a_login_reads_how_to_get_in(browser: Browser, server: TeamServer) -> None:
    """Without a provider, a link is made for them; nothing of the embedded form is said."""
    page = browser.new_context().new_page()
    page.goto(f"{server.url}/approvals?id=1")

    expect(page.get_by_role("status")).to_contain_text("Ask an administrator for a link")
    page.context.close()


def test_no_name_in_settings_does_anything(open_as: OpenPage, server: TeamServer) -> None:
    """Security keys, places, machines with their state, people, tokens and events of every name are only shown."""
    page = open_as("/", "admin", "auditor")
    name_with_markup(server, page.evaluate("async () => (await (await fetch('/v1/me')).json()).id"))
    page.goto(f"{server.url}/settings")
    expect(page.get_by_text("__proto__")).to_have_count(9)
    check_page(page)
    page.set_viewport_size({"width": 360, "height": 800})

    assert page.locator("main").evaluate("main => main.scrollWidth") <= 360, "the tables fit a phone"


def name_with_markup(server: TeamServer, person: int) -> None:
    """Give machines, people, tokens, security keys, places and events every hostile text as a name."""
    service, store, organisation = server.team.service, server.team.store, server.organisation
    now, owner = service.clock.now(), Person(person, organisation, "you", frozenset({"admin"}))
    for number, text in enumerate(HOSTILE):
        machine = store.add_machine(organisation, text, bytes([number]) * 32, 1)
        status = json.dumps({"lost": [text], "faults": [text], "policy": text})
        values = {"version": text, "team": text, "status": status}
        place = {"kind": text, "address": text, "group": text, "mode": text, "secret": text, "created": 1}
        key = {"name": text, "credential_id": text.encode(), "public_key": b"", "sign_count": 0, "added": 1}
        with store.database.begin_write() as connection:
            table = schema.machine
            connection.execute(table.update().where(table.c.id == machine).values(**values))
            connection.execute(schema.notifier.insert().values(organisation=organisation, person=None, **place))
            connection.execute(schema.credential.insert().values(organisation=organisation, person=person, **key))
        service.people.ensure_person(organisation, text, text, frozenset({"viewer"}), [text])
        service.people.record_event(organisation, text, text, text, now)
        service.tokens.create_token(owner, text, frozenset({"read"}), 1, now)
