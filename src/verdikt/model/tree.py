"""The sources of a project at one moment: what a test run was about."""

from collections.abc import Mapping

from verdikt.model.value import Value, field

DOCS = (".md", ".rst", ".txt", ".adoc", ".log")
"""Endings of files whose change makes no test stale."""

SOURCES = tuple(
    ".py .pyi .pyx .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .scala .groovy .clj .c .h .cc .cpp .cxx .hpp"
    " .cs .fs .vb .rb .php .swift .m .mm .dart .lua .ex .exs .erl .hs .ml .r .jl .pl .pm .sh .bash .zsh .fish .ps1 .sql .proto .graphql"
    " .tf .hcl .nix .zig .css .scss .less .yaml .yml .toml .ini .cfg .gradle .cmake .bzl .mk".split()
)
"""Endings of files that are written by hand, and not left behind by a run."""

_NAMES = (
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


class SourceTree(Value):
    """The relevant files below a root, each with what it holds. Two trees of one digest hold the same."""

    root: str
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    touched: Mapping[str, float] = field(default_factory=dict)  # when those were changed that are not as committed

    def newest_since(self, moment: float) -> str:
        """The file changed last after a moment, by its path below the root; empty when none is known."""
        later = {path: when for path, when in self.touched.items() if when > moment}
        return max(later, key=later.__getitem__) if later else ""


def is_source(path: str) -> bool:
    """Whether a file that nobody committed is likely to be one that tests could be about."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(SOURCES) or name in _NAMES
