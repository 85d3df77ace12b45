"""The pages by keyboard alone."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.activity_log import open_activity_log
from tests.unit.web.browser import address, open_page, run_service
from verdikt.serve.embedded import EmbeddedService


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
    # A key that comes before the earlier page is drawn again goes to the one that is left.
    expect(page.locator(".detail")).to_have_count(0)
    expect(page.locator(".row").first).to_be_visible()
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


def test_marked_rows_are_shown_linked_and_exported_together(page: Page, embedded: EmbeddedService) -> None:
    """`x` marks, `.` copies the links; what is marked becomes a search, which is an export. The address has it all."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address(embedded, "/integrity?q=kind:decision"))
    expect(page.locator(".row")).to_have_count(4)
    for key in ("j", "x", "j", "j", "x"):
        page.keyboard.press(key)
    expect(page.get_by_text("2 rows marked")).to_be_visible()
    page.reload()
    expect(page.locator(".row.marked")).to_have_count(2)
    expect(page.locator(".row.selected")).to_have_attribute("aria-posinset", "3")
    page.keyboard.press(".")
    expect(page.get_by_text("2 links copied")).to_be_visible()
    links = page.evaluate("navigator.clipboard.readText()").split("\n")
    page.get_by_role("link", name="Show only these").press("Enter")
    expect(page.locator(".row")).to_have_count(2)
    found = page.get_by_label("Search").input_value()
    expect(page.get_by_role("link", name="CSV")).to_have_attribute("href", re.compile("format=csv&q=entry%3A[0-9]"))

    assert re.fullmatch("entry:[0-9]+/[0-9]+,[0-9]+/[0-9]+", found)
    assert [link.replace(address(embedded, "/session/"), "").replace("?seq=", "/") for link in links] == found[
        6:
    ].split(",")


def test_sessions_and_entries_of_a_session_are_marked_too(page: Page, embedded: EmbeddedService) -> None:
    """Escape unmarks, and only then closes the entry."""
    page.goto(address(embedded, "/sessions"))
    expect(page.locator(".row")).to_have_count(3)
    for key in ("j", "x"):
        page.keyboard.press(key)
    page.get_by_role("link", name="Show only these").click()
    expect(page.locator(".row")).to_have_count(1)
    page.goto(address(embedded, "/session/1?seq=2"))
    expect(page.locator(".detail dl")).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator(".row.marked .seq")).to_have_text("2")
    page.keyboard.press("Escape")
    expect(page.locator(".row.marked")).to_have_count(0)
    expect(page.locator(".detail dl")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_have_count(0)


def test_back_and_reload_lead_to_the_same_row(page: Page, embedded: EmbeddedService) -> None:
    """The selected row, the search, the paused feed and `decisions only` are in the address."""
    page.goto(address(embedded, "/sessions?q=verdict:block"))
    expect(page.locator(".row")).to_have_count(2)
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Verify")).to_be_visible()
    expect(page.locator(".row").first).to_be_visible()
    entries = page.locator(".row").count()
    page.keyboard.press("d")
    expect(page.locator(".row .verdict").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Decisions only")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".row").first).to_be_visible()
    assert page.locator(".row").count() < entries
    page.go_back()
    expect(page.locator(".row.selected")).to_have_attribute("aria-posinset", "2")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    page.keyboard.press("p")
    page.reload()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="Integrity")).to_be_visible()


def test_the_list_of_keys_keeps_the_keys_until_it_is_closed(page: Page, embedded: EmbeddedService) -> None:
    """Nothing behind it moves; the focus goes back to where it was."""
    expect(page.locator(".row")).to_have_count(4)
    page.get_by_role("button", name="Keys").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Tab")
    expect(page.locator(".row.selected")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Keys")).to_be_focused()
    for key in ("?", "?"):
        page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("path", ["/", "/sessions", "/session/1?seq=2", "/approvals", "/integrity", "/settings"])
def test_what_has_the_focus_is_seen(page: Page, embedded: EmbeddedService, path: str) -> None:
    """Every part that Tab reaches has an outline."""
    page.goto(address(embedded, path))
    expect(page.get_by_role("heading").first).to_be_visible()
    page.wait_for_load_state("networkidle") if path != "/" else expect(page.locator(".row").first).to_be_visible()
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        element = page.evaluate(
            "((element, style) => [element.tagName, element.outerHTML, style.outlineStyle, style.outlineWidth])"
            "(document.activeElement, getComputedStyle(document.activeElement))"
        )
        if element[0] == "BODY":
            break
        reached.append(element)

    assert len(reached) > 2
    assert [element for element in reached if element[2:] != ["solid", "2px"]] == []


def test_a_key_that_is_held_moves_to_the_end(browser: Browser, tmp_path: Path) -> None:
    """Browsers limit how often the address may change: the row follows the key all the same."""
    with open_activity_log(tmp_path) as log:
        for number in range(300):
            log.call("long", f"git log -{number + 1}")
    with run_service(tmp_path) as embedded:
        page, complaints = open_page(browser, embedded)
        page.goto(address(embedded, "/session/1"))
        expect(page.locator(".row").first).to_be_visible()
        page.evaluate("""async () => { for (let press = 0; press < 500; press += 1) {
            dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
            const { port1, port2 } = new MessageChannel();
            await new Promise((done) => { port1.onmessage = done; port2.postMessage(0); });
        } }""")
        expect(page.locator(".row.selected .seq")).to_have_text("500")
        page.wait_for_url("**/session/1?seq=500")
        page.context.close()

    assert complaints == []
