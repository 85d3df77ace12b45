"""How fast the pages are in Chromium: start of the service, a long session, an entry on its way to the screen."""

import gzip
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.team_load import enrol_machines
from tests.unit.serve.team_server import TeamServer, run_team
from tests.unit.team.chains import build_lines, find_head
from tests.unit.web.browser import launch_browser, open_page, run_service
from verdikt.ledger.files import FileStore
from verdikt.model.chain_head import ChainHead
from verdikt.serve.ingest import Submission
from verdikt.serve.store import TeamStore
from verdikt.team.wire import parse_batch
from verdikt.web.files import ROOT

LONG_SESSION_ENTRIES = 100_000
_PRESS_KEY = """() => new Promise((done) => { const start = performance.now();
    dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true }));
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))); })"""


def measure_pages(database: str) -> dict[str, float]:
    """Return name → value of what people feel; the database is an empty one of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="verdikt-pages-") as directory, launch_browser() as browser:
        home = Path(directory)
        start_seconds = measure_start(home)
        write_long_session(home)
        usable_seconds, moves = measure_long_session(browser, home)
        arrivals = measure_feed(browser, database, 20)
    return {
        "entry → screen, p95, s": statistics.quantiles(arrivals, n=20)[18],
        "embedded start, s": start_seconds,
        "100,000 entries usable, s": usable_seconds,
        "key → frame, p98, ms": statistics.quantiles(moves, n=50)[48],
        "page weight, kB gzipped": weigh_pages() / 1000,
    }


def weigh_pages() -> int:
    """Return the bytes of all files of the pages, compressed."""
    return sum(len(gzip.compress(path.read_bytes())) for path in ROOT.rglob("*") if path.is_file())


def measure_start(home: Path) -> float:
    """Return the seconds from the command to the first page that it serves; the least of three starts."""
    FileStore(home, durable=False).close()
    command = [sys.executable, "-m", "verdikt", "serve", "--no-browser", "--port", "0"]
    seconds = []
    for _ in range(3):
        started_at = time.monotonic()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"VERDIKT_HOME": str(home)},
        )
        try:
            assert process.stdout is not None
            address = re.search(r"http://[0-9.:]+", process.stdout.readline())
            assert address is not None, "the service does not start"
            with urllib.request.urlopen(address[0], timeout=10) as response:
                response.read()
            seconds.append(time.monotonic() - started_at)
        finally:
            process.terminate()
            process.communicate(timeout=30)
    return min(seconds)


def write_long_session(home: Path, entries: int = LONG_SESSION_ENTRIES) -> None:
    """Write a log with one long session."""
    FileStore(home, durable=False).close()
    head = ChainHead()
    with open(home / "ledger" / "long.jsonl", "wb") as file:
        for start in range(0, entries, 1000):
            lines = build_lines("long", range(start, start + 1000), head=head)
            head = find_head(lines, head)
            file.writelines(lines)


def measure_long_session(browser: Browser, home: Path, moves: int = 100) -> tuple[float, list[float]]:
    """Return the seconds until the long session can be used, and the milliseconds from keys to frames."""
    with run_service(home) as embedded:
        while embedded.store.read_as(1).list_machines()[0].entries < LONG_SESSION_ENTRIES:
            time.sleep(0.2)
        page, complaints = open_page(browser, embedded)
        started_at = time.monotonic()
        page.goto(f"http://127.0.0.1:{embedded.port}/session/1")
        expect(page.locator(".row").first).to_be_visible()
        seconds = time.monotonic() - started_at
        expect(page.locator(f".row[aria-setsize='{LONG_SESSION_ENTRIES}']").first).to_be_visible(timeout=60_000)
        page.keyboard.press("End")
        expect(page.locator(".seq", has_text=str(LONG_SESSION_ENTRIES))).to_be_visible(timeout=30_000)
        assert page.locator(".row").count() < 80, "the list holds only what is seen"
        milliseconds = [page.evaluate(_PRESS_KEY) for _ in range(moves)]
        page.context.close()
    assert complaints == []
    return seconds, milliseconds


def measure_feed(browser: Browser, database: str, samples: int) -> list[float]:
    """Return the seconds from the storing of an entry by another replica to its line on the screen."""
    (machine,) = enrol_machines(database, 1, 4 * samples)
    with run_team(database) as server, TeamStore(database, shard=1) as other_replica:
        page = sign_in(browser, server)
        seconds = []
        for first in range(0, len(machine.lines), 4):
            lines = machine.lines[first : first + 4]
            (stretch,) = parse_batch(b"".join(lines))
            started_at = time.monotonic()
            other_replica.ingest([Submission(server.organisation, machine.id, stretch)], time.time_ns() // 1000)
            # Of four entries the first and the third are decisions, which the page shows.
            expect(page.get_by_text(f"Bash echo {first + 3} ", exact=False).first).to_be_visible(timeout=30_000)
            seconds.append(time.monotonic() - started_at)
        page.context.close()
    return seconds


def sign_in(browser: Browser, server: TeamServer) -> Page:
    """Return a page of an auditor."""
    people, now = server.team.service.people, server.team.clock.now()
    person = people.ensure_person(server.organisation, "ana", "Ana", frozenset({"auditor"}))
    page = browser.new_context(locale="en-GB", timezone_id="UTC").new_page()
    page.goto(f"{server.url}/sign-in#{people.create_link(person, now)}")
    page.wait_for_url(f"{server.url}/")
    return page
