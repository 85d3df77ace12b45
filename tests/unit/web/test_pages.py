"""The pages in a real Chromium: what they show, by keyboard, and that nothing an agent wrote does anything."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.activity_log import PROJECT, open_activity_log
from tests.team_pages import measure_long_session, weigh_pages, write_long_session
from tests.unit.web.browser import (
    Complaints,
    address,
    check_accessibility,
    ensure_vendor_files,
    open_page,
    run_service,
)
from tests.unit.web.hostile import HOSTILE, check_page, count_elements
from verdikt.ledger.files import FileStore
from verdikt.ledger.log_file import hot_file_path
from verdikt.model.action import Action, ActionKind
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import EntryKind, build_entry
from verdikt.serve.embedded import EmbeddedService
from verdikt.web.files import ROOT


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
    expect(page.get_by_role("link", name="JSONL")).to_have_attribute(
        "href", "/v1/export?format=jsonl&q=guard%3Adelete_*"
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="JSONL").click()
    line = json.loads(Path(download.value.path()).read_bytes())
    assert line["body"]["receipt"]["verdict"]["guard"] == "delete_outside"


def test_an_address_that_is_none_of_ours_leads_on(browser: Browser, embedded: EmbeddedService) -> None:
    """The page says so, in the frame of all pages; programs get a short answer."""
    page, _ = open_page(browser, embedded)
    response = page.goto(address(embedded, "/nowhere"))
    assert response is not None
    assert response.status == 404
    page.get_by_role("link", name="What happens now").click()
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    page.context.close()


def test_what_is_for_many_is_not_shown_to_one(page: Page, embedded: EmbeddedService) -> None:
    """The service of one machine shows no way to let others in, nor to shut this machine out."""
    page.goto(address(embedded, "/settings"))
    expect(page.get_by_role("heading", name="Machines")).to_be_visible()
    expect(page.get_by_role("link", name="3", exact=True)).to_have_attribute("href", re.compile("/sessions.q=machine"))

    expect(page.get_by_role("heading", name="People")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Revoke|code"))).to_have_count(0)


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
        # Some releases of Chromium round the height of a row, and cut half a pixel of the last one.
        expect(page.locator(".row.selected")).to_be_in_viewport(ratio=0.95)
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


def test_a_session_shows_where_claims_and_gaps_are_and_what_an_edit_changed(browser: Browser, tmp_path: Path) -> None:
    """On its line, each mark named and leading to its entry; an edit is shown as the difference of its texts."""
    edit = Action(
        kind=ActionKind.WRITE,
        tool="Edit",
        payload={"file_path": "src/a.py", "old_string": "one\ntwo\n", "new_string": "one\nthree\n"},
        session_id="s",
        cwd=PROJECT,
    )
    with open_activity_log(tmp_path) as log:
        log.call("s", "git push --force origin main")
        log.governance.before(edit)
        log.stop("s", "All tests pass. Done.")
        log.store.append("s", EntryKind.GAP, {"moment": "after", "error": "KeyError"})
    with run_service(tmp_path) as embedded:
        page, complaints = open_page(browser, embedded)
        page.get_by_text("Edit src/a.py").click()
        expect(page.locator(".detail .diff .removed")).to_have_text("- two")
        expect(page.locator(".detail .diff .added")).to_have_text("+ three")
        expect(page.locator("figcaption .key")).to_have_text(["claim", "gap", "block"])
        page.get_by_role("button", name=re.compile("^claim at entry")).click()
        expect(page.locator(".detail h2")).to_contain_text("completion")
        expect(page.locator(".detail")).to_contain_text("All tests pass. Done.")
        page.context.close()

    assert complaints == []


def test_each_character_that_is_not_seen_has_a_sign_of_its_own(page: Page) -> None:
    """By its number, in whatever font; in a text of several lines tabs and newlines stay."""
    shown = page.evaluate(
        """async () => { const { showText, showBlock } = await import("/static/text.js");
        return [showText("a\\u001b[31m\\u0007\\t\\u007f\\u202eb"), showBlock("\\ta\\u001b\\nb\\r")]; }"""
    )

    assert shown == ["a‹U+001B›[31m‹U+0007›‹U+0009›‹U+007F›‹U+202E›b", "\ta‹U+001B›\nb‹U+000D›"]


def test_nothing_that_an_agent_wrote_does_anything(browser: Browser, tmp_path: Path) -> None:
    """Markup, escapes and invisible characters in every field of every page are shown, and never run."""
    entries = write_hostile_log(tmp_path)
    with run_service(tmp_path) as embedded:
        page, complaints = open_page(browser, embedded)
        expect(page.locator(".row").first).to_be_visible()
        elements = count_elements(page)
        for path in (
            "/",
            "/sessions",
            "/integrity",
            f"/integrity?q={'%3Cimg%20src=x%20onerror=alert(1)%3E'}",
        ):
            page.goto(address(embedded, path))
            expect(page.get_by_role("heading").first).to_be_visible()
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
