"""State that the text has set so far: variables, functions, aliases, the directory, files it wrote."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.statement import Statement


class WildcardValue(str):
    """Variable value that stands for the files a wildcard matches, even between quotes."""

    __slots__ = ()


VariableValue = str | list[str] | tuple[str, ...]
"""A string, an array, or alternatives of which one holds; no alternatives means unset."""

UNSET: tuple[str, ...] = ()
# A command is walked once for each combination of values; with more of them the value counts as unknown.
_MAX_ALTERNATIVES = 6
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Scope:
    """Layer over its parent: the layer of a subshell is thrown away, that of a branch is merged back."""

    __slots__ = (
        "_aliases",
        "_directory_stack",
        "_exported_names",
        "_functions",
        "_written_files",
        "arguments",
        "has_alternatives",
        "parent",
        "variables",
    )

    def __init__(self, parent: "Scope | None" = None, *, cwd: str | None = None) -> None:
        self.parent = parent
        self.variables: dict[str, VariableValue] = {}
        # Created when first needed: every subshell and branch is a layer, and most of them set nothing.
        self._functions: dict[str, tuple[Statement, bool] | None] | None = None
        self._aliases: dict[str, str | None] | None = None
        self._exported_names: set[str] | None = None
        if parent is None:
            self.arguments: list[str] | None = None
            self._directory_stack: tuple[str | None, ...] = (cwd,)
            self.has_alternatives = False  # some variable has alternatives
            self._written_files: dict[str, str | None] = {}  # the disk is one for all layers
        else:
            self.arguments = parent.arguments
            self._directory_stack = parent._directory_stack
            self.has_alternatives = parent.has_alternatives
            self._written_files = parent._written_files

    @property
    def cwd(self) -> str | None:
        """The directory of the next command: None where the action runs, else a path, perhaps with unknown parts."""
        return self._directory_stack[-1]

    @cwd.setter
    def cwd(self, path: str | None) -> None:
        self._directory_stack = (*self._directory_stack[:-1], path)

    @property
    def directory_stack(self) -> tuple[str | None, ...]:
        """The directories of `pushd`, the current one last."""
        return self._directory_stack

    @directory_stack.setter
    def directory_stack(self, paths: tuple[str | None, ...]) -> None:
        self._directory_stack = paths

    def get_variable(self, name: str) -> VariableValue | None:
        """Return a variable's value; None when the text never set it."""
        layer: Scope | None = self
        while layer is not None:
            if name in layer.variables:
                return layer.variables[name]
            layer = layer.parent
        return None

    def set_variable(self, name: str, value: VariableValue) -> None:
        """Set a variable in this layer."""
        self.variables[name] = value

    def restore_variable(self, name: str, value: VariableValue | None) -> None:
        """Restore the value that a variable had; None removes it."""
        if value is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def export_variable(self, name: str) -> None:
        """Export a variable to child processes."""
        if self._exported_names is None:
            self._exported_names = set()
        self._exported_names.add(name)

    def define_function(self, name: str, body: "Statement | None", *, is_certain: bool = True) -> None:
        """Define a function; None removes it."""
        if self._functions is None:
            self._functions = {}
        self._functions[name] = None if body is None else (body, is_certain)

    def find_function(self, name: str) -> "tuple[Statement, bool] | None":
        """Return a function's body, and whether it is certainly defined."""
        layer: Scope | None = self
        while layer is not None:
            if layer._functions is not None and name in layer._functions:
                return layer._functions[name]
            layer = layer.parent
        return None

    def set_alias(self, name: str, text: str | None) -> None:
        """Set an alias; None removes it."""
        if self._aliases is None:
            self._aliases = {}
        self._aliases[name] = text

    def find_alias(self, name: str) -> str | None:
        """Return the text that an alias stands for."""
        layer: Scope | None = self
        while layer is not None:
            if layer._aliases is not None and name in layer._aliases:
                return layer._aliases[name]
            layer = layer.parent
        return None

    def record_file(self, path: str, contents: str | None) -> None:
        """Record what the text wrote to a file; None when that is not known."""
        self._written_files[path] = contents

    def find_file(self, path: str) -> tuple[bool, str | None]:
        """Return whether the text wrote a file, and its contents when they are known."""
        return path in self._written_files, self._written_files.get(path)

    def merge_branches(self, branches: "list[Scope]", *, is_exhaustive: bool = False) -> None:
        """Merge branches of which one ran, or none unless `is_exhaustive`; values that differ become alternatives."""
        for name in {name: None for branch in branches for name in branch.variables}:
            before = self.get_variable(name)
            options: list[VariableValue] = [] if is_exhaustive or before is None else [before]
            options += [branch.variables[name] for branch in branches if name in branch.variables]
            if is_exhaustive and before is not None and any(name not in branch.variables for branch in branches):
                options.append(before)
            self.variables[name] = merged = _merge_alternatives(options)
            self.has_alternatives = self.has_alternatives or isinstance(merged, tuple)
        for branch in branches:
            self._absorb_branch(branch)

    def _absorb_branch(self, branch: "Scope") -> None:
        """Merge everything of a branch except its variables."""
        self.has_alternatives = self.has_alternatives or branch.has_alternatives
        for name in branch._exported_names or ():
            self.export_variable(name)
        for name, text in (branch._aliases or {}).items():
            self.set_alias(name, text)
        for name, function in (branch._functions or {}).items():
            self.define_function(name, function and function[0], is_certain=False)
        # `if a; then cd b; fi`: the directory of the branch is taken, since a `cd` is written to take effect.
        if branch._directory_stack is not self._directory_stack:
            self._directory_stack = branch._directory_stack


def _merge_alternatives(values: list[VariableValue]) -> VariableValue:
    first = values[0]
    if all(option == first for option in values):
        return first
    alternatives: dict[str, None] = {}
    for option in values:
        if isinstance(option, list):
            return UNKNOWN
        for text in (option,) if isinstance(option, str) else option or ("",):
            alternatives[text] = None
    return tuple(alternatives) if len(alternatives) <= _MAX_ALTERNATIVES else UNKNOWN


def build_environment(env: Mapping[str, str] | None, home: str, cwd: str) -> Mapping[str, str]:
    """Return the variables that every command starts with, as far as the caller knows them."""
    return {**_build_default_environment(home, cwd), **env} if env else _build_default_environment(home, cwd)


@lru_cache(maxsize=64)
def _build_default_environment(home: str, cwd: str) -> Mapping[str, str]:
    known = {"IFS": " \t\n", "OPTIND": "1", "SHELL": "/bin/bash", "BASH": "/bin/bash", "PATH": _DEFAULT_PATH}
    if home:
        known["HOME"] = home
    if cwd:
        known["PWD"] = cwd
    return known
