"""Sets of paths that an action may write, move or delete, and whether they can meet a guarded path.

A path, a directory with its contents and a glob are compared as text. Whether a copy, an archive, a patch or a git tree
holds a guarded path can only be looked up, which `World.guarded_in` does. A set that is not known meets nothing: what
it changes is put back afterwards.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from posixpath import join, normpath
from typing import NamedTuple

_WILDCARDS = frozenset("*?[")


class PathSetKind(enum.StrEnum):
    """What a set is made of."""

    __hash__ = str.__hash__

    PATH = "path"  # one path
    TREE = "tree"  # a directory and everything below it
    GLOB = "glob"  # every path that a pattern matches
    COPY = "copy"  # what a source has, at the place it is copied to
    ARCHIVE = "archive"  # what an archive holds, at the place it is unpacked
    PATCH = "patch"  # the files that a patch names, at the place it is applied
    GIT = "git"  # what a git command changes in a work tree


class PathSet(NamedTuple):
    """A set of absolute paths. `path` is the path, the pattern, or the directory in which the change happens.

    `arguments` says what to look up, for kinds that cannot be compared as text. With `below`, whatever a pattern
    matches is taken with everything in it, as deleting and moving do.
    """

    kind: PathSetKind
    path: str
    arguments: tuple[str, ...] = ()
    below: bool = False

    @property
    def key(self) -> str:
        """A text that identifies the set, under which its answer is recorded."""
        kind = f"{self.kind.value}+" if self.below else self.kind.value
        return "\x1f".join((kind, self.path, *self.arguments))

    @property
    def is_textual(self) -> bool:
        """Whether the set can be compared with a path as text."""
        return self.kind in (PathSetKind.PATH, PathSetKind.TREE, PathSetKind.GLOB)

    def can_meet(self, guarded: str) -> bool:
        """Return whether a guarded file, or a guarded directory with everything in it, can be in the set."""
        match self.kind:
            case PathSetKind.PATH:
                return is_within(self.path, guarded)
            case PathSetKind.TREE:
                return is_within(self.path, guarded) or is_within(guarded, self.path)
            case PathSetKind.GLOB:
                return _can_glob_meet(self.path, guarded, below=self.below)
        return False


def is_glob(text: str) -> bool:
    """Return whether a text has wildcards."""
    return not _WILDCARDS.isdisjoint(text)


def is_any_file(path: str) -> bool:
    """Return whether a pattern stands for an unknown part of a tree, such as the files that a search finds."""
    return path == "**/*" or path.endswith("/**/*")


def is_within(path: str, directory: str) -> bool:
    """Return whether a path is the directory itself or lies below it."""
    return path == directory or path.startswith(directory if directory[-1:] == "/" else directory + "/")


def _can_glob_meet(pattern: str, guarded: str, *, below: bool) -> bool:
    parts, wanted = pattern.strip("/").split("/"), guarded.strip("/").split("/")
    if _match_parts(parts, wanted):
        return True
    # A guarded directory is met by a pattern for something in it; of `**` it is not known what it stands for.
    if len(parts) > len(wanted) and "**" not in parts[: len(wanted)] and _match_parts(parts[: len(wanted)], wanted):
        return True
    return below and any(_match_parts(parts, wanted[:depth]) for depth in range(1, len(wanted)))


def _match_parts(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a pattern matches a path, name by name; `**` stands for any number of names."""
    # All positions at once: a pattern with many `**` must not make this slow.
    reached = {0}
    for part in parts:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            hidden = "**" in parts
            reached = {i + 1 for i in reached if i < len(names) and _match_name(part, names[i], hidden=hidden)}
        if not reached:
            return False
    return len(names) in reached


def _match_name(pattern: str, name: str, *, hidden: bool) -> bool:
    # A shell's `*` leaves out names that begin with a dot; `find -name`, which becomes `**`, does not.
    if name.startswith(".") and not hidden and not pattern.startswith((".", "[")):
        return False
    return pattern == name or fnmatchcase(name, pattern)


class Pathspecs(NamedTuple):
    """What git's pathspecs select, as absolute patterns; without a positive one, everything."""

    included: tuple[str, ...]
    excluded: tuple[str, ...]

    @classmethod
    def parse(cls, specs: Iterable[str], *, cwd: str, top: str) -> Pathspecs:
        """Read pathspecs as written in `cwd`. Magic that is not known here selects everything below the top."""
        included: list[str] = []
        excluded: list[str] = []
        for spec in specs:
            exclude, base, pattern = _read_pathspec(spec, cwd, top)
            path = normpath(join(base, pattern))
            (excluded if exclude else included).append(path)
        return cls(tuple(included), tuple(excluded))

    def selects(self, path: str) -> bool:
        """Return whether a path, or something in it, is selected."""
        if any(is_within(path, pattern) or _match_pathspec(pattern, path) for pattern in self.excluded):
            return False
        return not self.included or any(
            is_within(path, pattern) or is_within(pattern, path) or _match_pathspec(pattern, path)
            for pattern in self.included
        )


def _read_pathspec(spec: str, cwd: str, top: str) -> tuple[bool, str, str]:
    """Return whether a pathspec excludes, the directory it starts from, and its pattern."""
    if spec.startswith(":("):
        magic, _, pattern = spec[2:].partition(")")
        words = set(magic.split(","))
        known = {"exclude", "top", "literal", "glob", ""}.issuperset(words)
        # An exclusion that is not understood excludes nothing.
        if not known:
            return "exclude" in words, top, "\0" if "exclude" in words else ""
        return "exclude" in words, top if "top" in words else cwd, pattern
    if spec.startswith(":"):
        pattern = spec[1:].lstrip("/!^")
        marks = spec[1 : len(spec) - len(pattern)]
        return "!" in marks or "^" in marks, top if "/" in marks else cwd, pattern
    return False, cwd, spec


def _match_pathspec(pattern: str, path: str) -> bool:
    # In a pathspec `*` matches `/` as well.
    return is_glob(pattern) and (fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*"))
