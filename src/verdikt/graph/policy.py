"""The policy: the layers of it that are in force, as one value that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verdikt.errors import PolicyError
from verdikt.graph.combinator import All
from verdikt.graph.matcher import Matcher
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind, strictest_posture

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.graph_reader import LocatedItem
    from verdikt.graph.guard import PolicyNode
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect
    from verdikt.model.schema_type import Section

POLICY_FORMAT = 1
"""Of the document that a policy's digest is made of."""


NO_PROFILE = "none"
"""The name of building on none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLayer:
    """One document of a policy with the profile it builds on. None stands for what it does not say.

    `trusted` layers may let a host skip its prompt; a file that comes with a project may not, because whoever wrote the
    project would then answer in the user's place.
    """

    name: str
    file: str
    document: Mapping[str, Any]
    nodes: tuple[PolicyNode, ...] = ()
    located_items: tuple[LocatedItem, ...] = ()
    conditions: tuple[LocatedItem, ...] = ()  # of `when`
    profile: str = NO_PROFILE
    base: PolicyLayer | None = None
    disabled: tuple[str, ...] = ()
    posture: Posture | None = None
    unknown_tools: VerdictKind | None = None
    approve: tuple[Matcher, ...] | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)  # top-level key → file:line:column
    trusted: bool = True

    def get_setting(self, name: str) -> Any:
        """What this layer says, or else its profile; None when neither does."""
        own = getattr(self, name)
        return own if own is not None or self.base is None else self.base.get_setting(name)

    def section(self, name: str) -> Any:
        """This layer's section, or else its profile's; None when neither has it."""
        own = self.sections.get(name)
        return own if own is not None or self.base is None else self.base.section(name)

    def locate_key(self, key: str) -> str:
        """Where a top-level key that is in force here was written."""
        if key in self.where or self.base is None:
            return self.where.get(key, self.file)
        return self.base.locate_key(key)

    def dump(self) -> dict[str, Any]:
        """The layer as plain data, without its place on any disk."""
        base = None if self.base is None else self.base.document
        return {"layer": self.name, "policy": self.document, "profile": base}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Layers, the highest first. Each can tighten what those above it say, and none can loosen it."""

    layers: tuple[PolicyLayer, ...]
    section_definitions: Mapping[str, Section] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.layers:
            raise PolicyError("a policy needs at least one layer")
        if (
            not any(layer.nodes or (layer.base and layer.profile != NO_PROFILE) for layer in self.layers)
            and not self.guards
        ):
            # It would pass everything, or everything but what touches verdikt itself.
            raise PolicyError("expected at least one rule, guard or profile, found none", where=self.layers[-1].file)

    @cached_property
    def nodes(self) -> tuple[PolicyNode, ...]:
        """Every node of every layer, a layer's own before its profile's: the children of the root."""
        found = [node for layer in self.layers for part in (layer, layer.base) if part for node in part.nodes]
        found += self.guards
        if self.unknown_tools is not VerdictKind.PASS:
            found.append(build_unknown_tool_rules(self.unknown_tools))
        return tuple(_join_rule_sets(found))

    @cached_property
    def guards(self) -> tuple[PolicyNode, ...]:
        """What the sections of other rooms add to the graph."""
        parts = [part for layer in self.layers for part in (layer, layer.base) if part]
        names = [
            name
            for name in dict.fromkeys(name for part in parts for name in part.sections)
            if name in self.section_definitions
        ]
        return tuple(node for name in names for node in self.section_definitions[name].guards(self.section(name)))

    @cached_property
    def root(self) -> PolicyNode:
        """The graph: `All` over everything that any layer says."""
        return self.nodes[0] if len(self.nodes) == 1 else All(*self.nodes, name="policy")

    @cached_property
    def posture(self) -> Posture:
        """The posture in which a session starts: the most restrictive that a layer names."""
        named = [layer.get_setting("posture") for layer in self.layers]
        return strictest_posture(*[posture for posture in named if posture])

    @cached_property
    def unknown_tools(self) -> VerdictKind:
        """What is said of a tool that nobody declared: the strictest that a layer names; the highest asks by default."""
        return self.unknown_tools_above(len(self.layers))

    def unknown_tools_above(self, at: int) -> VerdictKind:
        """What the layers above one say of a tool that only this one declares."""
        named: list[VerdictKind | None] = [layer.get_setting("unknown_tools") for layer in self.layers[:at]]
        named[0] = VerdictKind.ASK if named[0] is None else named[0]
        return max(kind for kind in named if kind is not None)

    def section(self, name: str) -> Any:
        """A section that another room owns, merged over the layers; None when no layer has it."""
        if name not in self._section_cache:
            values = [value for layer in self.layers if (value := layer.section(name)) is not None]
            # Asking for the section loads its room: only when a layer has it.
            merge = self.section_definitions[name].merge if values and name in self.section_definitions else None
            self._section_cache[name] = None if not values else merge(values) if merge else values[0]
        return self._section_cache[name]

    @cached_property
    def _section_cache(self) -> dict[str, Any]:
        return {}

    @cached_property
    def approvals(self) -> tuple[tuple[Matcher, ...], ...]:
        """What the host need not ask about: every list must cover an effect. Empty when nothing is approved."""
        named = [layer.get_setting("approve") for layer in self.layers]
        if not self.layers[0].trusted or not named[0]:
            return ()
        return tuple(approve for approve in named if approve is not None)

    def approves_action(self, action: Action, ctx: GovernanceContext) -> bool:
        """Whether the host need not ask a person: every effect is known, and covered in every layer that says so."""
        if not self.approvals or not ctx.effects.items:
            return False
        return all(
            any(_approval_covers(matcher, action, effect, ctx) for matcher in approve)
            for approve in self.approvals
            for effect in ctx.effects
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole policy as plain data, comments and places left out."""
        return {"format": POLICY_FORMAT, "layers": [layer.dump() for layer in self.layers]}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical document: two policies with the same digest decide alike."""
        return hash_canonical(self.document)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule of every layer, in order."""
        placed = (item for layer in self.layers for part in (layer, layer.base) if part for item in part.located_items)
        return tuple(item.item for item in placed if isinstance(item.item, Rule))


def _join_rule_sets(nodes: Sequence[PolicyNode]) -> list[PolicyNode]:
    """The same nodes, with neighbouring rule sets made one, so that a decision asks one index."""
    found: list[PolicyNode] = []
    for node in nodes:
        last = found[-1] if found else None
        if isinstance(node, RuleSet) and isinstance(last, RuleSet):
            found[-1] = RuleSet(*last.rules, *node.rules)
        else:
            found.append(node)
    return found


def _approval_covers(matcher: Matcher, action: Action, effect: Effect, ctx: GovernanceContext) -> bool:
    """Whether an approval holds for an effect and for every one of its targets; what is only possible is not approved."""
    if not effect.certain and not matcher.certainty:
        return False
    if not (matcher.fits_action(action, ctx) and matcher.fits_effect(effect)):
        return False
    if not matcher.on_target:
        return True
    return bool(effect.targets) and all(matcher.fits_target(target, ctx) for target in effect.targets)


def build_unknown_tool_rules(kind: VerdictKind) -> RuleSet:
    """The rule that `unknown_tools` stands for."""
    rule = Rule(
        name="unknown_tool",
        when=Matcher(effect=("unknown.tool",)),
        verdict=kind,
        reason="`{tool}` is a tool that the policy does not know",
        fix="declare the tool and its effects in the manifest, or use a tool that is known",
    )
    return RuleSet(rule)
