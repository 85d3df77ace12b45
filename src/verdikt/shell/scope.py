"""What the text read so far has set: variables, functions, aliases, the directory, files it wrote."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.syntax import Statement


class Pattern(str):
    """A variable's value that stands for whatever files a wildcard matches, even between quotes."""

    __slots__ = ()


Value = str | list[str] | tuple[str, ...]
"""A string, an array, or alternatives of which one holds; no alternatives: unset."""

UNSET: tuple[str, ...] = ()
_MOST_ALTERNATIVES = 6


class Scope:
    """A layer over its parent: a subshell is a layer that is thrown away, a branch is one that is merged back."""

    __slots__ = ("_cwd", "aliases", "arguments", "exported", "files", "functions", "parent", "uncertain", "values")

    def __init__(self, parent: "Scope | None" = None, *, cwd: str | None = None) -> None:
        self.parent = parent
        self.values: dict[str, Value] = {}
        self.functions: dict[str, tuple[Statement, bool] | None] = {}
        self.aliases: dict[str, str | None] = {}
        self.files: dict[str, str | None] = {}
        self.exported: set[str] = set()
        self.arguments: list[str] | None = parent.arguments if parent else None
        self._cwd: list[str | None] = parent.cwd_stack.copy() if parent else [cwd]
        self.uncertain: bool = parent.uncertain if parent else False  # some variable has alternatives

    @property
    def cwd(self) -> str | None:
        """Where commands run: None where the action runs, else a path, perhaps with unknown parts."""
        return self._cwd[-1]

    @cwd.setter
    def cwd(self, path: str | None) -> None:
        self._cwd[-1] = path

    @property
    def cwd_stack(self) -> list[str | None]:
        """The directories of `pushd`, the current one last."""
        return self._cwd

    def _layers(self) -> "Iterator[Scope]":
        layer: Scope | None = self
        while layer is not None:
            yield layer
            layer = layer.parent

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

    def function(self, name: str) -> "tuple[Statement, bool] | None":
        """A function's body and whether it is certainly defined."""
        return next((layer.functions[name] for layer in self._layers() if name in layer.functions), None)

    def alias(self, name: str) -> str | None:
        """What an alias stands for."""
        return next((layer.aliases[name] for layer in self._layers() if name in layer.aliases), None)

    def file(self, path: str) -> tuple[bool, str | None]:
        """Whether the text wrote a file, and what is in it when that is known."""
        for layer in self._layers():
            if path in layer.files:
                return True, layer.files[path]
        return False, None

    def exports(self) -> dict[str, str]:
        """What a child process gets to see."""
        found: dict[str, str] = {}
        names = {name for layer in self._layers() for name in layer.exported}
        for name in names:
            value = self.get(name)
            if isinstance(value, str):
                found[name] = value
        return found

    def exported_functions(self) -> "dict[str, tuple[Statement, bool] | None]":
        """Every function, for a child shell that may have been given it with `export -f`."""
        found: dict[str, tuple[Statement, bool] | None] = {}
        for layer in self._layers():
            for name, function in layer.functions.items():
                found.setdefault(name, function)
        return found

    def merge(self, branches: "list[Scope]", *, always: bool = False) -> None:
        """Takes in what branches did, of which one ran, or none unless `always`: what differs becomes alternatives."""
        names = {name: None for branch in branches for name in branch.values}
        for name in names:
            before = self.get(name)
            options: list[Value] = [] if always or before is None else [before]
            options += [branch.values[name] for branch in branches if name in branch.values]
            if always and before is not None and any(name not in branch.values for branch in branches):
                options.append(before)
            self.values[name] = merged = _either(options)
            self.uncertain = self.uncertain or isinstance(merged, tuple)
        for branch in branches:
            self.exported |= branch.exported
            self.aliases.update(branch.aliases)
            self.files.update(branch.files)
            self.uncertain = self.uncertain or branch.uncertain
            for function, body in branch.functions.items():
                self.functions[function] = body and (body[0], False)
            if branch.cwd != self.cwd:
                self._cwd = branch.cwd_stack


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


def known_environment(env: Mapping[str, str] | None, home: str, cwd: str) -> dict[str, str]:
    """The variables that every command starts with, as far as the caller knows them."""
    known = {"IFS": " \t\n", "OPTIND": "1", "SHELL": "/bin/bash", "BASH": "/bin/bash"}
    if home:
        known["HOME"] = home
    if cwd:
        known["PWD"] = cwd
    if env:
        known.update(env)
    return known
