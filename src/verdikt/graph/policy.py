"""The policy: all layers in force, as one value that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.errors import PolicyError
from verdikt.graph.matcher import Matcher
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind, strictest_posture

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.graph_reader import LocatedItem
    from verdikt.graph.guard import PolicyNode
    from verdikt.graph.rule_exception import RuleException
    from verdikt.model.action import Action
    from verdikt.model.effect import Effect
    from verdikt.model.schema_type import Section

POLICY_FORMAT = 1
"""Version of the document from which a policy's digest is computed."""


NO_PROFILE = "none"
"""Name that stands for no profile."""


def has_only_exceptions(document: object) -> bool:
    """Return whether a policy document has exceptions and nothing else."""
    return isinstance(document, Mapping) and "exceptions" in document and document.keys() <= {"exceptions", "version"}


class PolicyLayer(NamedTuple):
    """One document of a policy with the profile it builds on. None stands for an absent setting.

    Only `trusted` layers may let a host skip its prompt. A file that comes with a project is not trusted, because the
    project's author would then answer in place of the user.
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
    sections: Mapping[str, Any] = MappingProxyType({})
    where: Mapping[str, str] = MappingProxyType({})  # top-level key → file:line:column
    trusted: bool = True
    exceptions: tuple[RuleException, ...] = ()

    @property
    def has_rules(self) -> bool:
        """Whether the layer has nodes of its own or builds on a profile."""
        return bool(self.nodes) or (self.base is not None and self.profile != NO_PROFILE)

    @property
    def has_only_exceptions(self) -> bool:
        """Whether the document says nothing else, as one that `verdikt allow` has written for a person."""
        return has_only_exceptions(self.document)

    def get_setting(self, name: str) -> Any:
        """Return this layer's setting, or else its profile's; None when neither has it."""
        own = getattr(self, name)
        return own if own is not None or self.base is None else self.base.get_setting(name)

    def section(self, name: str) -> Any:
        """Return this layer's section, or else its profile's; None when neither has it."""
        own = self.sections.get(name)
        return own if own is not None or self.base is None else self.base.section(name)

    def locate_key(self, key: str) -> str:
        """Return the position of a top-level key that is in force in this layer."""
        if key in self.where or self.base is None:
            return self.where.get(key, self.file)
        return self.base.locate_key(key)

    def dump(self) -> dict[str, Any]:
        """Return the layer as plain data, without file names."""
        base = None if self.base is None else self.base.document
        return {"layer": self.name, "policy": self.document, "profile": base}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Layers, the highest first. Each can tighten the ones above it, and none can loosen them."""

    layers: tuple[PolicyLayer, ...]
    section_definitions: Mapping[str, Section] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.layers:
            raise PolicyError("a policy needs at least one layer")
        if not any(layer.has_rules for layer in self.layers) and not self.guards and not self._wants_no_rules():
            # It would pass everything, or everything except changes to verdikt itself, without having said so.
            raise PolicyError("expected at least one rule, guard or profile, found none", where=self.layers[-1].file)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies that are evaluated, the strictest of which wins: only this one, unless a change is pending."""
        return (self,)

    @property
    def pending_note(self) -> str:
        """What a person should know about a change that waits for acceptance; empty when there is none."""
        return ""

    @cached_property
    def layer_digests(self) -> tuple[tuple[str, str], ...]:
        """Name and digest of what each layer's own file says, without the profile that it builds on.

        A person accepts the files: a new release of verdikt may bring other profiles, and needs no new acceptance.
        """
        return tuple((layer.name, hash_canonical(layer.document)) for layer in self.layers)

    def _wants_no_rules(self) -> bool:
        """Return whether a layer says `profile: none` and something remains to evaluate, such as the red lines."""
        return any(layer.document.get("profile") == NO_PROFILE for layer in self.layers) and bool(self.nodes)

    @cached_property
    def nodes(self) -> tuple[PolicyNode, ...]:
        """The children of the root: every node of every layer, a layer's own before its profile's."""
        nodes = [
            _apply_exceptions(node, self.exceptions_above(index))
            for index, layer in enumerate(self.layers)
            for part in (layer, layer.base)
            if part
            for node in part.nodes
        ]
        nodes += self.guards
        if self.unknown_tools is not VerdictKind.PASS:
            # Every layer may have a say here, so only the highest may make an exception.
            nodes.append(_apply_exceptions(build_unknown_tool_rules(self.unknown_tools), self.exceptions_above(0)))
        return tuple(_join_rule_sets(nodes))

    @cached_property
    def guards(self) -> tuple[PolicyNode, ...]:
        """The nodes that sections of other packages add to the graph."""
        parts = [part for layer in self.layers for part in (layer, layer.base) if part]
        names = [
            name
            for name in dict.fromkeys(name for part in parts for name in part.sections)
            if name in self.section_definitions
        ]
        return tuple(node for name in names for node in self.section_definitions[name].guards(self.section(name)))

    def exceptions_above(self, layer_index: int) -> tuple[RuleException, ...]:
        """Return the exceptions that hold for the rules of a layer: its own and those of higher layers.

        Those of a file that comes with a project loosen nothing by themselves: until a person accepts the file, the
        policy without it is evaluated too.
        """
        layers = self.layers[: layer_index + 1]
        return tuple(exception for layer in layers for exception in layer.exceptions)

    @property
    def exceptions(self) -> tuple[RuleException, ...]:
        """Every exception in force."""
        return self.exceptions_above(len(self.layers))

    def without_exceptions(self) -> Policy:
        """Return the same policy without any exception; its decisions are for comparison, not for the log."""
        layers = tuple(layer._replace(exceptions=()) for layer in self.layers)
        return Policy(layers=layers, section_definitions=self.section_definitions)

    @cached_property
    def root(self) -> PolicyNode:
        """The graph: `All` over the nodes of every layer."""
        if len(self.nodes) == 1:
            return self.nodes[0]
        from verdikt.graph.combinator import All  # a policy of rules alone, as from a cache, needs no combinator

        return All(*self.nodes, name="policy")

    @cached_property
    def posture(self) -> Posture:
        """The posture in which a session starts: the strictest that a layer names."""
        named = [layer.get_setting("posture") for layer in self.layers]
        return strictest_posture(*[posture for posture in named if posture])

    @cached_property
    def unknown_tools(self) -> VerdictKind:
        """The verdict on an undeclared tool: the strictest that a layer names. The highest layer's default is ask."""
        return self.unknown_tools_above(len(self.layers))

    @cached_property
    def first_speaking_layer(self) -> int:
        """The index of the highest layer that has more than exceptions; defaults are that layer's."""
        return next((index for index, layer in enumerate(self.layers) if not layer.has_only_exceptions), 0)

    def unknown_tools_above(self, layer_index: int) -> VerdictKind:
        """Return the verdict of the layers above one on a tool that only this one declares."""
        named: list[VerdictKind | None] = [layer.get_setting("unknown_tools") for layer in self.layers[:layer_index]]
        # Without a setting, the highest layer asks: an unknown tool is neither safe nor guilty.
        first = min(self.first_speaking_layer, layer_index - 1)
        named[first] = VerdictKind.ASK if named[first] is None else named[first]
        return max(kind for kind in named if kind is not None)

    def section(self, name: str) -> Any:
        """Return a section of another package, merged over the layers; None when no layer has it."""
        if name not in self._section_cache:
            values = [value for layer in self.layers if (value := layer.section(name)) is not None]
            # Looking a section up imports its package, so only when a layer has the section.
            merge = self.section_definitions[name].merge if values and name in self.section_definitions else None
            self._section_cache[name] = None if not values else merge(values) if merge else values[0]
        return self._section_cache[name]

    @cached_property
    def _section_cache(self) -> dict[str, Any]:
        return {}

    @cached_property
    def approvals(self) -> tuple[tuple[Matcher, ...], ...]:
        """Conditions of effects for which the host need not prompt; each list must cover an effect."""
        named = [layer.get_setting("approve") for layer in self.layers]
        # A layer from the project alone must not be able to switch a host's prompts off.
        if not self.layers[0].trusted or not named[0]:
            return ()
        return tuple(approve for approve in named if approve is not None)

    def approves_action(self, action: Action, ctx: GovernanceContext) -> bool:
        """Return whether the host need not prompt: each effect is known and covered in each layer with approvals."""
        if not self.approvals or not ctx.effects.items:
            return False
        return all(
            any(_approval_covers(matcher, action, effect, ctx) for matcher in approve)
            for approve in self.approvals
            for effect in ctx.effects
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole policy as plain data, without comments and positions."""
        return {"format": POLICY_FORMAT, "layers": [layer.dump() for layer in self.layers]}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical document: policies with the same digest decide alike."""
        return hash_canonical(self.document)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule of every layer, in order."""
        located_items = (
            item for layer in self.layers for part in (layer, layer.base) if part for item in part.located_items
        )
        return tuple(item.item for item in located_items if isinstance(item.item, Rule))


def _apply_exceptions(node: PolicyNode, exceptions: Sequence[RuleException]) -> PolicyNode:
    """Return a rule set whose rules know their exceptions; a red line has none, and other nodes stay as they are."""
    if not exceptions or not isinstance(node, RuleSet):
        return node
    by_rule = {name: tuple(e for e in exceptions if e.rule == name) for name in {e.rule for e in exceptions}}
    rules = [
        rule if rule.red_line or rule.name not in by_rule else replace(rule, exceptions=by_rule[rule.name])
        for rule in node.rules
    ]
    return RuleSet(*rules, name=node.name)


def _join_rule_sets(nodes: Sequence[PolicyNode]) -> list[PolicyNode]:
    """Return the nodes with adjacent rule sets merged, so that a decision queries one index."""
    joined: list[PolicyNode] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if isinstance(node, RuleSet) and isinstance(last, RuleSet):
            joined[-1] = RuleSet(*last.rules, *node.rules)
        else:
            joined.append(node)
    return joined


def _approval_covers(matcher: Matcher, action: Action, effect: Effect, ctx: GovernanceContext) -> bool:
    """Return whether an approval covers a certain effect and every one of its targets."""
    # An approval of possible effects has to say so with `certainty: possible`.
    if not effect.certain and not matcher.certainty:
        return False
    if not (matcher.fits_action(action, ctx) and matcher.fits_effect(effect)):
        return False
    if not matcher.on_target:
        return True
    return bool(effect.targets) and all(matcher.fits_target(target, ctx) for target in effect.targets)


def build_unknown_tool_rules(kind: VerdictKind) -> RuleSet:
    """Return the rule that `unknown_tools` stands for."""
    rule = Rule(
        name="unknown_tool",
        when=Matcher(effect=("unknown.tool",)),
        verdict=kind,
        reason="`{tool}` is a tool that the policy does not know",
        fix="declare the tool and its effects in the manifest, or use a tool that is known",
    )
    return RuleSet(rule)
