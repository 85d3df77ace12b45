"""Look at the work tree when a turn begins, after each check and when the turn ends. The I/O behind `TurnFacts`."""

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from verdikt.claims.named_objects import find_directory_names, find_file_names
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.work_tree import (
    WorkTree,
    can_hold_tests,
    can_make_checks_stale,
    can_select_tests,
    classify_file,
    is_test_file,
)
from verdikt.observe.git_repository import run_git
from verdikt.observe.project_checks import detect_project_checks, read_task_script
from verdikt.observe.small_file import read_small_text
from verdikt.observe.work_tree import list_changes_between, read_work_tree
from verdikt.runs.program_kinds import MODULE_VARIABLES, is_optional_task, is_partial_test_run, is_project_wrapper
from verdikt.runs.shell_runs import ProgramRun, hides_status, read_runs
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
from verdikt.turns.own_tests import find_own_tests
from verdikt.turns.turn import TurnEvidence, is_path_below, is_same_path

T = TypeVar("T")

MAX_CENSUS_FILES = 300
"""Number of changed test files whose tests are counted."""

MAX_PARSED_FILES = 50
MAX_NAMES = 100
"""Number of names at the end of a message that are looked up in the file system."""

MAX_TEST_FILES = 100
"""Number of test files of a project up to which a run that names all of them counts as one of all tests."""

MAX_PACKAGES = 200
"""Number of packages of a monorepo up to which a run of one is told from a run of all."""

_MANIFESTS = frozenset(
    "pyproject.toml setup.py package.json Cargo.toml go.mod pom.xml build.gradle build.gradle.kts composer.json Gemfile"
    " mix.exs pubspec.yaml deno.json".split()
)
"""Files that make a directory a package with checks of its own."""

MAX_RECORDED_TIMES = 20


class TurnObserver:
    """Observe work trees with the rights of the user who asks, and turn what is seen into recorded facts."""

    def __init__(self, env: Mapping[str, str], read_path: Callable[[str, Callable[[str], Any], Any], Any]) -> None:
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

    def find_run_faults(
        self, directory: str, command: str, runs: Sequence[Mapping[str, Any]], tree: WorkTree
    ) -> dict[int, dict[str, Any]]:
        """Return position → what to record otherwise, of the checks that are not what their command line says.

        A program that is not the one it is called like checks nothing: a file of the project called like a runner, a
        module of the project that hides the installed one, a task (`npm test`) that only prints or does not exist. Of
        a task that ends well whatever its linter or compiler says, the status tells nothing.
        """
        faults: dict[int, dict[str, Any]] = {}
        values = dict(_ASSIGNMENT.findall(command))
        places = [place for name in MODULE_VARIABLES for place in values.get(name, "").split(":") if place]
        for position, run in enumerate(runs):
            argv = tuple(map(str, run["argv"]))
            if run["kind"] not in ("test", "build", "lint") or not argv:
                continue
            where = os.path.normpath(os.path.join(directory, run["cwd"] or "."))
            script: str = self._read_path(where, partial(read_task_script, argv=argv), "")
            parts = read_runs(script) if script else ()
            inner = [part for part in parts if part.kind != "look"]
            is_empty = bool(parts) and not inner
            if is_empty or _is_hollow(argv, where, places, tree) or (not script and is_optional_task(argv)):
                faults[position] = {"kind": "other"}
            # What a program of the project's own prints is no report of a runner, if the program is new.
            elif run["kind"] == "test" and (program := _find_started_program(inner, where, tree)):
                faults[position] = {"starts": program}
            # Of tests the counts are read, which no mask hides.
            elif run["kind"] != "test" and hides_status(script, inner):
                faults[position] = {"speaks": False}
        return faults

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
            self._detect_checks(tree.root),
            earlier,
            _list_test_files(evidence, tree),
            _list_packages(evidence, tree),
            baseline.digest if baseline and baseline.root == tree.root else "",
            find_own_tests(changes or (), tree.files) if _has_partial_run(evidence, tree) else {},
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
        blob = between[path][0] if path in between else tree.dirty.get(path, ("", ""))[0]
        if not blob:
            return Census()
        text: str | None = self._read_path(
            tree.root, lambda root: run_git(root, self._env, "cat-file", "blob", blob), None
        )
        return take_census(path, text) if text else Census()

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


_ASSIGNMENT = compile_lazily(r"\b([A-Z]+)=[\"']?([^\s\"';&|]+)")


def _is_hollow(argv: tuple[str, ...], where: str, places: Sequence[str], tree: WorkTree) -> bool:
    """Return whether a file or a module of the project is what a runner's name starts; `places` hold modules."""
    # `./gradlew` is a file of the project that starts the real tool.
    if "/" in argv[0] and not is_project_wrapper(argv[0]):
        program = os.path.realpath(os.path.join(where, argv[0]))
        return os.path.relpath(program, tree.root) in tree.files
    position = argv.index("-m") + 1 if "-m" in argv[:4] else 0
    module = argv[position] if position < len(argv) else ""
    # The directory of the run is where modules are looked for with `-m` only.
    directories = [*places, *([""] if position else [])]
    bases = [os.path.relpath(os.path.join(where, directory, module), tree.root) for directory in directories if module]
    endings = (".py", "/__main__.py", "/__init__.py") if places else (".py", "/__main__.py")
    return any(f"{base}{ending}" in tree.files for base in bases for ending in endings)


def _find_started_program(runs: Sequence[ProgramRun], where: str, tree: WorkTree) -> str:
    """Return the first file of the project that programs start which are no runners of tests; empty without one."""
    if any(run.kind == "test" for run in runs):
        return ""
    words = (word for run in runs for word in run.argv[:3] if classify_file(word) == "code" and not is_test_file(word))
    paths = (os.path.relpath(os.path.join(where, word), tree.root) for word in words)
    return next((path for path in paths if path in tree.files), "")


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
