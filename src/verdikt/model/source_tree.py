"""The sources of a project at one moment: what a test run was about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DOC_SUFFIXES = (".md", ".rst", ".txt", ".adoc", ".log")
"""Endings of files whose change makes no test stale."""

SOURCE_SUFFIXES = tuple(
    ".py .pyi .pyx .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx .hpp"
    " .cs .fs .vb .rb .php .swift .m .mm .dart .lua .ex .exs .erl .hs .ml .r .jl .pl .pm .sh .bash .zsh .fish .ps1 .sql .proto .graphql"
    " .tf .hcl .nix .zig .css .scss .less .yaml .yml .toml .ini .cfg .gradle .cmake .bzl .mk".split()
)
"""Endings of files that are written by hand, and not left behind by a run."""

_SOURCE_NAMES = (
    "makefile",
    "dockerfile",
    "justfile",
    "rakefile",
    "gemfile",
    "procfile",
    "cmakelists.txt",
    "build",
    "workspace",
)


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The relevant files below a root, each with what it holds. Two trees of one digest hold the same."""

    root: str
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    modification_times: Mapping[str, float] = field(
        default_factory=dict
    )  # when those were changed that are not as committed

    def find_newest_since(self, timestamp: float) -> str:
        """The file changed last after a moment, by its path below the root; empty when none is known."""
        later = {path: when for path, when in self.modification_times.items() if when > timestamp}
        return max(later, key=later.__getitem__) if later else ""


def is_source_file(path: str) -> bool:
    """Whether a file that nobody committed is likely to be one that tests could be about."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(SOURCE_SUFFIXES) or name in _SOURCE_NAMES
