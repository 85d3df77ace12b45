"""Finds the globs that can fit a target without trying the others: by a literal part of each."""

from __future__ import annotations

from collections import defaultdict

from verdikt.graph.prefix import PrefixTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from verdikt.graph.context import GovernanceContext
    from verdikt.model.effect import Target


def has_literal(glob: str) -> bool:
    """Whether a glob can be filed: some part of it is no wildcard."""
    return bool(_filed_under(glob))


class GlobIndex:
    """Globs filed by their literal beginning, by a literal part of the path, or by the ends of a file name."""

    __slots__ = ("_begins", "_ends", "_home", "_names", "_parts", "_path", "_root", "_text")

    def __init__(self, filed: Mapping[str, list[int]]) -> None:
        tables: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for glob, numbers in filed.items():
            for table, key in _filed_under(glob):
                tables[table][key] += numbers

        def prefixes(name: str) -> PrefixTable | None:
            return PrefixTable(tables[name]) if tables[name] else None

        self._text, self._path, self._home, self._root = map(prefixes, ("text", "path", "home", "root"))
        self._begins, self._ends = prefixes("begins"), prefixes("ends")
        self._parts = dict(tables["part"])
        self._names = bool(self._begins or self._ends)

    def dump(self) -> tuple[Any, ...]:
        """The index as plain data."""
        tables = (self._text, self._path, self._home, self._root, self._begins, self._ends)
        return tuple(table and table.dump() for table in tables), self._parts

    @classmethod
    def load(cls, data: tuple[Any, ...]) -> GlobIndex:
        """The index that `dump` gave."""
        index = cls.__new__(cls)
        tables, index._parts = data
        loaded = [table and PrefixTable.load(table) for table in tables]
        index._text, index._path, index._home, index._root, index._begins, index._ends = loaded
        index._names = bool(index._begins or index._ends)
        return index

    def find(self, target: Target, ctx: GovernanceContext, found: list[int]) -> None:
        """Adds what is filed under every glob that can fit, and little else."""
        path, facts = target.path, ctx.facts
        if self._text:
            found += self._text.find(target.text)
        if self._path:
            found += self._path.find(path)
        if self._home and facts and path.startswith(facts.home):
            found += self._home.find(path[len(facts.home) :])
        if self._root and facts and path.startswith(facts.project_root):
            found += self._root.find(path[len(facts.project_root) :].lstrip("/"))
        if self._parts:
            for part in {*path.split("/"), *target.text.split("/")}:
                found += self._parts.get(part, ())
        if self._names:
            for name in {path.rpartition("/")[2], target.text.rpartition("/")[2], target.text}:
                if self._begins:
                    found += self._begins.find(name)
                if self._ends:
                    found += self._ends.find(name[::-1])


def _filed_under(glob: str) -> list[tuple[str, str]]:
    """Tables and keys under which a glob is found; every target that it fits is found by one of them."""
    if "\\" in glob:
        return []  # an escape is rare, and a wrong beginning would hide a rule
    parts = glob.split("/")
    begin = _beginning(glob)
    if len(parts) == 1:
        return _by_name(glob)
    if glob.startswith("/"):
        return [("path", begin), ("text", begin)] if begin.strip("/") else _by_part(parts)
    if parts[0] == "~":
        return [("home", begin[1:]), ("text", begin)] if begin[1:].strip("/") else _by_part(parts)
    below = begin.removeprefix("./")
    return [("root", below), ("text", below), ("text", f"./{below}")] if below.strip("./") else _by_part(parts)


def _by_name(glob: str) -> list[tuple[str, str]]:
    """A glob without a slash, which is a file name, the whole of a text, or the home directory."""
    if glob == "~":
        return [("home", ""), ("text", "~")]
    if begin := _beginning(glob):
        return [("begins", begin)]
    end = glob.rpartition("*")[2].rpartition("?")[2]
    return [("ends", end[::-1])] if end else []


def _by_part(parts: list[str]) -> list[tuple[str, str]]:
    """A glob that begins with a wildcard: by a part that is literal, or else by the file name at its end."""
    for part in parts:
        if part.strip("~.") and "*" not in part and "?" not in part:
            return [("part", part)]
    return _by_name(parts[-1]) if parts[-1] not in ("**", "~") else []


def _beginning(glob: str) -> str:
    """What every target that fits begins with; `a/**` also fits `a`, so the slash is no part of it."""
    at = min((at for at in (glob.find("*"), glob.find("?")) if at >= 0), default=len(glob))
    return glob[:at].rstrip("/") if at < len(glob) else glob
