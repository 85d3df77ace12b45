"""The tests of changed code, by their names, and the ones that no run of some tests was of. Pure."""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import classify_file, is_test_file
from verdikt.runs.logged_call import LoggedCall
from verdikt.runs.program_kinds import is_local_run, is_partial_test_run
from verdikt.runs.shell_runs import ProgramRun
from verdikt.turns.turn import TurnEvidence, is_path_below

MAX_OWN_TESTS = 10
"""Number of test files of one source file up to which they are recorded."""

MAX_TESTED_FILES = 50
"""Number of changed files of code whose tests are looked for."""

_TEST_MARK = compile_lazily(r"^tests?[_-]|[_.-](?:tests?|spec)$|(?<=[a-z0-9])(?:Tests?|Spec)$")
_BESIDE_PACKAGE = "_test.go"
"""Tests in such a file are about the whole of their directory, and no run of a directory above it has them."""


def find_own_tests(changed: Iterable[str], files: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return changed code → the test files that bear its name: `test_cart.py`, `cart.test.js`; in Go those beside it.

    Of several sources with one name (`index.js`), only tests in the same directory are taken for theirs.
    """
    code = [path for path in changed if path in files and classify_file(path) == "code" and not is_test_file(path)]
    if not code:
        return {}
    tests: dict[str, list[str]] = defaultdict(list)
    sources: Counter[str] = Counter()
    for path in files:
        if is_test_file(path):
            tests[_read_key(path)].append(path)
        elif classify_file(path) == "code":
            sources[_read_key(path)] += 1
    own: dict[str, tuple[str, ...]] = {}
    for path in code[:MAX_TESTED_FILES]:
        named = tests[_read_key(path)]
        beside = [test for test in named if posixpath.dirname(test) == posixpath.dirname(path)]
        found = beside or (named if sources[_read_key(path)] < 2 else [])
        if found:
            own[path] = tuple(sorted(found)[:MAX_OWN_TESTS])
    return own


def _read_key(path: str) -> str:
    """Return what a source and its tests have in common: their name, or in Go their directory."""
    if path.endswith(".go"):
        return posixpath.dirname(path) + "/"
    return _TEST_MARK.sub("", posixpath.splitext(posixpath.basename(path))[0]).lower()


class Selection(NamedTuple):
    """The places to which a run of tests was restricted, relative to the project's root; no places: all of it."""

    places: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def holds(self, test: str) -> bool:
        """Return whether a test file is among what ran."""
        if not self.places:
            return True
        if test.endswith(_BESIDE_PACKAGE):
            return any(
                is_path_below(test, place.removesuffix("...").rstrip("/"))
                if place.endswith("...")
                else place in (test, posixpath.dirname(test))
                for place in self.places
            )
        return any(is_path_below(test, place.removesuffix("...").rstrip("/")) for place in self.places)


def read_selection(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> Selection:
    """Return what a run of tests was restricted to, as far as its words name test files or directories of them."""
    root = turn.facts.root
    where = posixpath.normpath(posixpath.join(call.cwd, run.cwd))
    if not root or not is_path_below(where, root):
        return Selection()
    known = {*turn.facts.test_files, *(test for tests in turn.facts.own_tests.values() for test in tests)}
    words, places = [], []
    for word in run.argv[1:]:
        path = posixpath.relpath(posixpath.join(where, word.partition("::")[0].removesuffix("...")), root)
        path = "" if path == "." else path
        # `python -m unittest tests.test_cart` names a module.
        module = path.replace(".", "/") + ".py"
        path = module if module in known else path
        # A word without a slash may be a command: `npm test`.
        is_known = "/" in word and any(is_path_below(test, path) for test in known)
        if not word.startswith("-") and (is_known or is_test_file(path) or word == "." or word.startswith("./")):
            words.append(word)
            places.append(f"{path}/..." if word.endswith("...") else path)
    here = posixpath.relpath(where, root).removeprefix(".")
    if not places and (is_local_run(run.argv) or (here and any(is_path_below(test, here) for test in known))):
        places.append(here)
    return Selection(tuple(places), tuple(words))


def find_unrun_test(turn: TurnEvidence) -> str:
    """Return a test file of changed code that no fresh green run was of; empty if there is none."""
    selections = [
        read_selection(turn, call, run)
        for call in turn.calls
        for run in call.successful_runs("test")
        if turn.is_fresh(call)
    ]
    return next(
        (
            tests[0]
            for tests in turn.facts.own_tests.values()
            if not any(selection.holds(test) for selection in selections for test in tests)
        ),
        "",
    )


def selects_all_tests(turn: TurnEvidence, call: LoggedCall, run: ProgramRun) -> bool:
    """Return whether a run that named files or directories was of every test file that there is."""
    selection, tests = read_selection(turn, call, run), turn.facts.test_files
    if not tests or not selection.places or not all(map(selection.holds, tests)):
        return False
    # Without the places, nothing else may select tests: `-k`, or a single test of a file.
    rest = [word for word in run.argv if word not in selection.words or "::" in word]
    return not is_partial_test_run([*rest, "./..."] if is_local_run(run.argv) else rest)
