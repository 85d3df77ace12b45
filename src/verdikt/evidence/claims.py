"""What an agent's message claims: that work is done, that it is stuck, or that somebody else should go on. Pure.

Claims are read from the grammar of a sentence (who, in which tense and mood, did or is what), not from words alone: `done`
in a plan, a question, a condition, a quotation, a negation or a report of what others said claims nothing.
"""

import enum
from collections.abc import Callable, Iterator
from typing import Any

from verdikt.evidence.clause import Clause, clauses
from verdikt.evidence.done import find_done
from verdikt.evidence.plea import find_blocked, find_delegation
from verdikt.evidence.prose import Sentence, sentences
from verdikt.model.value import Value


class ClaimType(enum.StrEnum):
    """What is claimed."""

    DONE = "done"
    BLOCKED = "blocked"
    DELEGATION = "delegation"


class Claim(Value):
    """One claim: its type, the words that make it, the sentence around them and where the words stand in the message."""

    type: ClaimType
    words: str
    sentence: str
    start: int
    end: int

    def record(self) -> dict[str, Any]:
        """The claim as plain data."""
        return {
            "type": self.type.value,
            "words": self.words,
            "sentence": self.sentence,
            "start": self.start,
            "end": self.end,
        }


def find_claims(message: str) -> tuple[Claim, ...]:
    """The claims that a message makes, in order. Never raises, whatever the text."""
    return tuple(claim for sentence in sentences(message) for claim in _in_sentence(sentence, message))


def _in_sentence(sentence: Sentence, message: str) -> Iterator[Claim]:
    seen: set[ClaimType] = set()
    for clause in clauses(sentence):
        for type, find in _FINDERS:
            if type in seen:
                continue
            found = find(clause)
            if found is not None:
                seen.add(type)
                start, end = sentence.span(clause.start + found[0], clause.start + found[1])
                whole = sentence.span(0, len(sentence.text))
                yield Claim(type, message[start:end], message[whole[0] : whole[1]].strip(), start, end)


_FINDERS: tuple[tuple[ClaimType, Callable[[Clause], tuple[int, int] | None]], ...] = (
    (ClaimType.DONE, find_done),
    (ClaimType.BLOCKED, find_blocked),
    (ClaimType.DELEGATION, find_delegation),
)
