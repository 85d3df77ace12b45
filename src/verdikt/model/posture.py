"""The state in which an agent operates, and the moves between states."""

import enum

from verdikt.errors import PostureError


class Posture(enum.StrEnum):
    """Who is there to answer, and whether anything may change."""

    INTERACTIVE = "interactive"
    AUTONOMOUS = "autonomous"
    DRY_RUN = "dry_run"
    LOCKED = "locked"


MOVES: dict[Posture, frozenset[Posture]] = {
    Posture.INTERACTIVE: frozenset(Posture),
    Posture.AUTONOMOUS: frozenset({Posture.AUTONOMOUS, Posture.INTERACTIVE, Posture.LOCKED}),
    Posture.DRY_RUN: frozenset({Posture.DRY_RUN, Posture.INTERACTIVE, Posture.LOCKED}),
    Posture.LOCKED: frozenset({Posture.LOCKED, Posture.INTERACTIVE}),
}


def move(before: Posture, after: Posture) -> Posture:
    """The posture after a move, if that move is allowed."""
    if after not in MOVES[before]:
        raise PostureError(f"illegal posture transition: {before} → {after}")
    return after
