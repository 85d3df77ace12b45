"""Count the tests in a source text, and the marks that keep them from counting. Pure."""

import re
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily

_TESTS = compile_lazily(
    r"^\s*(?:async\s+)?def\s+test\w*\s*\("  # Python
    r"|^\s*(?:it|test|specify)(?:\.(?:skip|only|todo|failing|fails|each\([^)]*\)))?\s*\("  # JavaScript
    r"|^\s*(?:xit|xtest|fit)\s*\("
    r"|^\s*func\s+Test\w*\s*\("  # Go
    r"|^\s*#\[(?:\w+::)?test\b"  # Rust
    r"|^\s*@(?:Test|ParameterizedTest)\b"  # Java, Kotlin
    r"|^\s*it\s+['\"]"  # RSpec
    r"|^\s*(?:public\s+)?function\s+test\w*\s*\(",  # PHP
    re.MULTILINE,
)
_MARKS = compile_lazily(
    r"\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.(?:skip\w*|expectedFailure)\b|@(?:skip\w*|expectedFailure)\b"
    r"|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\bself\.skipTest\s*\("
    r"|\b(?:it|test|describe|context|suite)\.(?:skip|todo|failing|fails|only)\b|^\s*(?:xit|xtest|xdescribe|fit|fdescribe)\s*\("
    r"|\{\s*(?:skip|todo|only)\s*:\s*(?!false)|\bt\.Skip(?:f|Now)?\s*\(|^\s*#\[ignore|^\s*@(?:Disabled|Ignore)\b"
    r"|^\s*(?:skip|pending)\s+['\"]|\bmarkTest(?:Skipped|Incomplete)\s*\("
    r"|^\s*__test__\s*=\s*False|\bcollect_ignore|\bdeselect\b",
    re.MULTILINE,
)
_COMMENT = compile_lazily(r"^\s*(?:#(?!\[)|//).*$", re.MULTILINE)


class Census(NamedTuple):
    """The number of tests in a file, and of marks that skip, expect a failure or select."""

    tests: int = 0
    marks: int = 0


def count_tests(text: str) -> Census:
    """Return the census of one source text, whatever its language; comments do not count."""
    # A test that was commented out is gone.
    code = _COMMENT.sub("", text)
    return Census(len(_TESTS.findall(code)), len(_MARKS.findall(code)))
