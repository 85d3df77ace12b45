"""A policy in a form that is cached between processes: plain data for decisions, its files for everything else."""

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
    """A cached policy. What a decision does not need is read from the policy's files on demand."""

    __slots__ = ("_read", "_sections")

    def __init__(self, data: dict[str, Any], read: Callable[[], Policy]) -> None:
        # `Policy` is frozen, so fields are set as its dataclass does, and cached properties through the dict they use.
        object.__setattr__(self, "_read", read)
        object.__setattr__(self, "_sections", frozenset(data["sections"]))
        root = RuleSet.load(data["rules"])
        vars(self).update(root=root, nodes=(root,), guards=(), digest=data["digest"], posture=Posture(data["posture"]))
        vars(self)["layer_digests"] = tuple((name, digest) for name, digest in data["layer_digests"])
        # Otherwise every decision would read the policy's files to learn that nothing is approved.
        if not data["approves"]:
            vars(self)["approvals"] = ()

    @cached_property
    def full_policy(self) -> Policy:
        """The same policy, read from its files."""
        return self._read()  # type: ignore[attr-defined,no-any-return]

    @property
    def layers(self) -> tuple[PolicyLayer, ...]:
        """Every layer, complete."""
        return self.full_policy.layers

    @property
    def section_definitions(self) -> Any:
        """The sections that exist."""
        return self.full_policy.section_definitions

    def section(self, name: str) -> Any:
        """Return a section of another package, merged over the layers; None when no layer has it."""
        return self.full_policy.section(name) if name in self._sections else None  # type: ignore[attr-defined]


def compile_policy(policy: Policy) -> bytes | None:
    """Return a policy as bytes for the cache, or None if it has guards: they are code, and no code is cached."""
    root = policy.root
    if not isinstance(root, RuleSet):
        return None
    parts = [part for layer in policy.layers for part in (layer, layer.base) if part]
    data = {
        "sections": sorted({name for part in parts for name, value in part.sections.items() if value is not None}),
        "digest": policy.digest,
        "layer_digests": policy.layer_digests,
        "posture": str(policy.posture.value),
        "approves": bool(policy.approvals),
    }
    try:
        # Not pickle: loading marshalled data runs no code, whatever was written into the cache.
        return marshal.dumps({**data, "rules": root.dump()})
    except (AttributeError, ValueError):
        # A condition that is a function, or a value that is no plain data.
        return None


def load_compiled_policy(data: bytes | None, read: Callable[[], Policy]) -> CompiledPolicy | None:
    """Return the cached policy, or None when the data is missing or invalid. Loading runs no code."""
    if not data:
        return None
    try:
        return CompiledPolicy(marshal.loads(data), read)
    except (EOFError, ValueError, TypeError, KeyError, AttributeError):
        return None
