"""The HTML report: complete, self-contained, readable on a telephone, and proof against what agents write."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.activity_log import DAY, open_activity_log, write_week
from tests.chromium import Browser, open_browser
from tests.unit.report.activity.test_collector import collect
from verdikt.cli.store_access import format_timestamp
from verdikt.report.activity.activity import ReportRange, Suggestion
from verdikt.report.activity.page import render_page
from verdikt.report.entry_filter import EntryFilter

HOSTILE = [
    "<script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "'><svg onload=window.pwned=1>",
    "</title></style></code></pre><script>window.pwned = 1</script>",
    "<!-- --><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "javascript:window.pwned=1",
    "{{constructor.constructor('window.pwned=1')()}}",
    "<a href='javascript:window.pwned=1' id=list-asks>x</a>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt; &#60;script&#62;",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<style>@import 'http://127.0.0.1:9/x.css'</style>",
    "`</code><script>window.pwned=1</script>`",
    "\u202e<tpircs>\u2066 \x1b]8;;http://127.0.0.1:9\x07 \x00 😀",
    "%3Cscript%3Ewindow.pwned=1%3C/script%3E",
]
"""Texts that would do something if one of them became markup."""


class _TagCounter(HTMLParser):
    """Collects the elements, ids and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        values = dict(attrs)
        self.tags.add(tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []
        self.handlers += [name for name in values if name.startswith("on") or name in ("src", "srcdoc", "action")]


def parse_page(text: str) -> _TagCounter:
    """Return the elements of a page."""
    counter = _TagCounter()
    counter.feed(text)
    return counter


def format_time(seconds: float) -> str:
    """Return a time in UTC."""
    return format_timestamp(int(seconds * 1_000_000))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a week as a file."""
    directory = tmp_path_factory.mktemp("report")
    end = write_week(directory / "data", busy=3)
    activity = collect(directory / "data", EntryFilter(since=end - 7.5 * DAY, until=end), days=8)
    activity.suggestions = [Suggestion(rules=("publish",), scope=("command", "npm publish"), text="`a` b", proof="c")]
    path = directory / "report.html"
    path.write_text(render_page(activity, format_time), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a session whose agent tries to break out of it."""
    directory = tmp_path_factory.mktemp("hostile")
    with open_activity_log(directory / "data") as log:
        start = log.clock.now()
        for number, text in enumerate(HOSTILE):
            session = f"{text}-{number}"
            log.prompt(session, text)
            log.call(session, f"npm publish '{text}'", host=text)
            log.call(session, f"rm -rf '/home/dev/other/{text}'", host=text)
            log.call(session, f"/home/dev/other/{text}", host=text, tool="Write")
            log.stop(session, f"{text} is done and all tests pass: {text}")
        end = log.clock.now()
    activity = collect(directory / "data", EntryFilter(since=start - 1, until=end + 1, host=""), days=3)
    assert activity.decisions == 3 * len(HOSTILE)
    assert activity.count("blocks") >= len(HOSTILE)
    path = directory / "report.html"
    path.write_text(render_page(activity, format_time), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Yield a real browser."""
    with open_browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def test_page_is_self_contained(page: Path) -> None:
    """No script, nothing to load, and a policy that forbids both."""
    text = page.read_text()
    elements = parse_page(text)

    assert elements.tags & {"script", "link", "img", "iframe", "object", "base"} == set()
    assert elements.handlers == []
    assert [link for link in elements.links if not link.startswith("#")] == []
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert re.findall(r"https?://(?!registry\.internal)", text) == []


def test_every_link_leads_to_a_list_of_the_page(page: Path) -> None:
    """Each number has its list, and no id is taken twice."""
    elements = parse_page(page.read_text())

    assert len(elements.ids) == len(set(elements.ids))
    assert {link.removeprefix("#") for link in elements.links} <= set(elements.ids)
    assert len(elements.links) > 40


def test_agents_text_stays_text(hostile_page: Path) -> None:
    """The elements of a hostile log are those of an ordinary one."""
    elements = parse_page(hostile_page.read_text())

    assert elements.tags & {"script", "img", "iframe", "base", "link", "form"} == set()
    assert elements.handlers == []
    assert [link for link in elements.links if not link.startswith("#")] == []
    assert len(elements.ids) == len(set(elements.ids))


def test_empty_log_has_a_page_too(tmp_path: Path) -> None:
    """Nothing recorded is a report as well."""
    with open_activity_log(tmp_path) as log:
        log.prompt("s", "hello")
    text = render_page(collect(tmp_path, EntryFilter(since=1, until=DAY)), format_time)

    assert "Nothing was stopped." in text


def test_number_without_a_list_is_no_link(tmp_path: Path) -> None:
    """What did not happen is said, and neither linked nor listed; one call is one call."""
    with open_activity_log(tmp_path) as log:
        log.call("0c9f2f5e-6f2a-4f0e-9d5b-1f2a3b4c5d6e", "ls")
        end = log.clock.now()
    text = render_page(collect(tmp_path, EntryFilter(since=end - DAY, until=end + 1)), format_time)
    elements = parse_page(text)

    assert sorted(id for id in elements.ids if id.startswith("list-")) == [
        "list-passes",
        "list-sessions",
        "list-slowest",
    ]
    assert {link.removeprefix("#") for link in elements.links} <= set(elements.ids)
    assert ">1 call<" in text
    assert "0c9f2f5e #" in text  # the id as other commands show and take it


@pytest.mark.parametrize(("width", "dark"), [(1000, False), (1000, True), (360, False)])
def test_page_in_a_browser(page: Path, browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    """Nothing is logged or loaded, no text runs out of the screen, and the colours follow the system."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=width, dark=dark)

    assert browser.complaints == []
    assert browser.requests == [page.as_uri()]
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) is dark
    sizes = "[...document.querySelectorAll('p, li, a, summary')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    assert min(browser.evaluate(sizes)) >= 12
    browser.save_picture(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000


def test_number_opens_its_list(page: Path, browser: Browser) -> None:
    """A click on a tile opens the list that it counts."""
    browser.open(page.as_uri())
    is_open = "document.querySelector('#list-blocks').parentElement.open"
    before = browser.evaluate(is_open)
    browser.evaluate("document.querySelector('a.tile.block').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 200))")

    assert (before, browser.evaluate(is_open)) == (False, True)


def test_hostile_page_in_a_browser_does_nothing(hostile_page: Path, browser: Browser) -> None:
    """No text of an agent runs, loads, or is even refused by the content policy: it never was markup."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(hostile_page.as_uri(), width=360)

    assert browser.complaints == []
    assert browser.requests == [hostile_page.as_uri()]
    assert browser.evaluate("typeof window.pwned") == "undefined"
    assert browser.evaluate("document.scripts.length") == 0
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= 360
    assert browser.evaluate("document.body.innerText.includes('<script>')") is True


def test_each_rule_says_why_it_stopped_something(page: Path) -> None:
    """A reader who does not know the rule's name learns what it is about, and how long a column of the chart is."""
    text = page.read_text()

    assert '<p class="why"><code>git push --force origin main</code> overwrites published commits' in text
    assert re.search(r"All calls, at most <a [^>]*>\d+</a> in [\w ]+<", text)


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(600, "10 minutes"), (3600, "an hour"), (6 * 3600, "6 hours"), (86_400, "a day"), (7 * 86_400, "7 days")],
)
def test_period_has_a_name(seconds: int, name: str) -> None:
    """The length of a column of the chart is said in words."""
    assert ReportRange(since=0, until=4 * seconds, labels=("a", "b", "c", "d")).period_name == name
