"""Count the tests in a source text, and the marks that keep them from counting. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import can_select_tests
from verdikt.runs.program_kinds import is_partial_test_run
from verdikt.runs.shell_runs import read_runs

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
_ATTRIBUTE = r"#\[[^\]]*\]\s*"
_MARKS = compile_lazily(
    r"\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.(?:skip\w*|expectedFailure)\b|@(?:skip\w*|expectedFailure)\b"
    r"|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\bself\.skipTest\s*\("
    r"|\b(?:it|test|describe|context|suite)\.(?:skip|todo|failing|fails|only)\b|^\s*(?:xit|xtest|xdescribe|fit|fdescribe)\s*\("
    r"|\{\s*(?:skip|todo|only)\s*:\s*(?!false)|\bt\.Skip(?:f|Now)?\s*\(|^\s*#\[ignore|^\s*@(?:Disabled|Ignore)\b"
    r"|^\s*(?:skip|pending)\s+['\"]|\bmarkTest(?:Skipped|Incomplete)\s*\("
    r"|^\s*__test__\s*=\s*False|\bcollect_ignore|\bdeselect\b"
    # What turns a result into another one.
    r"|\b(?:except|suppress)\b[^:\n]*\bAssertionError\b"
    r"|^\s*def\s+pytest_(?:runtest_(?:makereport|protocol|call)|collection_modifyitems|ignore_collect|sessionfinish)\b"
    r"|\b(?:it|test|describe)\.(?:skipIf|runIf)\b|^\s*@(?:Enabled|Disabled)\w+\b"
    # A file that ends before its tests, or has them where they are never reached.
    r"|^(?:process\.exit|os\._exit|sys\.exit|exit|quit)\s*\(|^if\s*\(?(?:False|false|0)\b"
    # Compiled on a condition: a file of Go, a test or a module of tests of Rust.
    r"|^//go:build\b(?=[\s\S]*^func Test)|^\s*#\[cfg_attr\([^\]]*\bignore\b"
    rf"|^\s*#\[cfg\((?!test\)\])[^\]]*\]\s*(?:{_ATTRIBUTE})*?(?:#\[(?:\w+::)?test\b|mod\s+\w*tests?\b)"
    rf"|^\s*#\[(?:\w+::)?test\b[^\]]*\]\s*(?:{_ATTRIBUTE})*?#\[cfg\(",
    re.MULTILINE,
)
_COMMENT = compile_lazily(r"^\s*(?:#(?!\[)|//(?!go:build\b)).*$", re.MULTILINE)


class Census(NamedTuple):
    """The number of tests in a file, and of marks that skip, expect a failure or select."""

    tests: int = 0
    marks: int = 0


_TEST_COMMANDS = compile_lazily(
    r"^addopts\s*=\s*(?P<options>(?:.*|\s*\n)(?:\n[ \t]+.*)*)"  # pytest
    r"|^\s*\"(?:test|tests|check)\"\s*:\s*\"(?P<script>(?:[^\"\\\n]|\\.)*)\""  # package.json
    r"|\"scripts\"\s*:\s*\{[^{}]*?\"(?:test|tests|check)\"\s*:\s*\"(?P<inline>(?:[^\"\\\n]|\\.)*)\""
    r"|^(?:test|tests|check)\s*:(?!=)[^\n]*\n(?P<recipe>(?:\t[^\n]*(?:\n|$))+)",  # Makefile
    re.MULTILINE,
)
"""Where a project's configuration says how all of its tests are run."""


def take_census(path: str, text: str) -> Census:
    """Return the census of one file; of configuration, how often it has only some of the tests run."""
    return Census(0, sum(_list_selections(text))) if can_select_tests(path) else count_tests(text)


def _list_selections(text: str) -> Iterator[bool]:
    for match in _TEST_COMMANDS.finditer(text):
        options = match["options"]
        command = f"pytest {options.translate(_QUOTING)}" if options else next(filter(None, match.groups()), "")
        for run in read_runs(re.sub(r"(?m)^\t[@-]*", "", command.replace('\\"', '"'))):
            # A directory is where the tests are; an option chooses among them.
            chosen = [word for word in run.argv if word.startswith("-")]
            yield run.kind == "test" and is_partial_test_run((run.argv[0], *chosen))


_QUOTING = str.maketrans("\"'[],\n", "      ")


def count_tests(text: str) -> Census:
    """Return the census of one source text, whatever its language; comments do not count."""
    # A test that was commented out is gone.
    code = _COMMENT.sub("", text)
    return Census(len(_TESTS.findall(code)), len(_MARKS.findall(code)))
