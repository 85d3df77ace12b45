"""What changed in a turn, as recorded facts: files, tests, git, named paths, syntax. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.work_tree import GitState, WorkTree, can_make_checks_stale, classify_file, compare_files
from verdikt.runs.logged_call import read_file_pairs
from verdikt.runs.test_census import Census

MAX_RECORDED_FILES = 2_000
"""Number of files that differ from the last commit up to which they are recorded one by one."""

MAX_CHECKED_FILES = 200
"""Number of such files up to which the end of a check records them; there are many checks in a session."""

_STAMP_LENGTH = 16
"""Characters of a content hash in the log: enough to tell two contents of one file apart."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The work tree at one moment, as the log has it. `dirty` is None when too many files differ to be recorded."""

    root: str
    digest: str
    dirty: Mapping[str, tuple[str, str]] | None = None
    git: GitState | None = None
    census: Mapping[str, Census] = field(default_factory=dict)
    seq: int = 0

    def record(self) -> dict[str, Any]:
        """Return the snapshot as plain data."""
        return {
            "root": self.root,
            "sha256": self.digest,
            "dirty": None if self.dirty is None else {path: list(pair) for path, pair in self.dirty.items()},
            "git": self.git.record() if self.git else None,
            "census": {path: list(census) for path, census in self.census.items()},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], seq: int = 0) -> "Snapshot":
        """Return the snapshot that `record` wrote."""
        dirty, git = record.get("dirty"), record.get("git")
        return cls(
            str(record.get("root", "")),
            str(record.get("sha256", "")),
            read_file_pairs(dirty),
            GitState.from_record(git) if isinstance(git, Mapping) else None,
            {str(path): Census(*counts) for path, counts in (record.get("census") or {}).items()},
            seq,
        )

    @classmethod
    def from_tree(cls, tree: WorkTree, census: Mapping[str, Census] | None = None) -> "Snapshot":
        """Return a work tree as a snapshot; too many changed files are left out."""
        dirty = shorten_stamps(tree.dirty) if len(tree.dirty) <= MAX_RECORDED_FILES else None
        return cls(tree.root, tree.digest, dirty, tree.git, census or {})


