"""The source files of a project at one moment, to tell whether a test run is still about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DOC_SUFFIXES = (".md", ".rst", ".txt", ".adoc", ".log")
"""Suffixes of files whose change makes no test run stale."""

SOURCE_SUFFIXES = tuple(
    ".py .pyi .pyx .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .scala .groovy .clj"
    " .c .h .cc .cpp .cxx .hpp .cs .fs .vb .rb .php .swift .m .mm .dart .lua .ex .exs .erl .hs .ml .r .jl .pl .pm"
    " .sh .bash .zsh .fish .ps1 .sql .proto .graphql .tf .hcl .nix .zig .css .scss .less"
    " .yaml .yml .toml .ini .cfg .gradle .cmake .bzl .mk".split()
)
"""Suffixes of files that people write, as opposed to files that a run leaves behind."""

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
    """The relevant files below a root, each with a hash of its content. Trees with the same digest are equal."""

    root: str
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    # Only of files that differ from the last commit: a checkout sets the times of all others.
    modification_times: Mapping[str, float] = field(default_factory=dict)

    def find_newest_since(self, timestamp: float) -> str:
        """Return the file changed last after this time, by its path below the root; empty if there is none."""
        later = {path: when for path, when in self.modification_times.items() if when > timestamp}
        return max(later, key=later.__getitem__) if later else ""


def is_source_file(path: str) -> bool:
    """Return whether an uncommitted file is likely to be one that tests could be about."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(SOURCE_SUFFIXES) or name in _SOURCE_NAMES
