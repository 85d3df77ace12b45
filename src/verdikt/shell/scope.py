"""What the text read so far has set: variables, functions, aliases, the directory, files it wrote."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.statement import Statement


class Pattern(str):
    """A variable's value that stands for whatever files a wildcard matches, even between quotes."""

    __slots__ = ()


Value = str | list[str] | tuple[str, ...]
"""A string, an array, or alternatives of which one holds; no alternatives: unset."""

UNSET: tuple[str, ...] = ()
_MOST_ALTERNATIVES = 6
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Scope:
    """A layer over its parent: a subshell is a layer that is thrown away, a branch is one that is merged back."""

    __slots__ = ("_aliases", "_cwd", "_exported", "_files", "_functions", "arguments", "parent", "uncertain", "values")

    def __init__(self, parent: "Scope | None" = None, *, cwd: str | None = None) -> None:
        self.parent = parent
        self.values: dict[str, Value] = {}
        # Made when first needed: most layers set nothing.
        self._functions: dict[str, tuple[Statement, bool] | None] | None = None
        self._aliases: dict[str, str | None] | None = None
        self._exported: set[str] | None = None
        if parent is None:
            self.arguments: list[str] | None = None
            self._cwd: tuple[str | None, ...] = (cwd,)
            self.uncertain = False  # some variable has alternatives
            self._files: dict[str, str | None] = {}  # the disk is one for all layers
        else:
            self.arguments = parent.arguments
            self._cwd = parent._cwd
            self.uncertain = parent.uncertain
            self._files = parent._files

    @property
    def cwd(self) -> str | None:
        """Where commands run: None where the action runs, else a path, perhaps with unknown parts."""
        return self._cwd[-1]

    @cwd.setter
    def cwd(self, path: str | None) -> None:
        self._cwd = (*self._cwd[:-1], path)

    @property
    def directories(self) -> tuple[str | None, ...]:
        """The directories of `pushd`, the current one last."""
        return self._cwd

    @directories.setter
    def directories(self, paths: tuple[str | None, ...]) -> None:
        self._cwd = paths

    def get(self, name: str) -> Value | None:
        """A variable's value; None when the text never set it."""
        layer: Scope | None = self
        while layer is not None:
            if name in layer.values:
                return layer.values[name]
            layer = layer.parent
        return None

    def set(self, name: str, value: Value) -> None:
        """Sets a variable here."""
        self.values[name] = value

    def restore(self, name: str, value: Value | None) -> None:
        """Gives a variable back the value that it had, or none."""
        if value is None:
            self.values.pop(name, None)
        else:
            self.values[name] = value

    def export(self, name: str) -> None:
        """Hands a variable to child processes."""
        if self._exported is None:
            self._exported = set()
        self._exported.add(name)

    def define(self, name: str, body: "Statement | None", *, certain: bool = True) -> None:
        """Defines a function, or with None forgets it."""
        if self._functions is None:
            self._functions = {}
        self._functions[name] = None if body is None else (body, certain)

    def function(self, name: str) -> "tuple[Statement, bool] | None":
        """A function's body and whether it is certainly defined."""
        layer: Scope | None = self
        while layer is not None:
            if layer._functions is not None and name in layer._functions:
                return layer._functions[name]
            layer = layer.parent
        return None

    def rename(self, name: str, text: str | None) -> None:
        """Sets an alias, or with None removes it."""
        if self._aliases is None:
            self._aliases = {}
        self._aliases[name] = text

    def alias(self, name: str) -> str | None:
        """What an alias stands for."""
        layer: Scope | None = self
        while layer is not None:
            if layer._aliases is not None and name in layer._aliases:
                return layer._aliases[name]
            layer = layer.parent
        return None

    def write(self, path: str, contents: str | None) -> None:
        """Remembers what the text wrote to a file; None when that is not known."""
        self._files[path] = contents

    def file(self, path: str) -> tuple[bool, str | None]:
        """Whether the text wrote a file, and what is in it when that is known."""
        return path in self._files, self._files.get(path)

    def merge(self, branches: "list[Scope]", *, always: bool = False) -> None:
        """Takes in what branches did, of which one ran, or none unless `always`: what differs becomes alternatives."""
        for name in {name: None for branch in branches for name in branch.values}:
            before = self.get(name)
            options: list[Value] = [] if always or before is None else [before]
            options += [branch.values[name] for branch in branches if name in branch.values]
            if always and before is not None and any(name not in branch.values for branch in branches):
                options.append(before)
            self.values[name] = merged = _either(options)
            self.uncertain = self.uncertain or isinstance(merged, tuple)
        for branch in branches:
            self._absorb(branch)

    def _absorb(self, branch: "Scope") -> None:
        """Takes in everything of a branch except its variables."""
        self.uncertain = self.uncertain or branch.uncertain
        for name in branch._exported or ():
            self.export(name)
        for name, text in (branch._aliases or {}).items():
            self.rename(name, text)
        for name, function in (branch._functions or {}).items():
            self.define(name, function and function[0], certain=False)
        if branch._cwd is not self._cwd:
            self._cwd = branch._cwd


def _either(options: list[Value]) -> Value:
    first = options[0]
    if all(option == first for option in options):
        return first
    found: dict[str, None] = {}
    for option in options:
        if isinstance(option, list):
            return UNKNOWN
        for text in (option,) if isinstance(option, str) else option or ("",):
            found[text] = None
    return tuple(found) if len(found) <= _MOST_ALTERNATIVES else UNKNOWN


def known_environment(env: Mapping[str, str] | None, home: str, cwd: str) -> Mapping[str, str]:
    """The variables that every command starts with, as far as the caller knows them."""
    return {**_usual(home, cwd), **env} if env else _usual(home, cwd)


@lru_cache(maxsize=64)
def _usual(home: str, cwd: str) -> Mapping[str, str]:
    known = {"IFS": " \t\n", "OPTIND": "1", "SHELL": "/bin/bash", "BASH": "/bin/bash", "PATH": _PATH}
    if home:
        known["HOME"] = home
    if cwd:
        known["PWD"] = cwd
    return known
