"""One browser for all tests, and pages on a short real log."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.activity_log import open_activity_log
from tests.unit.web.browser import launch_browser, open_page, run_service
from verdikt.serve.embedded import EmbeddedService


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
