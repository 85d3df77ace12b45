"""Results of tests as JUnit XML, which build servers read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

_ILLEGAL_CHARACTERS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test: where it stands, and why it failed; an empty failure is a success."""

    __test__ = False  # pytest: not a test itself

    suite: str
    name: str
    where: str
    failure: str = ""


def render_junit(results: Sequence[TestResult], name: str = "verdikt") -> str:
    """A JUnit document with one suite for each file."""
    suites: dict[str, list[TestResult]] = {}
    for result in results:
        suites.setdefault(result.suite, []).append(result)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _render_open_tag("testsuites", name, results)]
    for suite, inner in suites.items():
        lines.append("  " + _render_open_tag("testsuite", suite, inner))
        for result in inner:
            file, _, place = result.where.partition(":")
            line = place.split(":")[0] or "1"
            head = f"    <testcase classname={_quote_attribute(suite)} name={_quote_attribute(result.name)} file={_quote_attribute(file)} line={_quote_attribute(line)}"
            if result.failure:
                message = result.failure.splitlines()[0]
                lines.append(
                    f"{head}><failure message={_quote_attribute(message)}>{escape(_replace_illegal(result.failure))}</failure></testcase>"
                )
            else:
                lines.append(head + "/>")
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _render_open_tag(tag: str, name: str, results: Sequence[TestResult]) -> str:
    failures = sum(1 for result in results if result.failure)
    return f'<{tag} name={_quote_attribute(name)} tests="{len(results)}" failures="{failures}" errors="0">'


def _quote_attribute(text: str) -> str:
    return quoteattr(_replace_illegal(text))


def _replace_illegal(text: str) -> str:
    """XML has no way to write most control characters."""
    return _ILLEGAL_CHARACTERS.sub("\ufffd", text)
