"""An index of globs by a literal part, which finds those that can fit a target without trying the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.graph.prefix_table import PrefixTable

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.effect import Target


def has_literal(glob: str) -> bool:
    """Return whether a glob can be indexed: some part of it is no wildcard."""
    return bool(_index_keys(glob))


class GlobIndex:
    """Globs indexed by their literal prefix, by a literal part of the path, or by an end of the file name."""

    __slots__ = ("_has_name_tables", "_home", "_name_prefixes", "_name_suffixes", "_parts", "_path", "_root", "_text")

    def __init__(self, numbers_by_glob: Mapping[str, list[int]]) -> None:
        tables: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for glob, numbers in numbers_by_glob.items():
            for table, key in _index_keys(glob):
                tables[table][key] += numbers

        def make_prefix_table(name: str) -> PrefixTable | None:
            return PrefixTable(tables[name]) if tables[name] else None

        self._text, self._path, self._home, self._root = map(make_prefix_table, ("text", "path", "home", "root"))
        self._name_prefixes, self._name_suffixes = make_prefix_table("begins"), make_prefix_table("ends")
        self._parts = dict(tables["part"])
        self._has_name_tables = bool(self._name_prefixes or self._name_suffixes)

    def dump(self) -> tuple[Any, ...]:
        """Return the index as plain data."""
        tables = (self._text, self._path, self._home, self._root, self._name_prefixes, self._name_suffixes)
        return tuple(table and table.dump() for table in tables), self._parts

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> GlobIndex:
        """Return the index that `dump` wrote."""
        index = cls.__new__(cls)
        tables, index._parts = data
        loaded = [table and PrefixTable.load(table) for table in tables]
        index._text, index._path, index._home, index._root, index._name_prefixes, index._name_suffixes = loaded
        index._has_name_tables = bool(index._name_prefixes or index._name_suffixes)
        return index

    def collect_candidates(self, target: Target, ctx: GovernanceContext, rule_numbers: list[int]) -> None:
        """Append the rule numbers of every glob that can fit, and of few others."""
        path, facts = target.path, ctx.facts
        if self._text:
            rule_numbers += self._text.find_values(target.text)
        if self._path:
            rule_numbers += self._path.find_values(path)
        if self._home and facts and path.startswith(facts.home):
            rule_numbers += self._home.find_values(path[len(facts.home) :])
        if self._root and facts and path.startswith(facts.project_root):
            rule_numbers += self._root.find_values(path[len(facts.project_root) :].lstrip("/"))
        if self._parts:
            for part in {*path.split("/"), *target.text.split("/")}:
                rule_numbers += self._parts.get(part, ())
        if self._has_name_tables:
            for name in {path.rpartition("/")[2], target.text.rpartition("/")[2], target.text}:
                if self._name_prefixes:
                    rule_numbers += self._name_prefixes.find_values(name)
                if self._name_suffixes:
                    rule_numbers += self._name_suffixes.find_values(name[::-1])


def _index_keys(glob: str) -> list[tuple[str, str]]:
    """Return the tables and keys of a glob; every target that it fits is found by one of them."""
    if "\\" in glob:
        # An escape is rare, and a wrong prefix would hide a rule.
        return []
    parts = glob.split("/")
    prefix = _literal_prefix(glob)
    if len(parts) == 1:
        return _name_keys(glob)
    if glob.startswith("/"):
        return [("path", prefix), ("text", prefix)] if prefix.strip("/") else _part_keys(parts)
    if parts[0] == "~":
        return [("home", prefix[1:]), ("text", prefix)] if prefix[1:].strip("/") else _part_keys(parts)
    relative = prefix.removeprefix("./")
    if not relative.strip("./"):
        return _part_keys(parts)
    return [("root", relative), ("text", relative), ("text", f"./{relative}")]


def _name_keys(glob: str) -> list[tuple[str, str]]:
    """Return the keys of a glob without a slash: a file name, a whole text, or the home directory."""
    if glob == "~":
        return [("home", ""), ("text", "~")]
    if prefix := _literal_prefix(glob):
        return [("begins", prefix)]
    # Suffixes are stored reversed, so that a prefix table finds them.
    suffix = glob.rpartition("*")[2].rpartition("?")[2]
    return [("ends", suffix[::-1])] if suffix else []


def _part_keys(parts: list[str]) -> list[tuple[str, str]]:
    """Return the keys of a glob that begins with a wildcard: a literal part, or else the file name at its end."""
    # `~` and `.` are rewritten before a glob is matched, so they are not literal parts of a path.
    for part in parts:
        if part.strip("~.") and "*" not in part and "?" not in part:
            return [("part", part)]
    return _name_keys(parts[-1]) if parts[-1] not in ("**", "~") else []


def _literal_prefix(glob: str) -> str:
    """Return the prefix of every target that fits; without a final slash, because `a/**` also fits `a`."""
    end = min((position for position in (glob.find("*"), glob.find("?")) if position >= 0), default=len(glob))
    return glob[:end].rstrip("/") if end < len(glob) else glob
