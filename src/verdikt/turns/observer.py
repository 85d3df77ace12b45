"""Look at the work tree when a turn begins, after each check and when the turn ends. The I/O behind `TurnFacts`."""

import itertools
import os
import shlex
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from verdikt.claims.named_objects import find_directory_names, find_file_names
from verdikt.claims.wording import has_wording
from verdikt.model.work_tree import (
    WorkTree,
    can_hold_tests,
    can_make_checks_stale,
    can_select_tests,
    classify_file,
    is_test_file,
)
from verdikt.observe.git_repository import run_git
from verdikt.observe.project_checks import detect_project_checks, list_checks_at
from verdikt.observe.small_file import read_small_text
from verdikt.observe.work_tree import list_changes_between, read_work_tree
from verdikt.runs.program_kinds import is_partial_test_run
from verdikt.runs.test_census import Census, take_census
from verdikt.turns.facts import (
    MAX_CHECKED_FILES,
    Snapshot,
    TreeState,
    TurnFacts,
    find_net_changes,
    shorten_stamps,
    sum_census,
)
from verdikt.turns.layout import is_same_code
from verdikt.turns.own_tests import find_own_tests
from verdikt.turns.run_inspector import ReadPath
from verdikt.turns.turn import TurnEvidence, is_path_below, is_same_path

T = TypeVar("T")

MAX_CENSUS_FILES = 300
"""Number of changed test files whose tests are counted."""

MAX_PARSED_FILES = 50
MAX_COMPARED_FILES = 10
"""Number of changed files of code up to which they are compared with what they were."""

MAX_NAMES = 100
"""Number of names at the end of a message that are looked up in the file system."""

MAX_TEST_FILES = 100
"""Number of test files of a project up to which a run that names all of them counts as one of all tests."""

MAX_PACKAGES = 200
"""Number of packages of a monorepo up to which a run of one is told from a run of all."""

MAX_CHECKED_PACKAGES = 10
"""Number of changed packages whose own checks are looked up."""

_MANIFESTS = frozenset(
    "pyproject.toml setup.py package.json Cargo.toml go.mod pom.xml build.gradle build.gradle.kts composer.json Gemfile"
    " mix.exs pubspec.yaml deno.json".split()
)
"""Files that make a directory a package with checks of its own."""

MAX_RECORDED_TIMES = 20


