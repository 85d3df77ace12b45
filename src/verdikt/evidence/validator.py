"""A validator: one way to prove a claim, and its answer about a turn. Pure."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.turns.turn import TurnEvidence

Arguments = Mapping[str, str]


class ProofStatus(enum.StrEnum):
    """A validator's answer; the exit statuses of `verdikt evidence validate` are 0, 2 and 3."""

    PASS = "pass"
    FAIL = "fail"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Proof:
    """A validator's answer: the entries it rests on, or why there are none."""

    validator: str
    status: ProofStatus
    reason: str = ""
    entries: tuple[int, ...] = ()
    arguments: Mapping[str, str] | None = None
    signed: int = 0  # the entry that signs it, where it was asked for by name
    grade: str = ""  # `status`, or `output` where only what a check printed shows that it succeeded

    @property
    def holds(self) -> bool:
        """Return whether the claim is proven."""
        return self.status is ProofStatus.PASS

    def record(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "validator": self.validator,
            "status": self.status.value,
            "reason": self.reason,
            "entries": list(self.entries),
            "arguments": dict(self.arguments or {}),
            **({"grade": self.grade} if self.grade else {}),
        }


Predicate = Callable[[TurnEvidence, Arguments], "tuple[int, ...] | str"]
"""Returns the entries that prove it, or what is missing."""


@dataclass(frozen=True, slots=True)
class Validator:
    """One way to prove a claim. `binds` are the contract's fields that its arguments must come from, ranked."""

    name: str
    claim: str
    about: str
    predicate: Predicate
    needs: tuple[str, ...] = ()  # arguments of which at least one must be given
    binds: tuple[str, ...] = ()


def run_validator(validator: Validator, arguments: Arguments, turn: TurnEvidence) -> Proof:
    """Return a validator's answer about a turn."""
    outcome = validator.predicate(turn, arguments)
    if isinstance(outcome, str):
        return Proof(validator.name, ProofStatus.FAIL, outcome, arguments=arguments)
    return Proof(validator.name, ProofStatus.PASS, entries=outcome, arguments=arguments, grade=_grade(turn, outcome))


def _grade(turn: TurnEvidence, entries: tuple[int, ...]) -> str:
    """Return how the checks that a proof rests on are known to have succeeded; empty when it rests on none."""
    checks = [
        (call, run)
        for call in turn.calls
        if call.seq in entries
        for run in call.runs
        if run.kind in ("test", "build", "lint", "commit")
    ]
    if not checks:
        return ""
    return "status" if any(call.succeeded_by_status(run) for call, run in checks) else "output"
