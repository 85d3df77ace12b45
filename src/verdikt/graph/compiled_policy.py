"""A policy as it is kept between processes: what a decision asks of it, as plain data, and the rest from its files."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verdikt.graph.policy import Policy
from verdikt.graph.rule import RuleSet
from verdikt.model.posture import Posture

if TYPE_CHECKING:
    from verdikt.graph.policy import PolicyLayer


class CompiledPolicy(Policy):
    """A policy that was read before. Whatever is not asked for at every decision is read from its files when it is asked for."""

    __slots__ = ("_read", "_sections")

    def __init__(self, data: dict[str, Any], read: Callable[[], Policy]) -> None:
        put = object.__setattr__
        put(self, "_read", read)
        put(self, "_sections", frozenset(data["sections"]))
        root = RuleSet.load(data["rules"])
        vars(self).update(root=root, nodes=(root,), guards=(), digest=data["digest"], posture=Posture(data["posture"]))
        if not data["approves"]:
            vars(self)["approvals"] = ()

    @cached_property
    def full_policy(self) -> Policy:
        """The same policy, read from its files."""
        return self._read()  # type: ignore[attr-defined,no-any-return]

    @property
    def layers(self) -> tuple[PolicyLayer, ...]:
        """Every layer with everything it says."""
        return self.full_policy.layers

    @property
    def section_definitions(self) -> Any:
        """The sections that exist."""
        return self.full_policy.section_definitions

    def section(self, name: str) -> Any:
        """A section that another room owns, merged over the layers; None when no layer has it."""
        return self.full_policy.section(name) if name in self._sections else None  # type: ignore[attr-defined]


def compile_policy(policy: Policy) -> bytes | None:
    """What is kept of a policy; None when it is made of more than rules: a guard is code, and no code is kept."""
    root = policy.root
    if not isinstance(root, RuleSet):
        return None
    parts = [part for layer in policy.layers for part in (layer, layer.base) if part]
    data = {
        "sections": sorted({name for part in parts for name, value in part.sections.items() if value is not None}),
        "digest": policy.digest,
        "posture": str(policy.posture.value),
        "approves": bool(policy.approvals),
    }
    try:
        return marshal.dumps({**data, "rules": root.dump()})
    except (AttributeError, ValueError):  # a condition that is no text, a value that is no plain data
        return None


def load_compiled_policy(data: bytes | None, read: Callable[[], Policy]) -> CompiledPolicy | None:
    """The policy that was kept; None when nothing was, or something else. Loading it runs nothing."""
    if not data:
        return None
    try:
        return CompiledPolicy(marshal.loads(data), read)
    except (EOFError, ValueError, TypeError, KeyError, AttributeError):
        return None
