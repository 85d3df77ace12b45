"""The pages in a real Chromium: what they show, by keyboard, and that nothing an agent wrote does anything."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.activity_log import open_activity_log
from tests.team_pages import measure_long_session, weigh_pages, write_long_session
from tests.unit.web.browser import (
    Complaints,
    check_accessibility,
    ensure_vendor_files,
    launch_browser,
    open_page,
    run_service,
)
from tests.unit.web.hostile import HOSTILE, check_page, count_elements
from verdikt.ledger.files import FileStore
from verdikt.ledger.log_file import hot_file_path
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import EntryKind, build_entry
from verdikt.serve import schema
from verdikt.serve.embedded import EmbeddedService
from verdikt.serve.people import Person
from verdikt.web.files import ROOT


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedService]:
    """Return a service on a short real log."""
    home = tmp_path_factory.mktemp("home")
    with open_activity_log(home) as log:
        log.prompt("11111111-aaaa", "Add a retry to the client in `src/client.py`")
        log.call("11111111-aaaa", "git status")
        log.call("11111111-aaaa", "rm -rf /home/dev/other/cache")
        log.call("11111111-aaaa", "npm publish --registry https://registry.internal")
        log.call("22222222-bbbb", "git push --force origin main", host="codex")
    with run_service(home) as embedded:
        yield embedded


@pytest.fixture
def page(browser: Browser, embedded: EmbeddedService) -> Iterator[Page]:
    """Return a signed-in page; whatever it complains about fails the test."""
    page, complaints = open_page(browser, embedded)
    yield page
    page.context.close()
    assert complaints == []


def address(embedded: EmbeddedService, path: str) -> str:
    """Return the address of a page."""
    return f"http://127.0.0.1:{embedded.port}{path}"


def test_a_newcomer_sees_their_last_session(page: Page) -> None:
    """The link leads to what happened; a click leads to why."""
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    page.get_by_text("Bash rm -rf /home/dev/other/cache").click()

    expect(page.locator(".detail")).to_contain_text("delete_outside")
    expect(page.locator(".detail")).to_contain_text("can't be undone")
    expect(page.locator(".detail")).to_contain_text("not run")
    expect(page.locator(".detail")).to_contain_text("replays to the same decision, byte for byte", timeout=60_000)
    expect(page.locator(".title")).to_have_text("Add a retry to the client in `src/client.py`")


def test_a_link_signs_in_one_browser_only(browser: Browser, embedded: EmbeddedService) -> None:
    """A link that was used says so, and the secret does not stay in the address."""
    link = embedded.create_link()
    pages = [browser.new_context().new_page() for _ in range(2)]
    pages[0].goto(link)
    expect(pages[0].get_by_role("heading", name="Now")).to_be_visible()
    pages[1].goto(link)

    expect(pages[1].get_by_role("status")).to_contain_text("used already or is too old")
    assert link.split("#")[1] not in pages[1].url
    pages[1].goto(address(embedded, "/sessions"))
    expect(pages[1].get_by_role("status")).to_contain_text("verdikt serve")
    for page in pages:
        page.context.close()


def test_everything_is_reached_by_keyboard(page: Page, embedded: EmbeddedService) -> None:
    """Pages, rows, details and search, without a mouse; the address follows."""
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page.locator(".row")).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("verdict:block host:claude")
    page.keyboard.press("Enter")
    expect(page.locator(".row")).to_have_count(1)
    assert "q=verdict%3Ablock+host%3Aclaude" in page.url
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".title")).to_be_visible()
    expect(page.locator(".row").first).to_be_visible()
    page.keyboard.press("]")
    expect(page.locator(".detail")).to_contain_text("delete_outside")
    page.keyboard.press("]")
    expect(page.locator(".detail")).to_contain_text("package_careful")
    page.keyboard.press("[")
    expect(page.locator(".detail")).to_contain_text("delete_outside")
    shared = page.url
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("previous and next ask or block")
    page.keyboard.press("Escape")
    page.goto(shared)
    expect(page.locator(".detail")).to_contain_text("delete_outside")
    page.go_back()
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="Machines")).to_be_visible()


def test_enter_belongs_to_what_has_the_focus(page: Page, embedded: EmbeddedService) -> None:
    """A link or a button that was reached by Tab is pressed; after `j` it opens the row."""
    page.goto(address(embedded, "/session/1?seq=2"))
    expect(page.locator(".detail dl")).to_be_visible()
    page.get_by_role("button", name="Verify").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".result")).to_contain_text("intact")
    page.get_by_role("link", name="Sessions").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    page.get_by_role("button", name="Search").focus()
    expect(page.locator(".row")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Verify")).to_be_visible()


def test_keys_scroll_what_does_not_fit(browser: Browser, embedded: EmbeddedService) -> None:
    """A page that was just opened has the focus; a part that was reached by Tab scrolls, and the list stays."""
    page, complaints = open_page(browser, embedded)
    page.set_viewport_size({"width": 1200, "height": 300})
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="Settings")).to_be_in_viewport()
    page.keyboard.press("End")
    expect(page.get_by_role("heading", name="Settings")).not_to_be_in_viewport()
    page.goto(address(embedded, "/session/1?seq=2"))
    expect(page.locator(".detail dl")).to_be_visible()
    page.locator(".detail").focus()
    page.keyboard.press("End")
    expect(page.locator(".detail .hash")).to_be_in_viewport()
    selected = page.url
    page.context.close()

    assert complaints == []
    assert selected.endswith("seq=2")


def test_keys_act_on_what_the_key_before_did(page: Page, embedded: EmbeddedService) -> None:
    """Keys that come faster than the screen is drawn are not lost, and do not act on what was shown before."""
    page.goto(address(embedded, "/sessions?q=verdict:block+host:claude"))
    expect(page.locator(".row")).to_have_count(1)
    # Real keys are separate tasks, between which promises are settled but nothing need be drawn.
    page.evaluate("""async () => { for (const key of ["j", "Enter"]) {
        dispatchEvent(new KeyboardEvent("keydown", { key }));
        const { port1, port2 } = new MessageChannel();
        await new Promise((done) => { port1.onmessage = done; port2.postMessage(0); });
    } }""")

    expect(page.locator(".title")).to_be_visible()


def test_a_request_that_failed_is_made_again(browser: Browser, embedded: EmbeddedService) -> None:
    """Neither the page nor the details of an entry stay empty because one answer was lost or cut off."""
    page, _ = open_page(browser, embedded)
    failing = {"/v1/me": 1, "/v1/entries/1/2": 2, "/v1/sessions/1/entries": 1}

    def answer(route: Route) -> None:
        path = route.request.url.partition("?")[0].removeprefix(address(embedded, ""))
        if failing.get(path, 0):
            failing[path] -= 1
            route.abort("connectionreset") if failing[path] else route.fulfill(status=200, body='{"entry": {')
        else:
            route.continue_()

    page.route("**/v1/**", answer)
    page.goto(address(embedded, "/session/1?seq=2"))
    expect(page.locator(".detail h2")).to_be_visible()
    page.context.close()

    assert set(failing.values()) == {0}


def test_a_slow_service_is_not_asked_twice_at_once(page: Page, embedded: EmbeddedService) -> None:
    """The rows of a session are asked for again only after they came: else they would stand there twice."""
    page.clock.install()
    waiting: list[Route] = []
    is_slow = True
    page.route("**/v1/sessions/1/entries**", lambda route: waiting.append(route) if is_slow else route.continue_())
    page.goto(address(embedded, "/session/1"))
    expect(page.locator(".freshness")).to_be_visible()
    page.clock.run_for(20_000)
    assert len(waiting) == 1
    is_slow = False
    waiting[0].continue_()
    expect(page.locator(".row").first).to_be_visible()
    page.clock.run_for(10_000)

    expect(page.locator(".seq", has_text=re.compile("^1$"))).to_have_count(1)


def test_a_session_is_verified_on_request(page: Page) -> None:
    """The page says how far the chain is intact."""
    page.get_by_text("Bash rm -rf /home/dev/other/cache").click()
    page.get_by_role("button", name="Verify").click()

    expect(page.get_by_text(re.compile("intact: [0-9]+ entries"))).to_be_visible()


def test_search_that_is_not_understood_says_why(page: Page, embedded: EmbeddedService) -> None:
    """The message of the service is shown, and the page stays."""
    # The browser itself logs a request that fails, which is not the page's complaint.
    page.goto(address(embedded, "/integrity?q=guard:delete_*"))
    expect(page.locator(".row")).to_have_count(1)
    expect(page.get_by_role("link", name="Export lines")).to_have_attribute(
        "href", "/v1/export?format=jsonl&q=guard%3Adelete_*"
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Export lines").click()
    line = json.loads(Path(download.value.path()).read_bytes())
    assert line["body"]["receipt"]["verdict"]["guard"] == "delete_outside"


def test_new_entries_appear_by_themselves(browser: Browser, tmp_path: Path) -> None:
    """A decision comes to the screen without a reload; `benchmarks/team.py` holds how soon."""
    with open_activity_log(tmp_path) as log:
        log.call("live", "git status")
        with run_service(tmp_path) as embedded:
            page, complaints = open_page(browser, embedded)
            expect(page.locator(".row")).to_have_count(1)
            log.call("live", "git push --force origin main")
            expect(page.get_by_text("Bash git push --force origin main")).to_be_visible()
            page.context.close()

    assert complaints == []


def test_an_admin_makes_a_code_and_revokes_a_machine(browser: Browser, tmp_path: Path) -> None:
    """Settings shows the command for a new machine; revoking takes two presses."""
    with open_activity_log(tmp_path) as log:
        log.call("s", "git status")
    with run_service(tmp_path) as embedded:
        page, complaints = open_page(browser, embedded)
        page.goto(address(embedded, "/settings"))
        page.get_by_role("button", name="Make a code").click()
        expect(page.get_by_text(re.compile("verdikt ship enrol http://127.0.0.1:[0-9]+ --code vde_"))).to_be_visible()
        page.get_by_role("button", name="Revoke", exact=True).click()
        assert embedded.store.read_as(1).list_machines()[0].revoked is None
        page.get_by_role("button", name="Really revoke").click()
        expect(page.get_by_role("button", name="revoked")).to_be_visible()
        page.context.close()
        revoked = embedded.store.read_as(1).list_machines()[0].revoked

    assert complaints == []
    assert revoked is not None


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_their_window(browser: Browser, embedded: EmbeddedService, width: int, dark: bool) -> None:
    """No page scrolls sideways, and text differs enough from what is behind it."""
    page, complaints = open_page(browser, embedded, width=width, dark=dark)
    for path in ("/", "/sessions", "/session/1?seq=2", "/integrity?q=verdict:block", "/settings"):
        page.goto(address(embedded, path))
        expect(page.get_by_role("heading").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("Math.max(...[...document.querySelectorAll('.row')].map(r => r.scrollWidth), 0)") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto(address(embedded, "/sessions"))
    title = page.get_by_text("Add a retry to the client")
    expect(title).to_be_visible()
    box = title.bounding_box()
    page.context.close()

    assert complaints == []
    assert (background == "rgb(20, 22, 26)") == dark
    assert box is not None
    assert box["width"] > 300, "what a session was asked for can be read"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_fault_in_any_page(browser: Browser, embedded: EmbeddedService, dark: bool) -> None:
    """Nor in the list of keys over it."""
    page, complaints = open_page(browser, embedded, dark=dark)
    for path in ("/", "/sessions", "/session/1?seq=4", "/integrity?q=verdict:block", "/approvals", "/settings"):
        page.goto(address(embedded, path))
        expect(page.get_by_role("heading").first).to_be_visible()
        if path.startswith("/session"):
            expect(page.locator(".row").first).to_be_visible()
        if "seq" in path:
            expect(page.locator(".detail dl")).to_be_visible()
        check_accessibility(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check_accessibility(page)
    page.context.close()

    assert complaints == []


def test_a_linked_entry_is_in_view_and_a_list_that_was_scrolled_stays(browser: Browser, tmp_path: Path) -> None:
    """Also when the title and the counts come later and make the list shorter."""
    with open_activity_log(tmp_path) as log:
        log.prompt("long", "A task with a title")
        for number in range(60):
            log.call("long", f"git log -{number + 1}")
    with run_service(tmp_path) as embedded:
        page, complaints = open_page(browser, embedded)
        waiting: list[Route] = []
        page.route("**/v1/sessions/1", lambda route: route.continue_() if waiting else waiting.append(route))
        page.goto(address(embedded, "/session/1?seq=60"))
        expect(page.locator(".row.selected")).to_be_in_viewport(ratio=1)
        waiting[0].continue_()
        expect(page.locator(".title")).to_be_visible()
        expect(page.locator(".row.selected .seq")).to_have_text("60")
        is_in_view = "row => row.getBoundingClientRect().bottom <= row.closest('.list').getBoundingClientRect().bottom"
        page.wait_for_timeout(300)
        assert page.locator(".row.selected").evaluate(is_in_view)
        page.locator(".list").evaluate("element => { element.scrollTop = 0; }")
        expect(page.locator(".row[aria-posinset='1']")).to_be_in_viewport()
        page.set_viewport_size({"width": 1200, "height": 700})
        page.wait_for_timeout(300)
        assert page.locator(".list").evaluate("element => element.scrollTop") == 0
        page.context.close()

    assert complaints == []


def test_nothing_that_an_agent_wrote_does_anything(browser: Browser, tmp_path: Path) -> None:
    """Markup, escapes and invisible characters in every field of every page are shown, and never run."""
    entries = write_hostile_log(tmp_path)
    with run_service(tmp_path) as embedded:
        name_with_markup(embedded)
        page, complaints = open_page(browser, embedded)
        expect(page.locator(".row").first).to_be_visible()
        elements = count_elements(page)
        for path in (
            "/",
            "/sessions",
            "/integrity",
            "/settings",
            f"/integrity?q={'%3Cimg%20src=x%20onerror=alert(1)%3E'}",
        ):
            page.goto(address(embedded, path))
            expect(page.get_by_role("heading").first).to_be_visible()
            if path == "/settings":
                # Security keys, places, machines with their state, people, tokens and events have come.
                expect(page.get_by_text("__proto__")).to_have_count(9)
            page.wait_for_timeout(200)
            check_page(page)
        # The last entry by its address, and then each by the key that goes to the one before it.
        page.goto(address(embedded, f"/session/{find_chain(embedded)}?seq={entries}"))
        for seq in range(entries, 0, -1):
            expect(page.locator(".detail h2")).to_contain_text(f"#{seq} ")
            while (closed := page.locator("details:not([open]) > summary")).count():
                closed.first.click()
            check_page(page)
            page.keyboard.press("k")
        page.context.close()

    assert complaints == []
    assert elements == 0


def name_with_markup(embedded: EmbeddedService) -> None:
    """Give machines, people, tokens, security keys, places and events every hostile text as a name."""
    service, now = embedded.service, 1_793_000_000.0
    organisation = embedded.store.ensure_organisation("local", 0)
    owner = Person(1, organisation, "you", frozenset({"admin"}))
    for number, text in enumerate(HOSTILE):
        machine = embedded.store.add_machine(organisation, text, bytes([number]) * 32, 1)
        with embedded.store.database.begin_write() as connection:
            table = schema.machine
            status = json.dumps({"lost": [text], "faults": [text], "policy": text})
            values = {"version": text, "team": text, "status": status}
            connection.execute(table.update().where(table.c.id == machine).values(**values))
            person = {"organisation": organisation, "person": owner.id}
            place = {"kind": text, "address": text, "group": text, "mode": text, "secret": text, "created": 1}
            connection.execute(schema.notifier.insert().values(**{**person, "person": None}, **place))
            key = {"name": text, "credential_id": text.encode(), "public_key": b"", "sign_count": 0, "added": 1}
            connection.execute(schema.credential.insert().values(**person, **key))
        service.people.ensure_person(organisation, text, text, frozenset({"viewer"}), [text])
        service.people.record_event(organisation, text, text, text, now)
        service.tokens.create_token(owner, text, frozenset({"read"}), 1, service.clock.now())


def write_hostile_log(home: Path) -> int:
    """Write a session in which every text is hostile; return the number of its entries."""
    FileStore(home, durable=False).close()
    lines, head = [], ChainHead()
    for text in HOSTILE:
        action = {"tool": text, "payload": {text: text}, "host": text, "cwd": text, "kind": "bash"}
        verdict = {"kind": "block", "guard": text, "reason": text, "fix": text}
        effect = {"class": text, "what": text, "targets": [{"text": text}], "certainty": text}
        receipt = {"action": action, "verdict": verdict, "effects": [effect], "dominant": text, "facts": {text: text}}
        for kind, body in (
            (EntryKind.DECISION, {"receipt": receipt, "receipt_sha256": text, "call_id": text}),
            (EntryKind.CONTRACT, {"objective": text, text: text}),
            (EntryKind.TOOL_CALL, {**action, "call_id": text, "success": text, "exit_code": text}),
        ):
            entry, line = build_entry(
                seq=head.seq + 1, ts=1, session=HOSTILE[1], kind=kind, body=body, prev=head.hash, kid=""
            )
            head = ChainHead(entry.seq, entry.hash)
            lines.append(line)
    hot_file_path(home / "ledger", HOSTILE[1]).write_bytes(b"".join(lines))
    return head.seq


def find_chain(embedded: EmbeddedService) -> int:
    """Return the id of the hostile session."""
    with embedded.store.database.begin_read() as connection:
        return int(connection.exec_driver_sql("SELECT max(id) FROM chain").scalar_one())


def test_a_session_of_100_000_entries_is_usable(browser: Browser, tmp_path: Path) -> None:
    """The list shows its end, holds few elements, and follows each key; `benchmarks/team.py` holds how soon."""
    write_long_session(tmp_path)
    measure_long_session(browser, tmp_path, moves=30)


def test_pages_weigh_little() -> None:
    """All files together, compressed, and none of them names another place."""
    ensure_vendor_files()
    files = [path for path in ROOT.rglob("*") if path.is_file()]

    assert weigh_pages() < 120_000
    own = [path for path in files if path.parent == ROOT and path.suffix != ".svg"]
    assert [path.name for path in own if b"http://" in path.read_bytes() or b"https://" in path.read_bytes()] == []


def test_complaints_are_heard(browser: Browser, embedded: EmbeddedService) -> None:
    """The listener of these tests hears an error, and the policy stops markup that a script would make."""
    page, complaints = open_page(browser, embedded)
    outcome = page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch { return 'refused'; } })()"
    )
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw new Error('heard') })")
    page.context.close()

    assert outcome == "refused"
    assert isinstance(complaints, Complaints)
    assert any("heard" in complaint for complaint in complaints)
