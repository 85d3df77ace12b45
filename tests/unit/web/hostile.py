"""Texts that try to do something when they are shown, and what a page that only shows them looks like."""

import re

from playwright.sync_api import Page

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "<iframe src=http://127.0.0.1:1/></iframe>",
    "<a href=http://127.0.0.1:1/ ping=http://127.0.0.1:1/>x</a>",
    "<style>@import url(http://127.0.0.1:1/)</style>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:1/'>",
    "<form action=http://127.0.0.1:1/><input autofocus onfocus=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "\x1b[2J\x1b[31mred\x07",
    "safe\u202etxt.exe",
    "zero\u200bwidth\ufeff",
    "line\u2028break\u2029",
    "tag\U000e0041\U000e0042",
    "\x00nul\x7f",
    "__proto__",
]
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


def count_elements(page: Page) -> int:
    """Return the number of elements that no page of ours has."""
    return page.locator(
        "iframe, object, embed, svg, form[action], img, meta[http-equiv], body style, body script"
    ).count()


def check_page(page: Page) -> None:
    """Fail when a page has an element that text made, or shows a character that hides others."""
    assert count_elements(page) == 0
    shown = page.evaluate("document.body.innerText")
    assert not INVISIBLE.search(shown), repr(INVISIBLE.search(shown))
