"""The accepted policy and a changed one that no person has accepted yet, as one policy: all restrictions of both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from verdikt.graph.policy import Policy
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.verdict import strictest_posture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.guard import PolicyNode
    from verdikt.graph.policy import PolicyLayer
    from verdikt.graph.rule import Rule
    from verdikt.model.action import Action
    from verdikt.model.posture import Posture
    from verdikt.model.schema_type import Section

PENDING_NOTE = (
    "the policy on disk is not the accepted one: the restrictions of both are in force until a person runs"
    " `verdikt policy accept`"
)


class PendingPolicy(Policy):
    """Two policies of which the stricter verdict wins.

    `accepted` is the one that a person accepted, `changed` the one on disk. `decide` evaluates both; every setting is
    the union of their restrictions, so that no moment is looser than under either of them.
    """

    __slots__ = ("accepted", "changed")

    accepted: Policy
    changed: Policy

    def __init__(self, accepted: Policy, changed: Policy) -> None:
        # `Policy` is frozen, so fields are set as its dataclass does.
        object.__setattr__(self, "accepted", accepted)
        object.__setattr__(self, "changed", changed)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The accepted policy, then the changed one."""
        return self.accepted, self.changed

    @property
    def pending_note(self) -> str:
        """What a person should know about the change."""
        return PENDING_NOTE

    @property
    def layers(self) -> tuple[PolicyLayer, ...]:
        """The layers of the accepted policy, which decide what is trusted."""
        return self.accepted.layers

    @property
    def section_definitions(self) -> Mapping[str, Section]:
        """The sections that exist."""
        return self.accepted.section_definitions

    @cached_property
    def nodes(self) -> tuple[PolicyNode, ...]:
        """The nodes of both graphs."""
        return (*self.accepted.nodes, *self.changed.nodes)

    @cached_property
    def guards(self) -> tuple[PolicyNode, ...]:
        """The nodes that sections of both policies add."""
        return (*self.accepted.guards, *self.changed.guards)

    @cached_property
    def posture(self) -> Posture:
        """The stricter of the two postures."""
        return strictest_posture(self.accepted.posture, self.changed.posture)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule of both policies."""
        return (*self.accepted.rules, *self.changed.rules)

    def section(self, name: str) -> Any:
        """Return a section merged like one of two layers, with the accepted policy as the higher one."""
        if name not in self._section_cache:
            self._section_cache[name] = self._merge_section(name)
        return self._section_cache[name]

    def _merge_section(self, name: str) -> Any:
        values = [part.section(name) for part in self.parts]
        if values[0] == values[1] or name not in self.section_definitions:
            return values[0] if values[0] is not None else values[1]
        definition = self.section_definitions[name]
        # A section that one policy lacks counts with its defaults, which may be stricter than what the other says.
        values = [value if value is not None else definition.default() for value in values]
        if isinstance(values[0], tuple) and isinstance(values[1], tuple):
            # A list that was only added to must not run its old items twice.
            values[1] = tuple(item for item in values[1] if item not in values[0])
        return definition.merge([value for value in values if value is not None])

    def approves_action(self, action: Action, ctx: GovernanceContext) -> bool:
        """Return whether the host need not prompt: only if both policies say so."""
        return all(part.approves_action(action, ctx) for part in self.parts)

    @cached_property
    def document(self) -> dict[str, Any]:
        """Both documents."""
        return {"accepted": self.accepted.document, "changed": self.changed.document}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of both documents; receipts name the two policies by their own digests."""
        return hash_canonical(self.document)
