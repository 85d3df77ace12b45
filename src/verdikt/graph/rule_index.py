"""Finds the rules that can fire on an action without looking at the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verdikt.graph.glob_index import GlobIndex, has_literal
from verdikt.graph.matcher import iter_search_texts, values_at
from verdikt.graph.prefix_table import PrefixTable
from verdikt.graph.re2_pattern import PatternSet
from verdikt.model.effect import Zone

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.matcher import Matcher
    from verdikt.graph.rule import Rule
    from verdikt.model.action import Action

IndexKeys = list[tuple[str, Any]]
"""Table and key for each alternative of one condition."""

_TABLE_WEIGHTS = {"zone": 50, "class": 50, "kind": 50, "target": 5, "pattern": 5}
"""Nearly every action has some of these, however few rules ask for them."""

_RARE_ZONES = frozenset((Zone.GUARD, Zone.SECRET, Zone.PERSIST))
"""Zones in which few actions have a target."""

_MAX_CACHED_NAMES = 1024
"""Names of effects for which the rules are remembered."""

_SCALARS = (str, int, float, bool, type(None))


_DERIVED_SLOTS = ("_effect_name_cache", "_rules")
"""What of an index is not kept."""


class RuleIndex:
    """Files each rule under the one of its conditions that tells it best from the other rules."""

    __slots__ = ("_always", "_class", "_command", "_effect", "_effect_name_cache", "_equals", "_host", "_kind", "_patterns", "_rules", "_target", "_tool", "_tool_prefixes", "_zone")  # fmt: skip

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        filings = [_list_index_keys(rule.when) for rule in self._rules]
        crowd = Counter(key for several in filings for filing in several for key in filing)
        self._always: list[int] = []
        tables: dict[str, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, several in enumerate(filings):
            # The condition that the fewest rules share; of equals the first, which is the cheapest to look up.
            best = min(several, key=lambda filing: sum(crowd[key] * _weigh_key(key) for key in filing), default=None)
            if best is None:
                self._always.append(number)
                continue
            for table, key in best:
                tables[table][key].append(number)
        self._kind = dict(tables["kind"])
        self._tool = dict(tables["tool"])
        self._host = {**tables["host"], **tables["agent"]}
        self._class = {name: numbers for (_, name), numbers in tables["class"].items()}
        self._zone = {name: numbers for (_, name), numbers in tables["zone"].items()}
        self._effect = {name: numbers for (_, name), numbers in tables["effect"].items()}
        self._effect_name_cache: dict[str, list[int]] = {}
        self._tool_prefixes = PrefixTable(tables["prefix"]) if tables["prefix"] else None
        self._command = PrefixTable(tables["command"]) if tables["command"] else None
        self._target = GlobIndex(tables["target"]) if tables["target"] else None
        self._equals = _group_by_path(tables["equals"])
        self._patterns = _group_by_fields(tables["pattern"])

    def dump(self) -> dict[str, Any]:
        """The index as plain data, without its rules."""
        found = {name: getattr(self, name) for name in self.__slots__ if name not in _DERIVED_SLOTS}
        for name in ("_tool_prefixes", "_command", "_target"):
            found[name] = found[name] and found[name].dump()
        found["_patterns"] = tuple((fields, patterns.patterns, filed) for fields, patterns, filed in self._patterns)
        return found

    @classmethod
    def load(cls, data: dict[str, Any], rules: Sequence[Rule]) -> RuleIndex:
        """The index that `dump` gave, over the same rules."""
        index = cls.__new__(cls)
        index._rules, index._effect_name_cache = rules, {}
        for name in cls.__slots__:
            if name not in _DERIVED_SLOTS:
                setattr(index, name, data[name])
        index._tool_prefixes = index._tool_prefixes and PrefixTable.load(data["_tool_prefixes"])
        index._command = index._command and PrefixTable.load(data["_command"])
        index._target = index._target and GlobIndex.load(data["_target"])
        index._patterns = tuple((fields, PatternSet(several), filed) for fields, several, filed in data["_patterns"])
        return index

    def find_candidates(self, action: Action, ctx: GovernanceContext) -> list[Rule]:
        """Every rule that can fire, in order, and few that cannot."""
        found = list(self._always)
        if self._equals:
            self._add_equal_matches(action.payload, found)
        if self._kind:
            found += self._kind.get(action.kind, ())
        if self._tool:
            found += self._tool.get(action.tool, ())
        if self._tool_prefixes:
            found += self._tool_prefixes.find_values(action.tool)
        if self._host:
            found += self._host.get(("host", action.host), ())
            found += self._host.get(("agent", action.agent), ())
        if self._command:
            found += self._command.find_values(action.command)
        if self._patterns:
            self._add_pattern_matches(action, found)
        if ctx.effects.items:
            self._add_effect_matches(ctx, found)
        rules = self._rules
        if len(found) < 2:
            return [rules[number] for number in found]
        return [rules[number] for number in sorted(set(found))]

    def _add_equal_matches(self, payload: object, rule_numbers: list[int]) -> None:
        """Adds the rules whose value stands in the payload."""
        for path, values in self._equals:
            if type(payload) is dict and "." not in path and type(text := payload.get(path)) is str:
                rule_numbers += values.get(text, ())
                continue
            for value in values_at(payload, path):
                if isinstance(value, _SCALARS) and value in values:
                    rule_numbers += values[value]

    def _add_pattern_matches(self, action: Action, rule_numbers: list[int]) -> None:
        """Adds the rules whose pattern occurs: one pass over each text, however many patterns there are."""
        for fields, patterns, filed in self._patterns:
            for text in iter_search_texts(action, fields):
                for number in patterns.search(text):
                    rule_numbers += filed[number]

    def _add_effect_matches(self, ctx: GovernanceContext, rule_numbers: list[int]) -> None:
        """Adds the rules filed under the names, classes, zones and targets of the effects."""
        met, classes, zones, globs = self._effect_name_cache, self._class, self._zone, self._target
        for effect in ctx.effects.items:
            what = effect.what
            rule_numbers += met[what] if what in met else self._find_by_effect_name(what)
            if classes:
                rule_numbers += classes.get(effect.cls, ())
            if zones:
                for target in effect.targets:
                    rule_numbers += zones.get(target.zone, ())
            if globs:
                for target in effect.targets:
                    globs.collect_candidates(target, ctx, rule_numbers)

    def _find_by_effect_name(self, what: str) -> list[int]:
        """The rules filed under the name of an effect or one above it, remembered for as many names as there are of ours."""
        found: list[int] = []
        name = what
        while name:
            found += self._effect.get(name, ())
            name = name.rpartition(".")[0]
        if len(self._effect_name_cache) < _MAX_CACHED_NAMES:
            self._effect_name_cache[what] = found
        return found


def _weigh_key(key: tuple[str, Any]) -> int:
    """How common it is that an action has what a rule is filed under."""
    table, name = key
    return 2 if table == "zone" and name[1] in _RARE_ZONES else _TABLE_WEIGHTS.get(table, 1)


def _list_index_keys(when: Matcher) -> list[IndexKeys]:
    """Every way in which a rule can be filed, the cheapest to look up first; empty when there is none."""
    several: list[IndexKeys] = [
        [("equals", (path, value))] for path, value in when.equals if isinstance(value, _SCALARS)
    ]
    if when.command:
        several.append([("command", prefix) for prefix in when.command])
    if when.tool and "*" not in when.tool:
        several.append([("prefix", name[:-1]) if name.endswith("*") else ("tool", name) for name in when.tool])
    for key in ("host", "agent"):
        if names := getattr(when, key):
            several.append([(key, (key, name)) for name in names])
    several += [
        [(key, (key, name)) for name in names] for key, names in (("effect", when.effect), ("class", when.cls)) if names
    ]
    if when.target and all(map(has_literal, when.target)):
        several.append([("target", glob) for glob in when.target])
    if when.zone:
        several.append([("zone", ("zone", zone)) for zone in when.zone])
    if when.pattern:
        several.append([("pattern", (when.field, pattern)) for pattern in when.pattern])
    if when.kind:
        several.append([("kind", kind) for kind in when.kind])
    return several


def _group_by_path(numbers_by_key: dict[Any, list[int]]) -> tuple[tuple[str, dict[Any, list[int]]], ...]:
    paths: dict[str, dict[Any, list[int]]] = defaultdict(dict)
    for (path, value), numbers in numbers_by_key.items():
        paths[path][value] = numbers
    return tuple(paths.items())


def _group_by_fields(
    numbers_by_key: dict[Any, list[int]],
) -> tuple[tuple[tuple[str, ...], PatternSet, list[list[int]]], ...]:
    fields: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(dict)
    for (names, pattern), numbers in numbers_by_key.items():
        fields[names][pattern] = numbers
    return tuple((names, PatternSet(tuple(patterns)), list(patterns.values())) for names, patterns in fields.items())
