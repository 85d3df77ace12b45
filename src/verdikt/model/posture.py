"""The state in which an agent operates, and the moves between states."""

from __future__ import annotations

import enum
from collections.abc import Collection

from verdikt.errors import PostureError
from verdikt.model.effect import EffectClass


class Posture(enum.StrEnum):
    """Who is there to answer, and whether anything may change."""

    INTERACTIVE = "interactive"
    AUTONOMOUS = "autonomous"
    DRY_RUN = "dry_run"
    LOCKED = "locked"


POSTURE_TRANSITIONS: dict[Posture, frozenset[Posture]] = {
    Posture.INTERACTIVE: frozenset(Posture),
    Posture.AUTONOMOUS: frozenset({Posture.AUTONOMOUS, Posture.INTERACTIVE, Posture.LOCKED}),
    Posture.DRY_RUN: frozenset({Posture.DRY_RUN, Posture.INTERACTIVE, Posture.LOCKED}),
    Posture.LOCKED: frozenset({Posture.LOCKED, Posture.INTERACTIVE}),
}


def move(before: Posture, after: Posture) -> Posture:
    """The posture after a move, if that move is allowed."""
    if after not in POSTURE_TRANSITIONS[before]:
        raise PostureError(f"illegal posture transition: {before} → {after}")
    return after


class Disposition(enum.StrEnum):
    """What a posture does with a declared tool: `escalate` means that a person must say yes first."""

    ALLOW = "allow"
    DENY = "deny"
    ESCALATE = "escalate"


READ_ONLY_POSTURES = frozenset({Posture.DRY_RUN, Posture.LOCKED})
"""The postures in which nothing may change."""


def dispose(
    posture: Posture, dominant: EffectClass, *, permitted: Collection[Posture] | None = None, confirm: bool = False
) -> Disposition:
    """What happens to a tool with this dominant effect; `permitted` None permits every posture."""
    if permitted is not None and posture not in permitted:
        return Disposition.DENY
    if posture in READ_ONLY_POSTURES:
        return Disposition.ALLOW if dominant is EffectClass.READ else Disposition.DENY
    if confirm:
        return Disposition.DENY if posture is Posture.AUTONOMOUS else Disposition.ESCALATE
    return Disposition.ALLOW


HOST_MODE_POSTURES: dict[str, Posture] = {
    "bypassPermissions": Posture.AUTONOMOUS,
    "dontAsk": Posture.AUTONOMOUS,
    "yolo": Posture.AUTONOMOUS,
    "never": Posture.AUTONOMOUS,
    "plan": Posture.DRY_RUN,
}
"""A host's permission mode → the posture it amounts to. A mode that is not here says nothing about who is there."""
