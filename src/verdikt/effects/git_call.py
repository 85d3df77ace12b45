"""One git command: where it works, and the sets of paths that it may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import relpath
from typing import TYPE_CHECKING

from verdikt.effects.code import quote_shell_word
from verdikt.effects.program_record import find_options
from verdikt.hosts.registry import HOSTS
from verdikt.model.path_set import PathSet, PathSetKind, Pathspecs, is_glob, is_within
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

LEAVE_ALONE = ""
"""In place of a command: nothing does the same without the guarded files."""

_MARKER_DIRECTORIES = tuple(host.project_marker for host in HOSTS.values() if host.project_marker)


class GitCall:
    """One git command: the directory it works in, its subcommand, and the sets that it may change."""

    def __init__(self, command: Command, resolver: TargetResolver) -> None:
        self.resolver = resolver
        self.facts: Facts = resolver.facts
        self.directory = resolver.to_absolute(".", command.cwd)
        variables = {name: value.text for name, value in command.assignments if value.is_known}
        self.git_directory = variables.get("GIT_DIR", "")
        self.work_tree = variables.get("GIT_WORK_TREE", "")
        self.command = command
        self.words = self._read_global_options(command.argv[1:])
        self.name = self.words[0].text if self.words else ""
        self.stdin = command.stdin
        if self.git_directory:
            self.git_directory = self.to_absolute(self.git_directory)
            self.work_tree = self.to_absolute(self.work_tree or ".")
        elif self.work_tree:
            self.work_tree = self.to_absolute(self.work_tree)

    def _read_global_options(self, words: Sequence[Word]) -> tuple[Word, ...]:
        """Take in the options before the subcommand, and return the words from the subcommand on."""
        index = 0
        options = find_options("git")
        while index < len(words) and words[index].text.startswith("-"):
            flag, equals, value = words[index].text.partition("=")
            if not equals and (flag in options.values or flag in options.before):
                index += 1
                value = words[index].text if index < len(words) else ""
            if flag == "-C":
                self.directory = self.to_absolute(value)
            elif flag == "--git-dir":
                self.git_directory = value
            elif flag == "--work-tree":
                self.work_tree = value
            index += 1
        return tuple(words[index:])

    @property
    def top(self) -> str:
        """The top of the work tree, as far as it is known without asking git."""
        return self.work_tree or self.resolver.project_root or self.directory

    def to_absolute(self, text: str) -> str:
        """Return a path as the command means it; empty when the directory is not known."""
        return self.resolver.to_absolute(text, Word(self.directory)) if self.directory else ""

    def look_up(self, operation: str, *operands: str, specs: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the guarded paths that an operation would change, as far as pathspecs select them."""
        selection = Pathspecs.parse(specs, cwd=self.directory, top=self.top)
        if selection.included and not self._can_select_guarded(selection):
            return ()
        path_set = PathSet(PathSetKind.GIT, self.directory, (operation, self.git_directory, self.work_tree, *operands))
        return tuple(path for path in self.facts.guarded_in(path_set) or () if selection.selects(path))

    def _can_select_guarded(self, selection: Pathspecs) -> bool:
        """Return whether pathspecs can select a guarded path at all; most commands need not ask git then."""
        return any(is_glob(pattern) or self.meet_tree(pattern) for pattern in selection.included)

    def meet_tree(self, path: str) -> tuple[str, ...]:
        """Return the guarded paths that lie at, below or above a path."""
        return self.facts.find_guarded(PathSet(PathSetKind.TREE, path)) if path else ()

    def meet_existing(self, path: str) -> tuple[str, ...]:
        """Return the same of those that exist."""
        return tuple(place for place in self.meet_tree(path) if self.facts.path(place, git=False).exists)

    # Commands that do the same without the guarded paths.

    def exclude(self, paths: Iterable[str]) -> str:
        """Return pathspecs that leave out the given paths, by directory where a host has one of its own."""
        mark = ":!" if self.directory == self.top else ":(top,exclude)"
        return " ".join(quote_shell_word(f"{mark}{name}") for name in self.name_excluded(paths))

    def name_excluded(self, paths: Iterable[str]) -> list[str]:
        """Return the names to leave out, from the top of the work tree."""
        names = []
        for path in paths:
            name = relpath(path, self.top)
            names.append(next((d for d in _MARKER_DIRECTORIES if is_within(name, d)), name))
        return list(dict.fromkeys(names))

    def append_exclusions(self, paths: Sequence[str], specs: Sequence[Word]) -> str:
        """Return the same command with pathspecs that leave out the guarded paths."""
        # A command that names a guarded file itself has no other purpose.
        if any(is_within(self.to_absolute(word.text), path) for word in specs for path in paths):
            return LEAVE_ALONE
        before = [word for word in self.words if word not in specs and word.text != "--"]
        options = " ".join(quote_shell_word(word.text, "@{}^~:") for word in before)
        chosen = " ".join(quote_shell_word(word.text) for word in specs) or "."
        return f"git {options} -- {chosen} {self.exclude(paths)}"

    def apply_difference(self, difference: str, paths: Iterable[str]) -> str:
        """Return a command that applies the difference between two revisions without the guarded paths."""
        return f"git diff {difference} -- . {self.exclude(paths)} | git apply --index --3way"
