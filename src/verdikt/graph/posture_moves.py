"""The `raise_posture` section of a policy file: at which risk a session moves to a stricter posture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from verdikt.errors import PolicyError
from verdikt.model.posture import POSTURE_TRANSITIONS, Posture
from verdikt.model.schema_type import Field, SchemaType, Section, choice_type, mapping_schema, number_type, read_fields
from verdikt.model.verdict import strictest_posture
from verdikt.model.yaml_node import YamlNode


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


FIELDS: Mapping[str, Field] = {
    "to": Field(choice_type(tuple(Posture)[1:]), "the posture that the session moves to", required=True),
    "risk": Field(number_type(0, 1), "the session's risk from which on it moves, 0 to 1", required=True),
}


def read_posture_moves(node: YamlNode) -> tuple[PostureMove, ...]:
    """Return the moves; record every mistake on its node."""
    moves = []
    for inner in node.read_one_or_more(what="moves with `to` and `risk`"):
        if not isinstance(inner.value, Mapping):
            inner.add_mismatch("a mapping with `to` and `risk`")
            continue
        values = read_fields(inner, FIELDS)
        if len(values) == len(FIELDS):
            move = inner.try_build(partial(PostureMove, to=Posture(values["to"]), risk=float(values["risk"])))
            moves += [move] if move else []
    return tuple(moves)


def merge_posture_moves(layers: Sequence[tuple[PostureMove, ...]]) -> tuple[PostureMove, ...]:
    """Return the moves of all layers: each of them can only make a session stricter."""
    return tuple(dict.fromkeys(move for layer in layers for move in layer))


SECTION = Section(
    SchemaType(
        read_posture_moves,
        {"oneOf": [mapping_schema(FIELDS), {"type": "array", "items": mapping_schema(FIELDS), "minItems": 1}]},
        "a move, or a list of them",
    ),
    "at which risk a session becomes stricter",
    merge_posture_moves,
)
