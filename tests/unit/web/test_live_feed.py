"""The live feed in the browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.activity_log import open_activity_log
from tests.unit.web.browser import address, open_page, run_service


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


def test_tabs_share_one_stream_and_one_takes_over_when_the_other_ends(browser: Browser, tmp_path: Path) -> None:
    """Both show every decision once; a tab that comes later, or gets the stream, misses nothing."""
    with open_activity_log(tmp_path) as log:
        log.call("live", "git status")
        with run_service(tmp_path) as embedded:
            first, complaints = open_page(browser, embedded)
            # The stream of the first page has ended when another page is shown.
            first.goto(address(embedded, "/settings"))
            requests: list[str] = []
            first.context.on("request", lambda request: requests.append(request.url))
            with first.expect_request("**/v1/feed*"):
                first.goto(address(embedded, "/"))
            expect(first.locator(".row")).to_have_count(1)
            second = first.context.new_page()
            complaints.watch(second, address(embedded, "/"))
            second.goto(address(embedded, "/"))
            expect(second.locator(".row")).to_have_count(1)
            for number in (1, 2):
                log.call("live", f"git log -{number}")
                for page in (first, second):
                    expect(page.get_by_text(f"Bash git log -{number}", exact=True)).to_be_visible()
            shared = count_streams(requests)
            first.close()
            log.call("live", "git log -3")
            expect(second.get_by_text("Bash git log -3", exact=True)).to_be_visible()
            texts = second.locator(".row .summary").all_inner_texts()
            second.context.close()

    assert shared == 1
    assert count_streams(requests) == 2
    assert texts == ["Bash git log -3", "Bash git log -2", "Bash git log -1", "Bash git status"]
    assert complaints == []


def count_streams(requests: list[str]) -> int:
    """Return how many of some requests opened a stream."""
    return sum("/v1/feed" in url for url in requests)


def test_the_feed_shows_what_the_filter_finds(browser: Browser, tmp_path: Path) -> None:
    """Whatever the search box understands, also for what arrives later; the address has it."""
    with open_activity_log(tmp_path) as log:
        log.call("live", "git status")
        with run_service(tmp_path) as embedded:
            page, complaints = open_page(browser, embedded)
            expect(page.locator(".row")).to_have_count(1)
            page.keyboard.press("/")
            page.keyboard.type("verdict:block")
            page.keyboard.press("Enter")
            expect(page.get_by_text("No decision is like that.")).to_be_visible()
            log.call("live", "git log")
            log.call("live", "git push --force origin main")
            expect(page.locator(".row .summary")).to_have_text(["Bash git push --force origin main"])
            assert page.url.endswith("/?q=verdict%3Ablock")
            page.context.close()

    assert complaints == []


def test_a_feed_that_was_paused_shows_what_came_meanwhile(browser: Browser, tmp_path: Path) -> None:
    """And nothing while it is paused."""
    with open_activity_log(tmp_path) as log:
        log.call("live", "git status")
        with run_service(tmp_path) as embedded:
            page, complaints = open_page(browser, embedded)
            expect(page.locator(".row")).to_have_count(1)
            page.keyboard.press("p")
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
            log.call("live", "git log")
            page.wait_for_timeout(2000)
            expect(page.locator(".row")).to_have_count(1)
            page.keyboard.press("p")
            expect(page.locator(".row .summary")).to_have_text(["Bash git log", "Bash git status"])
            page.context.close()

    assert complaints == []
