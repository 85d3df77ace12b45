"""The pages in the system's Chromium: the embedded service on a real log, and a browser that is signed in."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tools import fetch_web

from tests.chromium import find_chromium
from verdikt.observe.clock import Clock
from verdikt.serve.embedded import EmbeddedService

# Five seconds, the default, are too few for a machine that runs other tests meanwhile.
expect.set_options(timeout=60_000)


def ensure_vendor_files() -> None:
    """Fetch the dependencies of the pages, or skip the test."""
    if not fetch_web.is_complete():
        try:
            fetch_web.fetch()
        except fetch_web.FetchError as error:
            pytest.skip(f"the pages' dependencies could not be fetched: {error}")


@contextmanager
def run_service(home: Path, clock: Clock | None = None) -> Iterator[EmbeddedService]:
    """Yield a service on a data directory, in a thread."""
    ensure_vendor_files()
    options = {"clock": clock} if clock else {}
    with EmbeddedService(home, 0, **options) as embedded:
        started = threading.Event()
        thread = threading.Thread(target=embedded.run, args=(started.set,))
        thread.start()
        started.wait(10)
        try:
            yield embedded
        finally:
            embedded.stop()
            thread.join()


@contextmanager
def launch_browser() -> Iterator[Browser]:
    """Yield a headless browser."""
    program = find_chromium()
    arguments = ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class Complaints(list[str]):
    """What a page complained about: errors, console messages, dialogs, and requests to other places."""

    def watch(self, page: Page, origin: str) -> None:
        """Begin to listen."""
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on("console", lambda message: message.type in ("error", "warning") and self.append(message.text))
        page.on("dialog", lambda dialog: (self.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(origin) or self.append(f"request: {request.url}"))


def check_accessibility(page: Page) -> None:
    """Fail with what axe finds in a page: contrast, names, roles, order."""
    violations = Axe().run(page).response["violations"]
    faults = [f"{found['id']}: {found['nodes'][0]['html']}" for found in violations]
    assert not faults, f"{page.url}: {faults}"


def open_page(
    browser: Browser, embedded: EmbeddedService, *, width: int = 1200, dark: bool = False
) -> tuple[Page, Complaints]:
    """Return a page that is signed in, and what it complains about."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id="UTC",
    )
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page, f"http://127.0.0.1:{embedded.port}/")
    page.goto(embedded.create_link())
    page.wait_for_url(f"http://127.0.0.1:{embedded.port}/")
    # The address changes before the page is drawn, and keys act on what is drawn.
    expect(page.get_by_role("heading", name="Now")).to_be_visible(timeout=60_000)
    return page, complaints


def address(embedded: EmbeddedService, path: str) -> str:
    """Return the address of a page."""
    return f"http://127.0.0.1:{embedded.port}{path}"
