"""Finds the rules that can fire on an action without looking at the others."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verdikt.graph.context import GovernanceContext
from verdikt.graph.match import Matcher, texts, values_at
from verdikt.graph.pattern import PatternSet
from verdikt.model.action import Action

if TYPE_CHECKING:
    from verdikt.graph.rule import Rule

Filed = tuple[int, ...]
"""Numbers of rules, in order."""

_SCALARS = (str, int, float, bool, type(None))


class PrefixTable:
    """Which of many literal beginnings a text has, found by one binary search however many there are."""

    __slots__ = ("_filed", "_parent", "_prefixes")

    def __init__(self, filed: dict[str, list[int]]) -> None:
        self._prefixes = sorted(filed)
        self._filed = [filed[prefix] for prefix in self._prefixes]
        self._parent: list[int] = []
        open_: list[int] = []
        for number, prefix in enumerate(self._prefixes):
            while open_ and not prefix.startswith(self._prefixes[open_[-1]]):
                open_.pop()
            self._parent.append(open_[-1] if open_ else -1)
            open_.append(number)

    def find(self, text: str) -> list[int]:
        """The rules filed under every beginning of the text."""
        # Whatever sorts between a beginning of the text and the text itself also begins with it, so the chain of
        # parents from the nearest entry at or before the text passes through every beginning.
        found: list[int] = []
        number = bisect_right(self._prefixes, text) - 1
        while number >= 0:
            if text.startswith(self._prefixes[number]):
                found += self._filed[number]
            number = self._parent[number]
        return found


class Index:
    """Files each rule under its most telling condition: value, command, tool, pattern, effect, class, kind."""

    __slots__ = (
        "_always",
        "_classes",
        "_command",
        "_effects",
        "_equals",
        "_kind",
        "_patterns",
        "_prefixes",
        "_rules",
        "_tool",
    )

    def __init__(self, rules: Sequence["Rule"]) -> None:
        self._rules = tuple(rules)
        always: list[int] = []
        tables: dict[str, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, rule in enumerate(self._rules):
            keys = _filing(rule.when)
            if not keys:
                always.append(number)
            for table, key in keys:
                tables[table][key].append(number)
        self._always = always
        self._kind = dict(tables["kind"])
        self._tool = dict(tables["tool"])
        self._classes = dict(tables["class"])
        self._effects = dict(tables["effect"])
        self._prefixes = PrefixTable(tables["prefix"]) if tables["prefix"] else None
        self._command = PrefixTable(tables["command"]) if tables["command"] else None
        self._equals = _by_path(tables["equals"])
        self._patterns = _by_fields(tables["pattern"])

    def candidates(self, action: Action, ctx: GovernanceContext) -> list["Rule"]:
        """Every rule that can fire, in order, and few that cannot."""
        found = list(self._always)
        if self._equals:
            payload = action.payload
            for path, values in self._equals:
                if type(payload) is dict and "." not in path and type(text := payload.get(path)) is str:
                    found += values.get(text, ())
                    continue
                for value in values_at(payload, path):
                    if isinstance(value, _SCALARS) and value in values:
                        found += values[value]
        if self._kind:
            found += self._kind.get(action.kind, ())
        if self._tool:
            found += self._tool.get(action.tool, ())
        if self._prefixes:
            found += self._prefixes.find(action.tool)
        if self._command:
            found += self._command.find(action.command)
        if self._patterns:
            self._search(action, found)
        if (self._effects or self._classes) and ctx.effects.items:
            self._affect(ctx, found)
        rules = self._rules
        if len(found) < 2:
            return [rules[number] for number in found]
        return [rules[number] for number in sorted(set(found))]

    def _search(self, action: Action, found: list[int]) -> None:
        """Adds the rules whose pattern occurs: one pass over each text, however many patterns there are."""
        for fields, patterns, filed in self._patterns:
            for text in texts(action, fields):
                for number in patterns.search(text):
                    found += filed[number]

    def _affect(self, ctx: GovernanceContext, found: list[int]) -> None:
        """Adds the rules filed under the names and classes of the effects."""
        effects, classes = self._effects, self._classes
        for effect in ctx.effects.items:
            if classes:
                found += classes.get(effect.cls, ())
            what = effect.what
            while effects and what:
                found += effects.get(what, ())
                what = what.rpartition(".")[0]


def _filing(when: Matcher) -> list[tuple[str, Any]]:
    """Where a rule is filed: (table, key) for each alternative of its most telling condition; empty when it has none."""
    for path, value in when.equals:
        if isinstance(value, _SCALARS):
            return [("equals", (path, value))]
    if when.command:
        return [("command", prefix) for prefix in when.command]
    if when.tool and not any(name == "*" for name in when.tool):
        return [("prefix", name[:-1]) if name.endswith("*") else ("tool", name) for name in when.tool]
    if when.pattern:
        return [("pattern", (when.field, pattern)) for pattern in when.pattern]
    if when.effect:
        return [("effect", name) for name in when.effect]
    if when.cls:
        return [("class", cls) for cls in when.cls]
    return [("kind", kind) for kind in when.kind]


def _by_path(filed: dict[Any, list[int]]) -> tuple[tuple[str, dict[Any, list[int]]], ...]:
    paths: dict[str, dict[Any, list[int]]] = defaultdict(dict)
    for (path, value), numbers in filed.items():
        paths[path][value] = numbers
    return tuple(paths.items())


def _by_fields(filed: dict[Any, list[int]]) -> tuple[tuple[tuple[str, ...], PatternSet, list[list[int]]], ...]:
    fields: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(dict)
    for (names, pattern), numbers in filed.items():
        fields[names][pattern] = numbers
    return tuple((names, PatternSet(tuple(patterns)), list(patterns.values())) for names, patterns in fields.items())
