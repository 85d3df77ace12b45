"""Reading of policy graphs from policy files, with the position of every error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.cel_condition import CelCondition
from verdikt.graph.combinator import All, Escalate, Not, Threshold, When
from verdikt.graph.combinator import Any as AnyOf
from verdikt.graph.custom_class import read_custom_class
from verdikt.graph.guard import PolicyNode
from verdikt.graph.guard_node import to_node as as_node
from verdikt.graph.guard_settings import infer_settings
from verdikt.graph.matcher import CONDITION_CHOICES, CONDITION_KEYS, Matcher
from verdikt.graph.message_template import MessageTemplate
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.graph.re2_pattern import compile_pattern
from verdikt.graph.rule import VERDICT_KINDS, Rule, RuleSet, matcher_from_data
from verdikt.model.approval import APPROVAL_KEYS, MAX_COUNT, check_key_name, parse_duration
from verdikt.model.schema_type import (
    Field,
    SchemaType,
    any_type,
    bool_type,
    choice_list_type,
    choice_type,
    int_type,
    mapping_type,
    read_fields,
    text_list_type,
    text_type,
)
from verdikt.model.yaml_node import YamlNode

# `bash_safety` first: its objection to a command says more than that of `file_boundary` to the command's paths.
SHORT_SECTIONS = {"bash_safety": "bash_safety", "boundaries": "file_boundary"}
"""Short section → the guard that it configures, in order of evaluation."""


def _read_pattern(node: YamlNode) -> Any:
    return node.try_build(lambda: compile_pattern(node.value))


def _read_condition(node: YamlNode) -> CelCondition | None:
    source = node.read_text(what="a CEL condition")
    return None if source is None else node.try_build(lambda: CelCondition(source))


def _read_template(node: YamlNode) -> str | None:
    source = node.read_text()
    return source if source is not None and node.try_build(lambda: MessageTemplate.parse(source)) is not None else None


def _read_equals(node: YamlNode) -> dict[str, Any] | None:
    if not isinstance(node.value, Mapping) or not node.value:
        node.add_mismatch("payload fields and their values, as in `{file_path: /a/b}`")
        return None
    return {key: inner.value for key, inner in node.read_mapping().items()}


CONDITION_TYPE = SchemaType(_read_condition, {"type": "string", "minLength": 1}, "CEL condition")
_CONDITION_TYPES: dict[str, SchemaType] = {
    "certainty": choice_type(CONDITION_CHOICES["certainty"]),
    "recoverable": bool_type(),
    "pattern": text_list_type("google-re2 pattern, or a list of them", _read_pattern),
    "equals": SchemaType(_read_equals, {"type": "object", "minProperties": 1}, "mapping of field to value"),
    "if": CONDITION_TYPE,
}
CONDITION_FIELDS: dict[str, Field] = {
    key: Field(
        _CONDITION_TYPES.get(key)
        or (choice_list_type(CONDITION_CHOICES[key]) if key in CONDITION_CHOICES else text_list_type()),
        about,
    )
    for key, about in CONDITION_KEYS.items()
}
"""The conditions of a rule, as they are written."""


def _read_approver(node: YamlNode) -> Any:
    """Return `self`, or a mapping with the name of a group."""
    if isinstance(node.value, Mapping):
        fields = read_fields(node, {"group": Field(text_type(), "the name of the group", required=True)})
        return fields if "group" in fields else None
    return node.read_choice(("self",))


def _read_duration(node: YamlNode) -> str | None:
    text = node.read_text(what="a duration such as `30m` or `4h`")
    return text if text is not None and node.try_build(lambda: parse_duration(text)) is not None else None


def _read_key_name(node: YamlNode) -> str | None:
    return node.try_build(lambda: check_key_name(str(node.value)))


_GROUP_SCHEMA = {
    "type": "object",
    "required": ["group"],
    "additionalProperties": False,
    "properties": {"group": {"type": "string", "minLength": 1}},
}
_DURATION_TYPE = SchemaType(_read_duration, {"type": "string", "pattern": "^[1-9][0-9]*[smhd]$"}, "duration")
_APPROVAL_TYPES: dict[str, SchemaType] = {
    "by": SchemaType(_read_approver, {"oneOf": [{"const": "self"}, _GROUP_SCHEMA]}, "`self` or `{group: NAME}`"),
    "count": int_type(minimum=1, maximum=MAX_COUNT),
    "separate": bool_type(),
    "strong": bool_type(),
    "keys": text_list_type("the name of a key, or a list of them", _read_key_name),
    "expires": _DURATION_TYPE,
    "valid": _DURATION_TYPE,
}
APPROVAL_FIELDS: dict[str, Field] = {key: Field(_APPROVAL_TYPES[key], about) for key, about in APPROVAL_KEYS.items()}
"""The keys of `approval` in a rule."""

_APPROVAL_TYPE = mapping_type(APPROVAL_FIELDS, "mapping, see `verdikt docs approvals`")

_TEMPLATE_TYPE = SchemaType(_read_template, {"type": "string", "minLength": 1}, "text with placeholders")


@dataclass(frozen=True, slots=True)
class LocatedItem:
    """A rule or a guard, its position in the file, and a guard's settings."""

    item: Any
    where: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class GraphReader:
    """Reads nodes of the graph from a document.

    `located_items` lists the rules and guards read so far, in order; `located_conditions` the conditions of `when`.
    """

    registry: PolicyRegistry
    located_items: list[LocatedItem] = field(default_factory=list)
    located_conditions: list[LocatedItem] = field(default_factory=list)
    _rule_fields: dict[str, Field] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rule_fields = self.rule_fields()

    def read_rule(self, node: YamlNode) -> Rule | None:
        """Read one rule."""
        # A rule with a wrong key is not built at all: without that key it would fire on other actions.
        before = len(node.document.errors)
        values = read_fields(node, self._rule_fields)
        if len(node.document.errors) > before:
            return None
        has_meaning = any("{does}" in values.get(key, "") for key in ("reason", "fix"))
        meanings = self.registry.select_meanings(values.get("effect", ())) if has_meaning else None
        rule = node.try_build(lambda: Rule.from_data(values, meanings))
        if rule is not None:
            self.located_items.append(LocatedItem(rule, node.location))
        return rule

    def rule_fields(self) -> dict[str, Field]:
        """Return every key of a rule."""
        return {
            "name": Field(text_type(), "what the verdict calls the rule", required=True),
            **self.condition_fields(),
            "unless": Field(
                SchemaType(self._read_conditions, {"$ref": "#/$defs/conditions"}, "mapping of conditions"),
                "the same conditions; an effect or target for which they hold too is excused",
            ),
            "verdict": Field(choice_type(tuple(VERDICT_KINDS)), "what the rule says when it fires", required=True),
            "reason": Field(_TEMPLATE_TYPE, "why, for the agent; needed for warn, ask and block"),
            "fix": Field(_TEMPLATE_TYPE, "what to do instead; needed for ask and block"),
            "red_line": Field(bool_type(), "whether no grant and no `escalate` can get past it"),
            "approval": Field(_APPROVAL_TYPE, "who has to approve it, perhaps away from the terminal; with `ask`"),
        }

    def condition_fields(self) -> dict[str, Field]:
        """Return the conditions of a rule, with the names of existing effects."""
        effects = text_list_type("dotted name, or a list of them", self._read_effect)
        return {**CONDITION_FIELDS, "effect": Field(effects, CONDITION_KEYS["effect"])}

    def _read_effect(self, node: YamlNode) -> str | None:
        name = str(node.value)
        if self.registry.knows_effect(name):
            return name
        node.add_unknown_name("effect", name, self.registry.effects, at_key=False)
        return None

    def _read_conditions(self, node: YamlNode) -> dict[str, Any] | None:
        if not isinstance(node.value, Mapping):
            node.add_mismatch("a mapping of conditions")
            return None
        return read_fields(node, self.condition_fields())

    def read_matcher(self, node: YamlNode) -> Matcher | None:
        """Read conditions that are not part of a rule."""
        before = len(node.document.errors)
        values = self._read_conditions(node)
        if values is None or len(node.document.errors) > before:
            return None
        return node.try_build(lambda: matcher_from_data(values))

    def read_rules(self, node: YamlNode, name: str = "rules") -> RuleSet | None:
        """Read a list of rules, whose names are unique, as one node."""
        rules: list[Rule] = []
        names: dict[str, str] = {}
        for item in node.read_items(what="a list of rules"):
            rule = self.read_rule(item)
            if rule is not None and rule.name in names:
                item.add_error(f"expected each rule name once, found `{rule.name}` again (first at {names[rule.name]})")
            elif rule is not None:
                names[rule.name] = item.location
                rules.append(rule)
        if node.value == []:
            node.add_mismatch("at least one rule")
        return RuleSet(*rules, name=name) if rules else None

    def read_node(self, node: YamlNode) -> PolicyNode | None:
        """Read any node of the graph: a guard's name, or a mapping with one key that determines its kind."""
        if isinstance(node.value, str):
            return self.read_guard(node, node.value, None)
        if not isinstance(node.value, Mapping) or not node.value:
            node.add_mismatch(f"a guard's name or one of {', '.join(NODE_READERS)}")
            return None
        kinds = [key for key in node.value if key in NODE_READERS or key in self.registry.guards]
        if len(kinds) != 1:
            self._report_ambiguous_node(node, kinds)
            return None
        kind = kinds[0]
        if kind not in NODE_READERS:
            for key in node.read_mapping():
                if key != kind:
                    node.get_child(key).add_unknown_name("key beside a guard", key, ())
            return self.read_guard(node.get_child(kind), kind, node.get_child(kind))
        values = read_fields(node, {kind: Field(any_type(), ""), **NODE_OPTIONS[kind]})
        before = len(node.document.errors)
        built: PolicyNode | None = NODE_READERS[kind](self, node.get_child(kind), values)
        # A reader that returns nothing without an error would silently drop a part of the policy.
        if built is None and len(node.document.errors) == before:
            node.add_mismatch(f"a complete `{kind}`")
        return built

    def _report_ambiguous_node(self, node: YamlNode, kinds: list[str]) -> None:
        if kinds:
            node.add_error(
                f"expected one of {', '.join(f'`{kind}`' for kind in kinds)} in this node, found {len(kinds)}"
            )
            return
        key = next(iter(node.value))
        node.get_child(key).add_unknown_name("guard or combinator", key, [*NODE_READERS, *self.registry.guards])

    def read_guard(self, node: YamlNode, name: str, settings: YamlNode | None) -> PolicyNode | None:
        """Read a built-in guard by its name."""
        if name not in self.registry.guards:
            node.add_unknown_name("guard", name, self.registry.guards, at_key=False)
            return None
        return self.build_guard(node, self.registry.get_guard_class(name), settings)

    def read_custom_guard(self, node: YamlNode, settings: YamlNode | None) -> PolicyNode | None:
        """Read a custom guard by its import path."""
        guard_class = read_custom_class(
            node, self.registry.load, what="guard", example="mypkg.guards:RateLimit", methods=("check",)
        )
        return None if guard_class is None else self.build_guard(node, guard_class, settings)

    def build_guard(self, node: YamlNode, factory: Callable[..., Any], settings: YamlNode | None) -> PolicyNode | None:
        """Build a guard with its settings."""
        before = len(node.document.errors)
        values: dict[str, Any] = {}
        fields = infer_settings(factory)
        if settings is not None and settings.value is not None:
            values = read_fields(settings, fields) if fields is not None else _read_plain_settings(settings)
        else:
            for key, field in (fields or {}).items():
                if field.required:
                    node.add_error(f"expected the setting `{key}`, found none")
        if len(node.document.errors) > before:
            return None
        try:
            guard = factory(**values)
            built = as_node(guard)
        except Exception as error:
            # A custom guard may refuse its settings in any way.
            _report_refusal(node if settings is None else settings, error)
            return None
        self.located_items.append(LocatedItem(guard, node.location, values))
        return built

    def read_children(self, node: YamlNode) -> list[PolicyNode]:
        """Read a list of nodes."""
        children = [self.read_node(item) for item in node.read_items(what="a list of guards and combinators")]
        if node.value == []:
            node.add_mismatch("at least one child")
        return [child for child in children if child is not None]