class TurnObserver:
    """Observe work trees with the rights of the user who asks, and turn what is seen into recorded facts."""

    def __init__(self, env: Mapping[str, str], read_path: ReadPath) -> None:
        self._env = env
        self._read_path = read_path

    def read_tree(self, directory: str) -> WorkTree | None:
        """Return the work tree around a directory; None when it cannot be fingerprinted."""
        tree: WorkTree | None = self._read_path(directory, partial(read_work_tree, env=self._env), None)
        return tree

    def take_snapshot(self, directory: str) -> Snapshot | None:
        """Return the work tree around a directory as it is recorded; None when it cannot be fingerprinted."""
        tree = self.read_tree(directory)
        if tree is None:
            return None
        # The contents of other files can be read from git later; of these only now.
        paths = [path for path, (_, now) in tree.dirty.items() if now and _is_counted(path)][:MAX_CENSUS_FILES]
        return Snapshot.from_tree(tree, {path: self._count_tests(tree.root, path) for path in paths})

    def collect_facts(
        self,
        directory: str,
        baseline: Snapshot | None,
        evidence: TurnEvidence,
        message: str,
        earlier: Mapping[str, Any],
    ) -> tuple[TurnFacts, Snapshot | None, frozenset[str]]:
        """Return what the end of a turn shows, the snapshot of it, and the edited files outside of the fingerprint."""
        # Where the request was made, even if the agent has moved to another directory since.
        tree = self.read_tree(baseline.root if baseline else directory)
        if tree is None:
            checks = self._detect_checks(directory)
            return (
                TurnFacts(checks=checks, paths=self._look_up(message, directory, None), earlier=earlier),
                None,
                frozenset(),
            )
        after = Snapshot.from_tree(tree)
        between = self._list_commits_between(tree, baseline)
        changes = find_net_changes(baseline, after, between)
        package_checks = self._detect_package_checks(filter(_is_code, changes or ()), tree)
        changed_tests = [path for path in changes or () if _is_counted(path)][:MAX_CENSUS_FILES]
        facts = TurnFacts(
            changes,
            tree.root,
            tree.digest,
            sum_census(self._count_earlier_tests(path, tree, baseline, between or {}) for path in changed_tests),
            sum_census(self._count_tests(tree.root, path) for path in changed_tests),
            self._find_syntax_errors(tree.root, changes or {}),
            self._look_up(message, directory, tree),
            baseline.git if baseline else None,
            tree.git,
            frozenset(between or ()),
            _add_package_checks(self._detect_checks(tree.root), package_checks),
            earlier,
            _list_test_files(evidence, tree),
            _list_packages(evidence, tree),
            baseline.digest if baseline and baseline.root == tree.root else "",
            find_own_tests(changes or (), tree.files) if _has_partial_run(evidence, tree) else {},
            self._list_layout_changes(changes or {}, tree, baseline, between or {}),
            self._list_unmerged(message, tree),
            package_checks,
        )
        return facts, after, self._find_unlisted(evidence, tree, changes or {})

    def _list_commits_between(self, tree: WorkTree, baseline: Snapshot | None) -> dict[str, tuple[str, str]] | None:
        if baseline is None or baseline.git is None or tree.git is None:
            return {} if baseline and not baseline.git and not tree.git else None
        first, second = baseline.git.head, tree.git.head

        def read(root: str) -> dict[str, tuple[str, str]] | None:
            return list_changes_between(root, self._env, first, second)

        between: dict[str, tuple[str, str]] | None = self._read_path(tree.root, read, None)
        return between

    def _count_tests(self, root: str, path: str) -> Census:
        text: str | None = self._read_path(os.path.join(root, path), read_small_text, None)
        return take_census(path, text) if text else Census()

    def _count_earlier_tests(
        self, path: str, tree: WorkTree, baseline: Snapshot | None, between: Mapping[str, tuple[str, str]]
    ) -> Census:
        """Return the census of a test file as it was at the prompt."""
        if baseline is not None and (path in baseline.census or path in (baseline.dirty or {})):
            return baseline.census.get(path, Census())
        text = self._read_earlier_text(path, tree, between)
        return take_census(path, text) if text else Census()

    def _read_earlier_text(self, path: str, tree: WorkTree, between: Mapping[str, tuple[str, str]]) -> str | None:
        """Return a file as the commit at the prompt has it; None where it has none."""
        blob = between[path][0] if path in between else tree.dirty.get(path, ("", ""))[0]
        return self._run_git(tree.root, "cat-file", "blob", blob) if blob else None

    def _run_git(self, root: str, *words: str) -> str | None:
        output: str | None = self._read_path(root, lambda place: run_git(place, self._env, *words), None)
        return output

    def _list_layout_changes(
        self,
        changes: Mapping[str, tuple[str, str]],
        tree: WorkTree,
        baseline: Snapshot | None,
        between: Mapping[str, tuple[str, str]],
    ) -> tuple[str, ...]:
        """Return the changed code that runs as it did at the prompt; empty where much was changed."""
        code = list(filter(_is_code, changes))
        # Of what was uncommitted at the prompt only the hash is known.
        uncommitted = (baseline.dirty if baseline else None) or {}
        if baseline is None or len(code) > MAX_COMPARED_FILES or not uncommitted.keys().isdisjoint(code):
            return ()
        same = []
        for path in code:
            before = self._read_earlier_text(path, tree, between)
            now: str | None = self._read_path(os.path.join(tree.root, path), read_small_text, None)
            if before and now and is_same_code(path, before, now):
                same.append(path)
        return tuple(same)

    def _list_unmerged(self, message: str, tree: WorkTree) -> tuple[str, ...]:
        """Return the branches that HEAD does not contain, where the message speaks of a merge."""
        if tree.git is None or not has_wording("merge", message):
            return ()
        listing = self._run_git(
            tree.root, "for-each-ref", "--no-merged=HEAD", "--format=%(refname:short)", "refs/heads"
        )
        return tuple((listing or "").splitlines()[:MAX_NAMES])

    def _detect_package_checks(self, changes: Iterable[str], tree: WorkTree) -> dict[str, dict[str, str]]:
        """Return the packages with changed code, each with the checks of its own."""
        checks_by_package: dict[str, dict[str, str]] = {}
        for package in dict.fromkeys(_find_manifest_directory(path, tree) for path in changes):
            checks = self._read_path(os.path.join(tree.root, package), list_checks_at, {}) if package else {}
            if checks and len(checks_by_package) < MAX_CHECKED_PACKAGES:
                checks_by_package[package] = checks
        return checks_by_package

    def _find_syntax_errors(self, root: str, changes: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        errors: dict[str, str] = {}
        paths = [path for path, (_, now) in changes.items() if now and classify_file(path) in ("data", "ci", "asset")]
        if not paths:
            return {}
        # With yaml, tomllib and expat; most turns change no file of these formats.
        from verdikt.observe.file_syntax import find_syntax_error

        for path in paths[:MAX_PARSED_FILES]:
            if error := self._read_path(os.path.join(root, path), find_syntax_error, ""):
                errors[path] = error
        return errors

    def _look_up(self, message: str, directory: str, tree: WorkTree | None) -> dict[str, str]:
        """Return name → `file`, `directory` or empty, of what a message names."""
        names = dict.fromkeys((*find_file_names(message), *find_directory_names(message)))
        kinds: dict[str, str] = {}
        for name in list(names)[-MAX_NAMES:]:
            roots = dict.fromkeys(filter(None, (directory, tree.root if tree else "")))
            kind = next(
                (kind for root in roots if (kind := self._read_path(os.path.join(root, name), _kind_of, ""))), ""
            )
            if not kind and tree and any(is_same_path(path, name) for path in tree.files):
                kind = "file"
            kinds[name] = kind
        return kinds

    def _detect_checks(self, directory: str) -> dict[str, str]:
        detect = partial(detect_project_checks, home=self._env.get("HOME", ""))
        checks: dict[str, str] = self._read_path(directory, detect, {})
        return checks

    def _find_unlisted(
        self, evidence: TurnEvidence, tree: WorkTree, changes: Mapping[str, tuple[str, str]]
    ) -> frozenset[str]:
        edited = (path for call in (*evidence.earlier, *evidence.calls) for path in call.edited if path.startswith("/"))
        return frozenset(
            path
            for path in edited
            if _is_unlisted(path, tree, changes, evidence.trees) and self._read_path(path, os.path.isfile, False)
        )


def _is_counted(path: str) -> bool:
    return can_hold_tests(path) or can_select_tests(path)


def _is_unlisted(path: str, tree: WorkTree, changes: Mapping[str, Any], checked_roots: Iterable[str]) -> bool:
    is_inside = any(is_path_below(path, root) for root in (tree.root, *checked_roots))
    # A scratch file proves nothing about the work.
    if not is_inside and path.startswith(("/tmp/", "/var/tmp/", "/dev/", "/proc/")):
        return False
    relative = os.path.relpath(path, tree.root)
    return relative not in tree.files and relative not in changes


def _list_test_files(evidence: TurnEvidence, tree: WorkTree) -> tuple[str, ...]:
    """Return the project's test files, where a run was of a part of the tests; empty where there are many."""
    # In a large project, going through all files costs more than the rest of the facts.
    if not _has_partial_run(evidence, tree):
        return ()
    names = ("conftest.py", "__init__.py")
    paths = (path for path in tree.files if is_test_file(path) and os.path.basename(path) not in names)
    test_files = tuple(itertools.islice(paths, MAX_TEST_FILES + 1))
    return test_files if len(test_files) <= MAX_TEST_FILES else ()


def _has_partial_run(evidence: TurnEvidence, tree: WorkTree) -> bool:
    """Return whether a run of tests was of a part of the project, by its words or by where it ran."""
    runs = [(call, run) for call in evidence.calls for run in call.runs if run.kind == "test"]
    return any(
        run.cwd or is_partial_test_run(run.argv) or os.path.normpath(call.cwd) != tree.root for call, run in runs
    )


def _list_packages(evidence: TurnEvidence, tree: WorkTree) -> dict[str, bool]:
    """Return the packages of a monorepo, and whether each has tests, where a run was of a part of the project."""
    if not _has_partial_run(evidence, tree):
        return {}
    packages = {os.path.dirname(path): False for path in tree.files if os.path.basename(path) in _MANIFESTS}
    if set(packages) <= {""} or len(packages) > MAX_PACKAGES:
        return {}
    facts = TurnFacts(packages=packages)
    for path in tree.files:
        if can_hold_tests(path):
            packages[facts.find_package(path)] = True
    return packages


def _find_manifest_directory(path: str, tree: WorkTree) -> str:
    """Return the innermost directory around a file that is a package; empty where that is the top."""
    while path and not any(f"{path}/{name}" in tree.files for name in _MANIFESTS):
        path = os.path.dirname(path)
    return path


def _add_package_checks(checks: dict[str, str], packages: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the project's checks; where it has none at its top, those of the first changed package."""
    for package, own_checks in packages.items():
        if "test" not in checks:
            checks = {kind: f"cd {shlex.quote(package)} && {command}" for kind, command in own_checks.items()} | checks
    return checks


def _is_code(path: str) -> bool:
    return classify_file(path) == "code"


def _kind_of(path: str) -> str:
    if os.path.isdir(path):
        return "directory"
    return "file" if os.path.lexists(path) else ""


def summarize_trees(trees: Iterable[WorkTree]) -> dict[str, TreeState]:
    """Return root → the state of its sources, with the times of those that were changed last."""
    states = {}
    for tree in trees:
        times = {
            path: when
            for path, when in tree.modification_times.items()
            if can_make_checks_stale(path, tracked=bool(tree.dirty.get(path, ("", ""))[0]))
        }
        newest = sorted(times, key=times.__getitem__, reverse=True)[:MAX_RECORDED_TIMES]
        newest_times = {path: times[path] for path in newest}
        dirty = shorten_stamps(tree.dirty) if len(tree.dirty) <= MAX_CHECKED_FILES else None
        states[tree.root] = TreeState(tree.root, tree.digest, newest_times, tree.git.head if tree.git else "", dirty)
    return states
