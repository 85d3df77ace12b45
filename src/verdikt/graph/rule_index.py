"""An index that finds the rules that can fire on an action without evaluating the others."""

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

_EffectRules = tuple[list[int], dict[str, list[int]]]
"""Rules for one name of an effect: those that want no zone, and by zone those that want a target in it.

The latter include the rules of the zone that name no effect.

Most effects are in the project, and most rules about them are about another zone: these are not evaluated at all.
"""

_TABLE_WEIGHTS = {"zone": 50, "class": 50, "kind": 50, "target": 5, "pattern": 5}
"""Table → how common its keys are: nearly every action has a kind, a class and a zone."""

_RARE_ZONES = frozenset((Zone.GUARD, Zone.SECRET, Zone.PERSIST))
"""Zones in which few actions have a target."""

_MAX_CACHED_NAMES = 1024
"""Number of effect names whose rules are cached."""

_SCALARS = (str, int, float, bool, type(None))


_DERIVED_SLOTS = ("_effect_name_cache", "_has_action_tables", "_rules")
"""Slots that are not part of the dumped index."""


class RuleIndex:
    """Indexes each rule by the condition that distinguishes it best from the other rules."""

    __slots__ = (
        "_always",
        "_class",
        "_command",
        "_effect",
        "_effect_name_cache",
        "_equals",
        "_has_action_tables",
        "_host",
        "_kind",
        "_patterns",
        "_rules",
        "_target",
        "_tool",
        "_tool_prefixes",
        "_zone",
    )

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        options_by_rule = [_list_index_keys(rule.when) for rule in self._rules]
        key_counts = Counter(key for options in options_by_rule for keys in options for key in keys)
        self._always: list[int] = []
        tables: dict[str, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, options in enumerate(options_by_rule):
            # The condition that the fewest rules share; of equals the first, which is the cheapest to look up.
            best = min(options, key=lambda keys: sum(key_counts[key] * _weigh_key(key) for key in keys), default=None)
            if best is None:
                self._always.append(number)
                continue
            for table, key in best:
                tables[table][key].append(number)
        self._kind = dict(tables["kind"])
        self._tool = dict(tables["tool"])
        # Host and agent are looked up together, so their keys carry the name of the condition.
        self._host = {**tables["host"], **tables["agent"]}
        self._class = {name: numbers for (_, name), numbers in tables["class"].items()}
        self._zone = {name: numbers for (_, name), numbers in tables["zone"].items()}
        self._effect = {name: numbers for (_, name), numbers in tables["effect"].items()}
        self._effect_name_cache: dict[str, _EffectRules] = {}
        self._tool_prefixes = PrefixTable(tables["prefix"]) if tables["prefix"] else None
        self._command = PrefixTable(tables["command"]) if tables["command"] else None
        self._target = GlobIndex(tables["target"]) if tables["target"] else None
        self._equals = _group_by_path(tables["equals"])
        self._patterns = _group_by_fields(tables["pattern"])
        self._has_action_tables = self._find_action_tables()

    def _find_action_tables(self) -> bool:
        """Return whether any rule is indexed by the action; none of a shipped profile is."""
        tables = (self._equals, self._kind, self._tool, self._host, self._patterns)
        return any(tables) or self._tool_prefixes is not None or self._command is not None

    def dump(self) -> dict[str, Any]:
        """Return the index as plain data, without its rules."""
        data = {name: getattr(self, name) for name in self.__slots__ if name not in _DERIVED_SLOTS}
        for name in ("_tool_prefixes", "_command", "_target"):
            data[name] = data[name] and data[name].dump()
        data["_patterns"] = tuple((fields, patterns.patterns, numbers) for fields, patterns, numbers in self._patterns)
        return data

    @classmethod
    def load(cls, data: dict[str, Any], rules: Sequence[Rule]) -> RuleIndex:
        """Return the index that `dump` wrote, over the same rules."""
        index = cls.__new__(cls)
        index._rules, index._effect_name_cache = rules, {}
        for name in cls.__slots__:
            if name not in _DERIVED_SLOTS:
                setattr(index, name, data[name])
        index._tool_prefixes = index._tool_prefixes and PrefixTable.load(data["_tool_prefixes"])
        index._command = index._command and PrefixTable.load(data["_command"])
        index._target = index._target and GlobIndex.load(data["_target"])
        index._patterns = tuple(
            (fields, PatternSet(patterns), numbers) for fields, patterns, numbers in data["_patterns"]
        )
        index._has_action_tables = index._find_action_tables()
        return index

    def find_candidates(self, action: Action, ctx: GovernanceContext) -> list[Rule]:
        """Return every rule that can fire, in order, and few others."""
        rule_numbers = list(self._always)
        if self._has_action_tables:
            self._add_action_matches(action, rule_numbers)
        if ctx.effects.items:
            self._add_effect_matches(ctx, rule_numbers)
        # In the order of the policy: of equally strict verdicts the first one decides.
        if not rule_numbers:
            return []
        rules = self._rules
        return [rules[number] for number in sorted(set(rule_numbers))]

    def _add_action_matches(self, action: Action, rule_numbers: list[int]) -> None:
        """Append the rules indexed by the action itself: its payload, kind, tool, host and command."""
        if self._equals:
            self._add_equal_matches(action.payload, rule_numbers)
        if self._kind:
            rule_numbers += self._kind.get(action.kind, ())
        if self._tool:
            rule_numbers += self._tool.get(action.tool, ())
        if self._tool_prefixes:
            rule_numbers += self._tool_prefixes.find_values(action.tool)
        if self._host:
            rule_numbers += self._host.get(("host", action.host), ())
            rule_numbers += self._host.get(("agent", action.agent), ())
        if self._command:
            rule_numbers += self._command.find_values(action.command)
        if self._patterns:
            self._add_pattern_matches(action, rule_numbers)

    def _add_equal_matches(self, payload: object, rule_numbers: list[int]) -> None:
        """Append the rules whose expected value is in the payload."""
        for path, values in self._equals:
            if type(payload) is dict and "." not in path and type(text := payload.get(path)) is str:
                rule_numbers += values.get(text, ())
                continue
            for value in values_at(payload, path):
                # Other values cannot be hashed; rules that expect them are not in this table.
                if isinstance(value, _SCALARS) and value in values:
                    rule_numbers += values[value]

    def _add_pattern_matches(self, action: Action, rule_numbers: list[int]) -> None:
        """Append the rules whose pattern occurs, with one pass over each text."""
        for fields, patterns, rules_by_pattern in self._patterns:
            for text in iter_search_texts(action, fields):
                for number in patterns.search(text):
                    rule_numbers += rules_by_pattern[number]

    def _add_effect_matches(self, ctx: GovernanceContext, rule_numbers: list[int]) -> None:
        """Append the rules indexed by the names, classes, zones and targets of the effects."""
        rules_by_name, classes, globs = self._effect_name_cache, self._class, self._target
        for effect in ctx.effects.items:
            in_any_zone, by_zone = rules_by_name.get(effect.what) or self._find_by_effect_name(effect.what)
            rule_numbers += in_any_zone
            if by_zone:
                for target in effect.targets:
                    rule_numbers += by_zone.get(target.zone, ())
            if classes:
                rule_numbers += classes.get(effect.cls, ())
            if globs:
                for target in effect.targets:
                    globs.collect_candidates(target, ctx, rule_numbers)

    def _find_by_effect_name(self, what: str) -> _EffectRules:
        """Return the rules indexed by the name of an effect or by one above it, and put them into a bounded cache."""
        in_any_zone: list[int] = []
        # With the rules of a zone that name no effect: one look-up for each target finds both.
        by_zone: dict[str, list[int]] = defaultdict(list, {zone: [*rules] for zone, rules in self._zone.items()})
        name = what
        while name:
            for number in self._effect.get(name, ()):
                zones = self._rules[number].when.zone
                for zone in zones:
                    by_zone[zone].append(number)
                if not zones:
                    in_any_zone.append(number)
            name = name.rpartition(".")[0]
        # Bounded: names of effects also come from manifests and custom classifiers.
        if len(self._effect_name_cache) < _MAX_CACHED_NAMES:
            self._effect_name_cache[what] = in_any_zone, dict(by_zone)
        return in_any_zone, by_zone


def _weigh_key(key: tuple[str, Any]) -> int:
    """Return how common it is that an action has this key."""
    table, name = key
    return 2 if table == "zone" and name[1] in _RARE_ZONES else _TABLE_WEIGHTS.get(table, 1)


def _list_index_keys(when: Matcher) -> list[IndexKeys]:
    """Return every way to index a rule, the cheapest lookup first; empty when there is none."""
    options: list[IndexKeys] = [
        [("equals", (path, value))] for path, value in when.equals if isinstance(value, _SCALARS)
    ]
    if when.command:
        options.append([("command", prefix) for prefix in when.command])
    if when.tool and "*" not in when.tool:
        options.append([("prefix", name[:-1]) if name.endswith("*") else ("tool", name) for name in when.tool])
    options += _list_name_keys(host=when.host, agent=when.agent, effect=when.effect, **{"class": when.cls})
    if when.target and all(map(has_literal, when.target)):
        options.append([("target", glob) for glob in when.target])
    options += _list_name_keys(zone=when.zone)
    if when.pattern:
        options.append([("pattern", (when.field, pattern)) for pattern in when.pattern])
    if when.kind:
        options.append([("kind", kind) for kind in when.kind])
    return options


def _list_name_keys(**names_by_table: Sequence[str]) -> list[IndexKeys]:
    """Return the keys of the tables that are indexed by a plain name; a table without names is left out."""
    return [[(table, (table, name)) for name in names] for table, names in names_by_table.items() if names]


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
