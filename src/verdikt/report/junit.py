"""Render test results as JUnit XML, which build servers read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Not by `xml.sax.saxutils`: it imports what fetches URLs, which would take a fifth of the start of most commands.
_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
# A reader of XML turns white space in an attribute into spaces, unless it is escaped.
_ATTRIBUTE_ESCAPES = _ESCAPES | {ord('"'): "&quot;", ord("\t"): "&#9;", ord("\n"): "&#10;", ord("\r"): "&#13;"}
_ILLEGAL_CHARACTERS = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test: its place, and why it failed; an empty failure is a success."""

    # The name begins with `Test`: without this pytest would collect the class.
    __test__ = False

    suite: str
    name: str
    where: str
    failure: str = ""


def render_junit(results: Sequence[TestResult], name: str = "verdikt") -> str:
    """Return a JUnit document with one suite for each distinct `suite`."""
    suites: dict[str, list[TestResult]] = {}
    for result in results:
        suites.setdefault(result.suite, []).append(result)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _render_open_tag("testsuites", name, results)]
    for suite, inner in suites.items():
        lines.append("  " + _render_open_tag("testsuite", suite, inner))
        for result in inner:
            lines.append(_render_case(suite, result))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _render_case(suite: str, result: TestResult) -> str:
    file, _, position = result.where.partition(":")
    line = position.split(":")[0] or "1"
    attributes = {"classname": suite, "name": result.name, "file": file, "line": line}
    head = "    <testcase " + " ".join(f"{key}={_quote_attribute(value)}" for key, value in attributes.items())
    if not result.failure:
        return head + "/>"
    message = _quote_attribute(result.failure.splitlines()[0])
    text = _replace_illegal(result.failure).translate(_ESCAPES)
    return f"{head}><failure message={message}>{text}</failure></testcase>"


def _render_open_tag(tag: str, name: str, results: Sequence[TestResult]) -> str:
    failures = sum(1 for result in results if result.failure)
    return f'<{tag} name={_quote_attribute(name)} tests="{len(results)}" failures="{failures}" errors="0">'


def _quote_attribute(text: str) -> str:
    return f'"{_replace_illegal(text).translate(_ATTRIBUTE_ESCAPES)}"'


def _replace_illegal(text: str) -> str:
    """Return a text with the characters replaced that XML 1.0 cannot represent, not even escaped."""
    return re.sub(_ILLEGAL_CHARACTERS, "\ufffd", text)
