"""Results of tests as JUnit XML, which build servers read."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from verdikt.model.value import Value

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TestResult(Value):
    """One test: where it stands, and why it failed; an empty failure is a success."""

    __test__ = False  # pytest: not a test itself

    suite: str
    name: str
    where: str
    failure: str = ""


def junit(results: Sequence[TestResult], name: str = "verdikt") -> str:
    """A JUnit document with one suite for each file."""
    suites: dict[str, list[TestResult]] = {}
    for result in results:
        suites.setdefault(result.suite, []).append(result)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _open("testsuites", name, results)]
    for suite, inner in suites.items():
        lines.append("  " + _open("testsuite", suite, inner))
        for result in inner:
            file, _, place = result.where.partition(":")
            line = place.split(":")[0] or "1"
            head = f"    <testcase classname={_quoted(suite)} name={_quoted(result.name)} file={_quoted(file)} line={_quoted(line)}"
            if result.failure:
                message = result.failure.splitlines()[0]
                lines.append(
                    f"{head}><failure message={_quoted(message)}>{escape(_legal(result.failure))}</failure></testcase>"
                )
            else:
                lines.append(head + "/>")
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _open(tag: str, name: str, results: Sequence[TestResult]) -> str:
    failures = sum(1 for result in results if result.failure)
    return f'<{tag} name={_quoted(name)} tests="{len(results)}" failures="{failures}" errors="0">'


def _quoted(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    """XML has no way to write most control characters."""
    return _ILLEGAL.sub("\ufffd", text)
