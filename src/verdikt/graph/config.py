"""The policy file: one document in, the graph it describes out, with every fault named by its place."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.combinator import All, Escalate, Not, Threshold, When
from verdikt.graph.combinator import Any as AnyOf
from verdikt.graph.condition import CelCondition
from verdikt.graph.guard import PolicyNode
from verdikt.graph.leaf import node as as_node
from verdikt.graph.match import CHOICES, KEYS, Matcher
from verdikt.graph.pattern import compile_pattern
from verdikt.graph.registry import Registry
from verdikt.graph.rule import VERDICTS, Rule, RuleSet, matcher_of
from verdikt.graph.settings import settings_of
from verdikt.graph.template import Template
from verdikt.model.node import Node
from verdikt.model.regex import regex
from verdikt.model.shape import Field, Shape, anything, choice, choices, flag, read_fields, text, texts
from verdikt.model.value import Record, Value, field

USE = regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
SHORT = {"bash_safety": "bash_safety", "boundaries": "file_boundary"}
"""Short sections → the guard that they set up; in this order, because of a command its own guard says more than its paths."""


def _pattern(node: Node) -> Any:
    return node.build(lambda: compile_pattern(node.value))


def _condition(node: Node) -> CelCondition | None:
    source = node.text(what="a CEL condition")
    return None if source is None else node.build(lambda: CelCondition(source))


def _template(node: Node) -> str | None:
    source = node.text()
    return source if source is not None and node.build(lambda: Template.of(source)) is not None else None


def _equals(node: Node) -> dict[str, Any] | None:
    if not isinstance(node.value, Mapping) or not node.value:
        node.expected("payload fields and their values, as in `{file_path: /a/b}`")
        return None
    return {key: inner.value for key, inner in node.mapping().items()}


CONDITION = Shape(_condition, {"type": "string", "minLength": 1}, "CEL condition")
_SHAPES: dict[str, Shape] = {
    "certainty": choice(CHOICES["certainty"]),
    "recoverable": flag(),
    "pattern": texts("google-re2 pattern, or a list of them", _pattern),
    "equals": Shape(_equals, {"type": "object", "minProperties": 1}, "mapping of field to value"),
    "if": CONDITION,
}
CONDITIONS: dict[str, Field] = {
    key: Field(_SHAPES.get(key) or (choices(CHOICES[key]) if key in CHOICES else texts()), about)
    for key, about in KEYS.items()
}
"""The conditions of a rule, as they are written."""

_TEMPLATE = Shape(_template, {"type": "string", "minLength": 1}, "text with placeholders")


class Placed(Value):
    """A rule or a guard, where it was written, and a guard's settings as they were read."""

    item: Any
    where: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class GraphReader(Record):
    """Reads nodes of the graph from a document.

    `placed` lists the rules and guards read so far, in order, and `conditions_placed` the conditions of `when`.
    """

    registry: Registry
    placed: list[Placed] = field(default_factory=list)
    conditions_placed: list[Placed] = field(default_factory=list)
    _fields: dict[str, Field] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._fields = self.rule_fields()

    def rule(self, node: Node) -> Rule | None:
        """One rule."""
        before = len(node.document.faults)
        values = read_fields(node, self._fields)
        if len(node.document.faults) > before:
            return None
        rule = node.build(lambda: Rule.of(values))
        if rule is not None:
            self.placed.append(Placed(rule, node.where))
        return rule

    def rule_fields(self) -> dict[str, Field]:
        """Every key of a rule."""
        return {
            "name": Field(text(), "what the verdict calls the rule", required=True),
            **self.conditions(),
            "unless": Field(
                Shape(self._conditions, {"$ref": "#/$defs/conditions"}, "mapping of conditions"),
                "the same conditions; an effect or target for which they hold too is excused",
            ),
            "verdict": Field(choice(tuple(VERDICTS)), "what the rule says when it fires", required=True),
            "reason": Field(_TEMPLATE, "why, for the agent; needed for warn, ask and block"),
            "fix": Field(_TEMPLATE, "what to do instead; needed for ask and block"),
            "red_line": Field(flag(), "whether no grant and no `escalate` can get past it"),
        }

    def conditions(self) -> dict[str, Field]:
        """The conditions of a rule, with names of effects that exist."""
        effects = texts("dotted name, or a list of them", self._effect)
        return {**CONDITIONS, "effect": Field(effects, KEYS["effect"])}

    def _effect(self, node: Node) -> str | None:
        name = str(node.value)
        if self.registry.knows_effect(name):
            return name
        node.unknown("effect", name, self.registry.effects, at_key=False)
        return None

    def _conditions(self, node: Node) -> dict[str, Any] | None:
        if not isinstance(node.value, Mapping):
            node.expected("a mapping of conditions")
            return None
        return read_fields(node, self.conditions())

    def matcher(self, node: Node) -> Matcher | None:
        """Conditions by themselves."""
        before = len(node.document.faults)
        values = self._conditions(node)
        if values is None or len(node.document.faults) > before:
            return None
        return node.build(lambda: matcher_of(values))

    def rules(self, node: Node, name: str = "rules") -> RuleSet | None:
        """A list of rules as one node; no name twice."""
        rules: list[Rule] = []
        names: dict[str, str] = {}
        for item in node.items(what="a list of rules"):
            rule = self.rule(item)
            if rule is not None and rule.name in names:
                item.fault(f"expected each rule name once, found `{rule.name}` again (first at {names[rule.name]})")
            elif rule is not None:
                names[rule.name] = item.where
                rules.append(rule)
        if node.value == []:
            node.expected("at least one rule")
        return RuleSet(*rules, name=name) if rules else None

    def node(self, node: Node) -> PolicyNode | None:
        """Any node of the graph: a guard's name, or a mapping with one key that says what it is."""
        if isinstance(node.value, str):
            return self.guard(node, node.value, None)
        if not isinstance(node.value, Mapping) or not node.value:
            node.expected(f"a guard's name or one of {', '.join(NODES)}")
            return None
        kinds = [key for key in node.value if key in NODES or key in self.registry.guards]
        if len(kinds) != 1:
            self._which(node, kinds)
            return None
        kind = kinds[0]
        if kind not in NODES:
            for key in node.mapping():
                if key != kind:
                    node.child(key).unknown("key beside a guard", key, ())
            return self.guard(node.child(kind), kind, node.child(kind))
        values = read_fields(node, {kind: Field(anything(), ""), **OPTIONS[kind]})
        before = len(node.document.faults)
        built: PolicyNode | None = NODES[kind](self, node.child(kind), values)
        if built is None and len(node.document.faults) == before:
            node.expected(f"a complete `{kind}`")
        return built

    def _which(self, node: Node, kinds: list[str]) -> None:
        if kinds:
            node.fault(f"expected one of {', '.join(f'`{kind}`' for kind in kinds)} in this node, found {len(kinds)}")
            return
        key = next(iter(node.value))
        node.child(key).unknown("guard or combinator", key, [*NODES, *self.registry.guards])

    def guard(self, node: Node, name: str, settings: Node | None) -> PolicyNode | None:
        """A built-in guard by its name."""
        if name not in self.registry.guards:
            node.unknown("guard", name, self.registry.guards, at_key=False)
            return None
        return self.made(node, self.registry.guard(name), settings)

    def used(self, node: Node, settings: Node | None) -> PolicyNode | None:
        """A custom guard by its import path."""
        path = node.text(what="an import path, as in `mypkg.guards:RateLimit`")
        if path is None:
            return None
        if not USE.fullmatch(path):
            node.expected("an import path, as in `mypkg.guards:RateLimit`")
            return None
        try:
            found = self.registry.load(path)
        except Exception as error:  # importing runs code that is not ours
            node.fault(f"expected a guard at `{path}`, found {type(error).__name__}: {error}")
            return None
        # Only a class with a `check` is ever called here: a policy file is no way to run any function that exists.
        if not isinstance(found, type) or not callable(getattr(found, "check", None)):
            node.fault(f"expected a guard class with a `check` at `{path}`, found `{_kind(found)}`")
            return None
        return self.made(node, found, settings)

    def made(self, node: Node, make: Callable[..., Any], settings: Node | None) -> PolicyNode | None:
        """A guard with its settings."""
        before = len(node.document.faults)
        values: dict[str, Any] = {}
        fields = settings_of(make)
        if settings is not None and settings.value is not None:
            values = read_fields(settings, fields) if fields is not None else _plain(settings)
        else:
            for key, wanted in (fields or {}).items():
                if wanted.required:
                    node.fault(f"expected the setting `{key}`, found none")
        if len(node.document.faults) > before:
            return None
        try:
            guard = make(**values)
            built = as_node(guard)
        except Exception as error:  # a guard of a user's own may refuse its settings in any way
            _refused(node if settings is None else settings, error)
            return None
        self.placed.append(Placed(guard, node.where, values))
        return built

    def children(self, node: Node) -> list[PolicyNode]:
        """A list of nodes."""
        found = [self.node(item) for item in node.items(what="a list of guards and combinators")]
        if node.value == []:
            node.expected("at least one child")
        return [child for child in found if child is not None]


