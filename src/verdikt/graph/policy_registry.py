"""What a policy file may name: guards, sections, effects, and where custom guards are found."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.schema_type import Section


def refuse_import(path: str) -> Any:
    """An importer that finds nothing."""
    raise ImportError(f"no module for `{path}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRegistry:
    """The names that the pure parser is given, so that it needs to know no other room.

    `load` turns `package.module:Name` into the object it names; `effects` are the dotted names that effects can have.
    """

    guards: Mapping[str, Any] = field(default_factory=dict)  # name → class, or the import path of one
    sections: Mapping[str, Section] = field(default_factory=dict)
    effects: Collection[str] = ()
    load: Callable[[str], Any] = refuse_import
    _known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        above = (name[:at] for name in self.effects for at, char in enumerate(name) if char == ".")
        object.__setattr__(self, "_known", frozenset([*self.effects, *above]))

    def knows_effect(self, name: str) -> bool:
        """Whether effects can have this name, or one above or below it; any name when nobody told which there are."""
        if not self.effects or name in self._known:
            return True
        while name and name not in self.effects:
            name = name.rpartition(".")[0]
        return bool(name)

    def get_guard_class(self, name: str) -> Callable[..., Any]:
        """The class of a built-in guard."""
        found = self.guards[name]
        made: Callable[..., Any] = self.load(found) if isinstance(found, str) else found
        return made