def shorten_stamps(files: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the files with the first characters of each content hash."""
    return {path: (old[:_STAMP_LENGTH], new[:_STAMP_LENGTH]) for path, (old, new) in files.items()}


def record_checked_tree(tree: WorkTree) -> dict[str, Any]:
    """Return a work tree as the end of a check records it: as a whole, and file by file where those are few."""
    return {"root": tree.root, "sha256": tree.digest} | _record_files(tree.dirty, tree.git.head if tree.git else "")


def _record_files(dirty: Mapping[str, tuple[str, str]] | None, head: str) -> dict[str, Any]:
    if dirty is None or len(dirty) > MAX_CHECKED_FILES:
        return {}
    return {"head": head, "dirty": {path: list(pair) for path, pair in shorten_stamps(dirty).items()}}


def find_net_changes(
    before: Snapshot | None, after: Snapshot | None, between: Mapping[str, tuple[str, str]] | None
) -> dict[str, tuple[str, str]] | None:
    """Return path → (content before, after) of the files that differ net; None when that cannot be known."""
    if before is None or after is None or between is None or before.root != after.root:
        return None
    # Too many files to be recorded one by one: the log of edits decides instead.
    if before.dirty is None or after.dirty is None:
        return None
    return compare_files(before.dirty, after.dirty, shorten_stamps(between))


@dataclass(frozen=True, slots=True)
class TreeState:
    """The sources below a root when the turn ended: their digest, and when the last changed ones were changed."""

    root: str
    digest: str
    modified: Mapping[str, float] = field(default_factory=dict)
    head: str = ""
    dirty: Mapping[str, tuple[str, str]] | None = None  # what differs from the commit; None: too many files

    def find_changed_since(self, head: str, dirty: Mapping[str, tuple[str, str]] | None) -> tuple[str, ...]:
        """Return the sources whose contents differ from an earlier moment of the same commit; empty: not known."""
        # Times can be set back and are kept by some tools; contents can't lie.
        if dirty is None or self.dirty is None or head != self.head:
            return ()
        changes = compare_files(dirty, self.dirty, {})
        pairs = {**dirty, **self.dirty}
        return tuple(path for path in changes if can_make_checks_stale(path, tracked=bool(pairs[path][0])))

    def find_newest_since(self, timestamp: float) -> str:
        """Return the source changed last after this time; empty if there is none."""
        later = {path: when for path, when in self.modified.items() if when > timestamp}
        return max(later, key=later.__getitem__) if later else ""

    def record(self) -> dict[str, Any]:
        """Return the state as plain data; times in whole microseconds."""
        times = {path: int(when * 1e6) for path, when in self.modified.items()}
        return {"sha256": self.digest, "modified": times} | _record_files(self.dirty, self.head)

    @classmethod
    def from_record(cls, root: str, record: Mapping[str, Any]) -> "TreeState":
        """Return the state that `record` wrote."""
        times = {str(path): float(when) / 1e6 for path, when in (record.get("modified") or {}).items()}
        head, dirty = str(record.get("head", "")), read_file_pairs(record.get("dirty"))
        return cls(root, str(record.get("sha256", "")), times, head, dirty)


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What the repository and the file system show at the end of a turn, before a word of the message is read."""

    changes: Mapping[str, tuple[str, str]] | None = None  # net since the prompt; None: cannot be known
    root: str = ""
    digest: str = ""
    tests_before: Census = field(default_factory=Census)  # of the test files that changed
    tests_after: Census = field(default_factory=Census)
    syntax_errors: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)  # name in the message → `file`, `directory` or empty
    git_before: GitState | None = None
    git_after: GitState | None = None
    committed: frozenset[str] = frozenset()  # files in which the commits since the prompt differ
    checks: Mapping[str, str] = field(default_factory=dict)  # kind of check → a command that exists in the project
    earlier: Mapping[str, Any] = field(default_factory=dict)  # what an earlier stop of the session proved
    test_files: tuple[str, ...] = ()  # all of the project, where a run named some of them; none: not known
    packages: Mapping[str, bool] = field(default_factory=dict)  # directory with a manifest → whether it has tests
    first_digest: str = ""  # of the sources at the prompt
    own_tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # changed code → the tests of it, by name
    layout: tuple[str, ...] = ()  # changed code that differs in white space or comments alone
    unmerged: tuple[str, ...] = ()  # branches that HEAD does not contain, where the message speaks of a merge
    package_checks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # package with changed code → checks

    @property
    def created_paths(self) -> tuple[str, ...]:
        """Return the files that did not exist at the prompt."""
        return tuple(path for path, (old, new) in (self.changes or {}).items() if not old and new)

    @property
    def deleted_paths(self) -> tuple[str, ...]:
        """Return the files that existed at the prompt and are gone."""
        return tuple(path for path, (old, new) in (self.changes or {}).items() if old and not new)

    @property
    def has_changed_since_proof(self) -> bool:
        """Return whether the sources differ from those that an earlier stop proved something about."""
        return bool(self.earlier) and self.earlier.get("sha256") != self.digest

    def find_package(self, path: str) -> str:
        """Return the innermost package around a path of the project; empty where that is the project itself."""
        while path and path not in self.packages:
            path = path.rpartition("/")[0]
        return path

    def changed_of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Return the changed files of these kinds."""
        return tuple(path for path in self.changes or () if classify_file(path) in kinds)

    def record(self) -> dict[str, Any]:
        """Return the facts as plain data, bounded."""
        changes = None if self.changes is None else dict(list(self.changes.items())[:MAX_RECORDED_FILES])
        return {
            "changes": None if changes is None else {path: list(pair) for path, pair in changes.items()},
            "root": self.root,
            "sha256": self.digest,
            "tests": [list(self.tests_before), list(self.tests_after)],
            "syntax": dict(self.syntax_errors),
            "paths": dict(self.paths),
            "git": [git.record() if git else None for git in (self.git_before, self.git_after)],
            "committed": sorted(self.committed)[:MAX_RECORDED_FILES],
            "checks": dict(self.checks),
            "earlier": dict(self.earlier),
            **({"test_files": list(self.test_files)} if self.test_files else {}),
            **({"packages": dict(self.packages)} if self.packages else {}),
            **({"first": self.first_digest} if self.first_digest else {}),
            **({"own_tests": {path: list(tests) for path, tests in self.own_tests.items()}} if self.own_tests else {}),
            **({"layout": list(self.layout)} if self.layout else {}),
            **({"unmerged": list(self.unmerged)} if self.unmerged else {}),
            **({"package_checks": {k: dict(v) for k, v in self.package_checks.items()}} if self.package_checks else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "TurnFacts":
        """Return the facts that `record` wrote, so that the gate can be replayed from the log."""
        changes = record.get("changes")
        tests = record.get("tests") or [(0, 0), (0, 0)]
        git = [GitState.from_record(state) if isinstance(state, Mapping) else None for state in record.get("git") or ()]
        before, after = (*git, None, None)[:2]
        return cls(
            read_file_pairs(changes),
            str(record.get("root", "")),
            str(record.get("sha256", "")),
            Census(*tests[0]),
            Census(*tests[1]),
            dict(record.get("syntax") or {}),
            dict(record.get("paths") or {}),
            before,
            after,
            frozenset(map(str, record.get("committed") or ())),
            dict(record.get("checks") or {}),
            dict(record.get("earlier") or {}),
            tuple(map(str, record.get("test_files") or ())),
            {str(path): bool(has_tests) for path, has_tests in (record.get("packages") or {}).items()},
            str(record.get("first", "")),
            {str(path): tuple(map(str, tests)) for path, tests in (record.get("own_tests") or {}).items()},
            tuple(map(str, record.get("layout") or ())),
            tuple(map(str, record.get("unmerged") or ())),
            {str(path): dict(checks) for path, checks in (record.get("package_checks") or {}).items()},
        )


def sum_census(counts: Iterable[Census]) -> Census:
    """Return the census of several files together."""
    tests = marks = 0
    for census in counts:
        tests, marks = tests + census.tests, marks + census.marks
    return Census(tests, marks)
