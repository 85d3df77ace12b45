"""The `raise_posture` section of a policy file: at which risk a session moves to a stricter posture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verdikt.errors import PolicyError
from verdikt.model.posture import POSTURE_TRANSITIONS, Posture
from verdikt.model.schema_type import Field, Section, choice_type, keep_all, mapping_list_type, number_type
from verdikt.model.verdict import strictest_posture


@dataclass(frozen=True, slots=True, kw_only=True)
class PostureMove:
    """A move to a posture as soon as the session's risk reaches a bound. It only ever makes a session stricter."""

    to: Posture
    risk: float

    def __post_init__(self) -> None:
        if self.to is Posture.INTERACTIVE:
            raise PolicyError("`raise_posture` moves to a stricter posture, and `interactive` is the loosest")


def find_posture_move(moves: Sequence[PostureMove], posture: Posture, risk: float) -> PostureMove | None:
    """Return the move to the strictest posture that the risk calls for; None when the posture stays."""
    due = [
        move
        for move in moves
        if risk >= move.risk
        and strictest_posture(posture, move.to) is move.to
        and move.to in POSTURE_TRANSITIONS[posture]
    ]
    strictest = strictest_posture(*(move.to for move in due)) if due else posture
    return next((move for move in due if move.to is strictest and move.to is not posture), None)


def _build_move(to: str, risk: float) -> PostureMove:
    return PostureMove(to=Posture(to), risk=float(risk))


_FIELDS: Mapping[str, Field] = {
    "to": Field(choice_type(tuple(Posture)[1:]), "the posture that the session moves to", required=True),
    "risk": Field(number_type(0, 1), "the session's risk from which on it moves, 0 to 1", required=True),
}

SECTION = Section(
    mapping_list_type(_FIELDS, _build_move, items="moves", description="a move, or a list of them"),
    "at which risk a session becomes stricter",
    keep_all,
)
