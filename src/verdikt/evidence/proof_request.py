"""One thing that a sentence claims, with all that is known about the turn; and the answers to it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from verdikt.claims.reader import SentenceClaim
from verdikt.evidence.validator import Arguments, Proof, ProofStatus, run_validator
from verdikt.evidence.validator_registry import VALIDATORS
from verdikt.turns.turn import TurnEvidence


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing for a proof. `kind` is the check that would give it; `path` a file that has to be run."""

    reason: str
    kind: str = ""
    path: str = ""
    full_suite: bool = False


@dataclass(frozen=True, slots=True)
class Unknowable:
    """Why a claim can be neither proven nor held against the agent."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A claim and the turn in which it is made. `is_admitted`: the message says that the work is not verified."""

    claim: SentenceClaim
    turn: TurnEvidence
    message: str = ""
    is_admitted: bool = False

    @property
    def text(self) -> str:
        """Return the sentence."""
        return self.claim.text

    def try_validator(self, name: str, arguments: Arguments | None = None) -> Proof:
        """Return the answer of a built-in validator about the turn."""
        return run_validator(VALIDATORS[name], arguments or {}, self.turn)


Row = Callable[[ProofRequest], Proof | Missing]


def hold(name: str, *entries: int) -> Proof:
    """Return a proof of this name that rests on these entries."""
    return Proof(name, ProofStatus.PASS, entries=tuple(entries))