def _refused(node: Node, error: Exception) -> None:
    """Records why a guard could not be made, at the setting that its words are about."""
    words = str(error)
    about = (inner for inner in node.walk() if isinstance(inner.value, str) and f"`{inner.value}`" in words)
    ours = isinstance(error, PolicyError)
    next(about, node).fault(words if ours else f"expected settings that the guard takes, found: {words}")


def _plain(node: Node) -> dict[str, Any]:
    return {key: inner.value for key, inner in node.mapping(what="a mapping of settings").items()}


def _kind(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


def _all(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    children = reader.children(node)
    return All(*children, **_options("all", options)) if children else None


def _any(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    children = reader.children(node)
    return AnyOf(*children, **_options("any", options)) if children else None


def _not(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    child = reader.node(node)
    return None if child is None else Not(child, **_options("not", options))


def _when(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    given = _parts(node, "when")
    condition = _condition(given["if"]) if "if" in given else None
    then = reader.node(given["then"]) if "then" in given else None
    otherwise = reader.node(given["otherwise"]) if "otherwise" in given else None
    if condition is None or then is None:
        return None
    reader.conditions_placed.append(Placed(condition, given["if"].where))
    return When(condition, then, otherwise, **_options("when", options))


def _threshold(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    given = _parts(node, "threshold")
    counts = [given[key] for key in ("at_least", "n") if key in given]
    children = reader.children(given["of"]) if "of" in given else []
    if isinstance(node.value, Mapping) and len(counts) != 1:
        node.fault(f"`threshold`: expected the key `at_least` (or `n`) once, found {'both' if counts else 'neither'}")
    count = counts[0].whole(least=1) if len(counts) == 1 else None
    if count is None or not children:
        return None
    return node.build(lambda: Threshold(count, *children, **_options("threshold", options)))


def _escalate(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    given = _parts(node, "escalate")
    primary = reader.node(given["primary"]) if "primary" in given else None
    fallback = reader.node(given["fallback"]) if "fallback" in given else None
    if primary is None or fallback is None:
        return None
    return Escalate(primary, fallback, **_options("escalate", options))


def _rules(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    return reader.rules(node, options.get("name", "rules"))


def _use(reader: GraphReader, node: Node, options: dict[str, Any]) -> PolicyNode | None:
    beside = Node(node.document, node.path[:-1], options)
    settings = Node(node.document, (*beside.path, "with"), options["with"]) if "with" in options else None
    return reader.used(node, settings)


def _parts(node: Node, kind: str) -> dict[str, Node]:
    """The parts of a combinator by key; a missing one is a fault."""
    parts = PARTS[kind]
    given = node.mapping(parts, what="a mapping with " + ", ".join(f"`{part}`" for part in parts))
    if isinstance(node.value, Mapping):
        for part, (_, required) in parts.items():
            if required and part not in node.value:
                node.fault(f"`{kind}`: expected the key `{part}`, found none")
    return given


def _options(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != kind}


NODES: dict[str, Callable[[GraphReader, Node, dict[str, Any]], PolicyNode | None]] = {
    "all": _all,
    "any": _any,
    "not": _not,
    "when": _when,
    "threshold": _threshold,
    "escalate": _escalate,
    "rules": _rules,
    "use": _use,
}
"""Key that says what a node is → how it is read."""

PARTS: dict[str, dict[str, tuple[str, bool]]] = {
    "when": {"if": ("condition", True), "then": ("node", True), "otherwise": ("node", False)},
    "threshold": {"at_least": ("count", False), "n": ("count", False), "of": ("nodes", True)},
    "escalate": {"primary": ("node", True), "fallback": ("node", True)},
}
"""Combinator → its parts: what each is, and whether it must be there."""

_NAME = {"name": Field(text(), "what the trace calls it")}
_SHORT_CIRCUIT = {"short_circuit": Field(flag(), "stop as soon as the verdict is settled")}
OPTIONS: dict[str, dict[str, Field]] = {
    "all": {**_NAME, **_SHORT_CIRCUIT},
    "any": {**_NAME, **_SHORT_CIRCUIT},
    "not": {**_NAME, "reason": Field(text(), "why it blocks"), "fix": Field(text(), "what to do instead")},
    "when": _NAME,
    "threshold": {**_NAME, **_SHORT_CIRCUIT},
    "escalate": _NAME,
    "rules": _NAME,
    "use": {"with": Field(anything("mapping of settings"), "the settings of the guard")},
}
"""Kind of node → what may stand beside its key."""
