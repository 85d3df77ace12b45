"""What a policy file may name: guards, sections, effects, and where custom guards are found."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.shape import Section


def no_import(path: str) -> Any:
    """An importer that finds nothing."""
    raise ImportError(f"no module for `{path}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The names that the pure parser is given, so that it needs to know no other room.

    `load` turns `package.module:Name` into the object it names; `effects` are the dotted names that effects can have.
    """

    guards: Mapping[str, Any] = field(default_factory=dict)  # name → class, or the import path of one
    sections: Mapping[str, Section] = field(default_factory=dict)
    effects: Collection[str] = ()
    load: Callable[[str], Any] = no_import

    def guard(self, name: str) -> Callable[..., Any]:
        """The class of a built-in guard."""
        found = self.guards[name]
        made: Callable[..., Any] = self.load(found) if isinstance(found, str) else found
        return made
