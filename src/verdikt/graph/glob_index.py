"""Finds the globs that can fit a target without trying the others: by a literal part of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.graph.prefix_table import PrefixTable

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.effect import Target


def has_literal(glob: str) -> bool:
    """Whether a glob can be filed: some part of it is no wildcard."""
    return bool(_index_keys(glob))


class GlobIndex:
    """Globs filed by their literal beginning, by a literal part of the path, or by the ends of a file name."""

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
        """The index as plain data."""
        tables = (self._text, self._path, self._home, self._root, self._name_prefixes, self._name_suffixes)
        return tuple(table and table.dump() for table in tables), self._parts

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> GlobIndex:
        """The index that `dump` gave."""
        index = cls.__new__(cls)
        tables, index._parts = data
        loaded = [table and PrefixTable.load(table) for table in tables]
        index._text, index._path, index._home, index._root, index._name_prefixes, index._name_suffixes = loaded
        index._has_name_tables = bool(index._name_prefixes or index._name_suffixes)
        return index

    def collect_candidates(self, target: Target, ctx: GovernanceContext, rule_numbers: list[int]) -> None:
        """Adds what is filed under every glob that can fit, and little else."""
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
    """Tables and keys under which a glob is found; every target that it fits is found by one of them."""
    if "\\" in glob:
        return []  # an escape is rare, and a wrong beginning would hide a rule
    parts = glob.split("/")
    begin = _literal_prefix(glob)
    if len(parts) == 1:
        return _name_keys(glob)
    if glob.startswith("/"):
        return [("path", begin), ("text", begin)] if begin.strip("/") else _part_keys(parts)
    if parts[0] == "~":
        return [("home", begin[1:]), ("text", begin)] if begin[1:].strip("/") else _part_keys(parts)
    below = begin.removeprefix("./")
    return [("root", below), ("text", below), ("text", f"./{below}")] if below.strip("./") else _part_keys(parts)


def _name_keys(glob: str) -> list[tuple[str, str]]:
    """A glob without a slash, which is a file name, the whole of a text, or the home directory."""
    if glob == "~":
        return [("home", ""), ("text", "~")]
    if begin := _literal_prefix(glob):
        return [("begins", begin)]
    end = glob.rpartition("*")[2].rpartition("?")[2]
    return [("ends", end[::-1])] if end else []


def _part_keys(parts: list[str]) -> list[tuple[str, str]]:
    """A glob that begins with a wildcard: by a part that is literal, or else by the file name at its end."""
    for part in parts:
        if part.strip("~.") and "*" not in part and "?" not in part:
            return [("part", part)]
    return _name_keys(parts[-1]) if parts[-1] not in ("**", "~") else []


def _literal_prefix(glob: str) -> str:
    """What every target that fits begins with; `a/**` also fits `a`, so the slash is no part of it."""
    at = min((at for at in (glob.find("*"), glob.find("?")) if at >= 0), default=len(glob))
    return glob[:at].rstrip("/") if at < len(glob) else glob
