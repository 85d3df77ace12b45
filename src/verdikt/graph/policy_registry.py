"""The names that a policy file may use: guards, sections, effects, and the import of custom guards."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.schema_type import Section


def refuse_import(path: str) -> Any:
    """Raise for every path: an importer for documents that may not name custom guards."""
    raise ImportError(f"no module for `{path}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRegistry:
    """The names that the parser accepts; passed in, so that it imports no other package.

    `load` turns `package.module:Name` into the object it names; `effects` are the dotted names that effects can have,
    `meanings` says what each of them means in words.
    """

    guards: Mapping[str, Any] = field(default_factory=dict)  # name → class, or the import path of one
    sections: Mapping[str, Section] = field(default_factory=dict)
    effects: Collection[str] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    load: Callable[[str], Any] = refuse_import
    _known: frozenset[str] = field(init=False, repr=False, compare=False)
    _below: Mapping[str, list[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        below: dict[str, list[str]] = {}
        for name in self.meanings:
            for end in (*(end for end, char in enumerate(name) if char == "."), len(name)):
                below.setdefault(name[:end], []).append(name)
        object.__setattr__(self, "_below", below)
        parents = (name[:end] for name in self.effects for end, char in enumerate(name) if char == ".")
        object.__setattr__(self, "_known", frozenset([*self.effects, *parents]))

    def knows_effect(self, name: str) -> bool:
        """Return whether effects can have this name, or one above or below it; true if none are registered."""
        if not self.effects or name in self._known:
            return True
        # A manifest may declare effects below a known one, as `db.drop.index` below `db.drop`.
        while name and name not in self.effects:
            name = name.rpartition(".")[0]
        return bool(name)

    def select_meanings(self, patterns: str | Collection[str]) -> dict[str, str]:
        """Return what the effects that these patterns match mean: those below each, and the nearest above it.

        Without patterns, all of them.
        """
        if not patterns:
            return dict(self.meanings)
        names: list[str] = []
        for pattern in (patterns,) if isinstance(patterns, str) else patterns:
            names += self._below.get(pattern) or [pattern[: pattern.rfind(".")]]
        return {name: self.meanings[name] for name in names if name in self.meanings}

    def get_guard_class(self, name: str) -> Callable[..., Any]:
        """Return the class of a built-in guard."""
        reference = self.guards[name]
        guard_class: Callable[..., Any] = self.load(reference) if isinstance(reference, str) else reference
        return guard_class
