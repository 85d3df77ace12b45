"""The state in which an agent operates, and the transitions between states."""

from __future__ import annotations

import enum
from collections.abc import Collection

from verdikt.errors import PostureError
from verdikt.model.effect import EffectClass


class Posture(enum.StrEnum):
    """Whether a person can answer, and whether anything may change."""

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
    """Return the new posture if the transition is allowed, or raise `PostureError`."""
    if after not in POSTURE_TRANSITIONS[before]:
        raise PostureError(f"illegal posture transition: {before} → {after}")
    return after


class Disposition(enum.StrEnum):
    """What a posture does with a declared tool: `escalate` means that a person must confirm first."""

    ALLOW = "allow"
    DENY = "deny"
    ESCALATE = "escalate"


READ_ONLY_POSTURES = frozenset({Posture.DRY_RUN, Posture.LOCKED})
"""The postures in which nothing may change."""


def dispose(
    posture: Posture, dominant: EffectClass, *, permitted: Collection[Posture] | None = None, confirm: bool = False
) -> Disposition:
    """Return what happens to a tool with this dominant effect; `permitted` None permits every posture."""
    if permitted is not None and posture not in permitted:
        return Disposition.DENY
    if posture in READ_ONLY_POSTURES:
        return Disposition.ALLOW if dominant is EffectClass.READ else Disposition.DENY
    if confirm:
        # In the autonomous posture there is no person to confirm, so a question becomes a refusal.
        return Disposition.DENY if posture is Posture.AUTONOMOUS else Disposition.ESCALATE
    return Disposition.ALLOW


HOST_MODE_POSTURES: dict[str, Posture] = {
    # Claude Code: bypassPermissions, dontAsk, plan; Gemini CLI: yolo; Codex: never.
    "bypassPermissions": Posture.AUTONOMOUS,
    "dontAsk": Posture.AUTONOMOUS,
    "yolo": Posture.AUTONOMOUS,
    "never": Posture.AUTONOMOUS,
    "plan": Posture.DRY_RUN,
}
"""A host's permission mode → its posture. A mode that is not listed does not tell whether a person is present."""
