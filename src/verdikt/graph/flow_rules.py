"""The `flow` section of a policy file: what may follow after text from outside was read.

A page, an issue or the answer of a connected service may hold words that are meant for the agent. The session remembers
where it read from; a flow says which effects are asked about or blocked from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.errors import PolicyError
from verdikt.model.schema_type import (
    Field,
    SchemaType,
    Section,
    choice_type,
    mapping_schema,
    read_fields,
    text_list_type,
)
from verdikt.model.verdict import Verdict

if TYPE_CHECKING:
    from verdikt.model.effect import Effect
    from verdikt.model.yaml_node import YamlNode

GUARD = "flow"
SOURCES = ("web", "issue", "outside", "mcp")
"""Where text may come from: a fetched page, a forge, a file outside the project, a connected service."""
_FIX = "tell the person what the text asked for, and let them decide"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRule:
    """The verdict on effects that follow a read from one of the sources, except on those that answer the host read."""

    after: tuple[str, ...]
    effect: tuple[str, ...]
    verdict: str = "ask"

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.after) - set(SOURCES)):
            raise PolicyError(f"`after`: expected one of {', '.join(SOURCES)}, found `{unknown[0]}`")

    def matches(self, effect: Effect) -> bool:
        """Return whether an effect is one of those that the flow names."""
        return any(effect.what == name or effect.what.startswith(f"{name}.") for name in self.effect)


def check_flows(rules: Sequence[FlowRule], effects: Iterable[Effect], sources: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict on effects after what the session has read; None when no flow applies.

    `sources` maps a source to what was read from it: name → seq of the entry in the log.
    """
    verdicts = []
    for rule in rules:
        origins = [(source, name, seq) for source in rule.after for name, seq in sources.get(source, {}).items()]
        for effect in effects if origins else ():
            if rule.matches(effect) and (origin := _find_foreign_origin(effect, origins)):
                source, name, seq = origin
                reason = f"`{effect.by or effect.what}` follows text from outside: {source} `{name}` was read at #{seq}"
                build = Verdict.block if rule.verdict == "block" else Verdict.ask
                verdicts.append(build(guard=GUARD, reason=reason, fix=_FIX))
    return max(verdicts, key=lambda verdict: verdict.kind, default=None)


def _find_foreign_origin(effect: Effect, origins: list[tuple[str, str, Any]]) -> tuple[str, str, Any] | None:
    """Return an origin other than the host to which the effect talks: answering a page's own host is ordinary."""
    hosts = {target.text for target in effect.targets if target.kind == "host"}
    return next((origin for origin in origins if not hosts or origin[1] not in hosts), None)


FIELDS: Mapping[str, Field] = {
    "after": Field(text_list_type("web, issue, outside, mcp"), "where text was read from before", required=True),
    "effect": Field(text_list_type("effects"), "the effects that are then asked about or blocked", required=True),
    "verdict": Field(choice_type(("ask", "block")), "what happens then; ask by default"),
}


def read_flow_rules(node: YamlNode) -> tuple[FlowRule, ...]:
    """Return the flows; record every mistake on its node."""
    rules = []
    for inner in node.read_one_or_more(what="flows with `after` and `effect`"):
        if not isinstance(inner.value, Mapping):
            inner.add_mismatch("a mapping with `after` and `effect`")
            continue
        values = read_fields(inner, FIELDS)
        if {"after", "effect"} <= values.keys():
            rule = inner.try_build(partial(FlowRule, **values))
            rules += [rule] if rule else []
    return tuple(rules)


def merge_flow_rules(layers: Sequence[tuple[FlowRule, ...]]) -> tuple[FlowRule, ...]:
    """Return the flows of all layers: each of them can only make a session stricter."""
    return tuple(dict.fromkeys(rule for layer in layers for rule in layer))


SECTION = Section(
    SchemaType(
        read_flow_rules,
        {"oneOf": [mapping_schema(FIELDS), {"type": "array", "items": mapping_schema(FIELDS), "minItems": 1}]},
        "a flow, or a list of them",
    ),
    "what may follow after text from outside was read",
    merge_flow_rules,
)