def _report_refusal(node: YamlNode, error: Exception) -> None:
    """Record why a guard could not be built, at the setting that the error mentions."""
    message = str(error)
    mentioned = (inner for inner in node.walk() if isinstance(inner.value, str) and f"`{inner.value}`" in message)
    if not isinstance(error, PolicyError):
        message = f"expected settings that the guard takes, found: {message}"
    next(mentioned, node).add_error(message)


def _read_plain_settings(node: YamlNode) -> dict[str, Any]:
    return {key: inner.value for key, inner in node.read_mapping(what="a mapping of settings").items()}


def _read_all(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    children = reader.read_children(node)
    return All(*children, **_extract_options("all", options)) if children else None


def _read_any(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    children = reader.read_children(node)
    return AnyOf(*children, **_extract_options("any", options)) if children else None


def _read_not(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    child = reader.read_node(node)
    return None if child is None else Not(child, **_extract_options("not", options))


def _read_when(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    parts = _read_parts(node, "when")
    condition = _read_condition(parts["if"]) if "if" in parts else None
    then = reader.read_node(parts["then"]) if "then" in parts else None
    otherwise = reader.read_node(parts["otherwise"]) if "otherwise" in parts else None
    if condition is None or then is None:
        return None
    reader.located_conditions.append(LocatedItem(condition, parts["if"].location))
    return When(condition, then, otherwise, **_extract_options("when", options))


def _read_threshold(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    parts = _read_parts(node, "threshold")
    counts = [parts[key] for key in ("at_least", "n") if key in parts]
    children = reader.read_children(parts["of"]) if "of" in parts else []
    if isinstance(node.value, Mapping) and len(counts) != 1:
        node.add_error(
            f"`threshold`: expected the key `at_least` (or `n`) once, found {'both' if counts else 'neither'}"
        )
    count = counts[0].read_int(minimum=1) if len(counts) == 1 else None
    if count is None or not children:
        return None
    return node.try_build(lambda: Threshold(count, *children, **_extract_options("threshold", options)))


def _read_escalate(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    parts = _read_parts(node, "escalate")
    primary = reader.read_node(parts["primary"]) if "primary" in parts else None
    fallback = reader.read_node(parts["fallback"]) if "fallback" in parts else None
    if primary is None or fallback is None:
        return None
    return Escalate(primary, fallback, **_extract_options("escalate", options))


def _read_rules(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    return reader.read_rules(node, options.get("name", "rules"))


def _read_use(reader: GraphReader, node: YamlNode, options: dict[str, Any]) -> PolicyNode | None:
    path = (*node.path[:-1], "with")
    settings = YamlNode(node.document, path, options["with"]) if "with" in options else None
    return reader.read_custom_guard(node, settings)


def _read_parts(node: YamlNode, kind: str) -> dict[str, YamlNode]:
    """Return the parts of a combinator by key; a missing one is an error."""
    parts = COMBINATOR_PARTS[kind]
    nodes = node.read_mapping(parts, what="a mapping with " + ", ".join(f"`{part}`" for part in parts))
    if isinstance(node.value, Mapping):
        for part, (_, required) in parts.items():
            if required and part not in node.value:
                node.add_error(f"`{kind}`: expected the key `{part}`, found none")
    return nodes


def _extract_options(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != kind}


NODE_READERS: dict[str, Callable[[GraphReader, YamlNode, dict[str, Any]], PolicyNode | None]] = {
    "all": _read_all,
    "any": _read_any,
    "not": _read_not,
    "when": _read_when,
    "threshold": _read_threshold,
    "escalate": _read_escalate,
    "rules": _read_rules,
    "use": _read_use,
}
"""Key that determines the kind of a node → the function that reads it."""

COMBINATOR_PARTS: dict[str, dict[str, tuple[str, bool]]] = {
    "when": {"if": ("condition", True), "then": ("node", True), "otherwise": ("node", False)},
    "threshold": {"at_least": ("count", False), "n": ("count", False), "of": ("nodes", True)},
    "escalate": {"primary": ("node", True), "fallback": ("node", True)},
}
"""Combinator → its parts: the kind of each, and whether it is required."""

_NAME_FIELD = {"name": Field(text_type(), "what the trace calls it")}
_SHORT_CIRCUIT_FIELD = {"short_circuit": Field(bool_type(), "stop as soon as the verdict is settled")}
NODE_OPTIONS: dict[str, dict[str, Field]] = {
    "all": {**_NAME_FIELD, **_SHORT_CIRCUIT_FIELD},
    "any": {**_NAME_FIELD, **_SHORT_CIRCUIT_FIELD},
    "not": {
        **_NAME_FIELD,
        "reason": Field(text_type(), "why it blocks"),
        "fix": Field(text_type(), "what to do instead"),
    },
    "when": _NAME_FIELD,
    "threshold": {**_NAME_FIELD, **_SHORT_CIRCUIT_FIELD},
    "escalate": _NAME_FIELD,
    "rules": _NAME_FIELD,
    "use": {"with": Field(any_type("mapping of settings"), "the settings of the guard")},
}
"""Kind of node → the options beside its key."""
