"""The files of a project and the state of its repository at one moment, and what differs between two moments."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.lazy_regex import compile_lazily

DOC_SUFFIXES = (".md", ".rst", ".txt", ".adoc", ".log", ".mdx", ".org", ".tex", ".pdf")
"""Suffixes of documents, whose change makes no test run stale."""

CODE_SUFFIXES = tuple(
    ".py .pyi .pyx .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .scala .groovy .clj"
    " .c .h .cc .cpp .cxx .hpp .cs .fs .vb .rb .php .swift .m .mm .dart .lua .ex .exs .erl .hs .ml .r .jl .pl .pm"
    " .sh .bash .zsh .fish .ps1 .sql .proto .graphql .tf .hcl .nix .zig .gradle .cmake .bzl .mk .ipynb".split()
)
"""Suffixes of files that a compiler or an interpreter runs."""

STYLE_SUFFIXES = (".css", ".scss", ".less", ".sass", ".styl", ".html", ".htm")
DATA_SUFFIXES = tuple(".json .jsonc .yaml .yml .toml .ini .cfg .conf .xml .csv .tsv .env .properties .lock".split())
ASSET_SUFFIXES = tuple(
    ".png .jpg .jpeg .gif .svg .ico .webp .woff .woff2 .ttf .otf .mp3 .mp4 .wav .zip .gz .bin .po .pot".split()
)

_CODE_NAMES = frozenset(
    "makefile gnumakefile dockerfile justfile rakefile gemfile procfile cmakelists.txt build workspace".split()
)
_CI_PATH = compile_lazily(
    r"^(?:\.github/(?:workflows|actions)/|\.circleci/|\.buildkite/|\.gitlab-ci\.ya?ml$|\.travis\.ya?ml$"
    r"|azure-pipelines\.ya?ml$|bitbucket-pipelines\.ya?ml$|Jenkinsfile$|\.woodpecker)",
)
_IGNORE_NAME = compile_lazily(r"^\.(?:\w+ignore|gitattributes|gitkeep|editorconfig|mailmap)$")
_TEST_PATH = compile_lazily(
    r"(?:^|/)(?:tests?|__tests__|spec|specs)/|(?:^|/)(?:test_[^/]*|conftest\.py)$|[._-](?:test|tests|spec)\.\w+$"
)


EMPTY_STAMPS = ("e69de29bb2d1d643", "473a0f4c3be8a936")
"""How the recorded hash of an empty file begins, in repositories with SHA-1 and with SHA-256."""


def classify_file(path: str) -> str:
    """Return `code`, `data`, `document`, `style`, `asset`, `ci`, `ignore` or `other`, by the path alone."""
    name = path.rpartition("/")[2].lower()
    if _CI_PATH.search(path):
        return "ci"
    if _IGNORE_NAME.match(name):
        return "ignore"
    if name in _CODE_NAMES or name.endswith(CODE_SUFFIXES):
        return "code"
    for kind, suffixes in (
        ("document", DOC_SUFFIXES),
        ("style", STYLE_SUFFIXES),
        ("data", DATA_SUFFIXES),
        ("asset", ASSET_SUFFIXES),
    ):
        if name.endswith(suffixes):
            return kind
    return (
        "document" if re.match(r"(?:readme|license|licence|changelog|authors|notice|copying|todo)\b", name) else "other"
    )


def is_test_file(path: str) -> bool:
    """Return whether a file holds tests, by its path."""
    return classify_file(path) == "code" and bool(_TEST_PATH.search(path))


def name_test_run(directory: str, place: str, argv: Iterable[str]) -> str:
    """Return the name under which the tests of a command are counted: where it ran, from a directory, and its words."""
    return f"{posixpath.normpath(posixpath.join(directory, place))} {' '.join(argv)}"[:400]


def can_hold_tests(path: str) -> bool:
    """Return whether tests may stand in a file: it is a test file, or its language keeps them beside the code."""
    return is_test_file(path) or path.endswith((".rs", ".zig", ".d"))


_SELECTION_NAMES = frozenset("pyproject.toml pytest.ini tox.ini setup.cfg package.json makefile gnumakefile".split())


def can_select_tests(path: str) -> bool:
    """Return whether a file may say which of a project's tests run."""
    return path.rpartition("/")[2].lower() in _SELECTION_NAMES


def can_make_checks_stale(path: str, *, tracked: bool) -> bool:
    """Return whether a check that ran before this file changed no longer says anything about the project.

    A file that git does not know may be the result of a run, so only what people write by hand counts then.
    """
    kind = classify_file(path)
    if tracked:
        return kind in ("code", "data", "other")
    name = path.rpartition("/")[2].lower()
    is_written_by_hand = kind == "code" or name.endswith((".yaml", ".yml", ".toml", ".ini", ".cfg"))
    return is_written_by_hand and not any(part.startswith(".") for part in path.split("/"))


@dataclass(frozen=True, slots=True)
class GitState:
    """Where a repository stands: commit, branch, references, and whether a remote-tracking branch has the commit."""

    head: str = ""  # empty before the first commit
    branch: str = ""  # empty on a detached HEAD
    refs: Mapping[str, str] = field(default_factory=dict)
    pushed: bool | None = None  # None: could not be determined
    operation: str = ""  # a rebase, merge or cherry-pick that is under way
    settings: str = ""  # a digest of the repository's own configuration
    remotes: tuple[str, ...] = ()  # by name

    def record(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "head": self.head,
            "branch": self.branch,
            "refs": dict(self.refs),
            "pushed": self.pushed,
            "operation": self.operation,
            **({"settings": self.settings} if self.settings else {}),
            **({"remotes": list(self.remotes)} if self.remotes else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "GitState":
        """Return the state that `record` wrote."""
        pushed = record.get("pushed")
        return cls(
            str(record.get("head", "")),
            str(record.get("branch", "")),
            {str(name): str(id) for name, id in (record.get("refs") or {}).items()},
            pushed if isinstance(pushed, bool) else None,
            str(record.get("operation", "")),
            str(record.get("settings", "")),
            tuple(map(str, record.get("remotes") or ())),
        )


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The files below a root, each with a hash of its content. Trees with the same digest hold the same sources.

    `dirty` has the files that differ from the last commit, as (content in the commit, content now); without git every
    file differs from nothing. It is all that has to be recorded to compare two moments file by file.
    """

    root: str
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    dirty: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Only of files that differ from the last commit: a checkout sets the times of all others.
    modification_times: Mapping[str, float] = field(default_factory=dict)
    git: GitState | None = None

    def find_newest_since(self, timestamp: float) -> str:
        """Return the source changed last after this time, by its path below the root; empty if there is none."""
        later = {
            path: when
            for path, when in self.modification_times.items()
            if when > timestamp and can_make_checks_stale(path, tracked=bool(self.dirty.get(path, ("", ""))[0]))
        }
        return max(later, key=later.__getitem__) if later else ""


def compare_files(
    before: Mapping[str, tuple[str, str]],
    after: Mapping[str, tuple[str, str]],
    between: Mapping[str, tuple[str, str]],
) -> dict[str, tuple[str, str]]:
    """Return path → (content before, content after) of every file that differs between two moments.

    `before` and `after` are what differed from the commit of their moment; `between` is what differs between the two
    commits. Empty content means that there is no such file.
    """
    changes = {}
    for path in sorted({*before, *after, *between}):
        old = before[path][1] if path in before else between[path][0] if path in between else after[path][0]
        new = after[path][1] if path in after else between[path][1] if path in between else before[path][0]
        if old != new:
            changes[path] = (old, new)
    return changes
