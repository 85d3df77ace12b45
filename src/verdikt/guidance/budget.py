"""How much a piece of work may use."""

import math
from dataclasses import dataclass

from verdikt.errors import GuidanceError
from verdikt.model.canonical_json import fields_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits, or what was used of them: calls, tasks, tokens, seconds, cost. None is no limit; used up means used ≥ max."""

    calls: float | None = None
    tasks: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.get_amounts().items():
            if not math.isfinite(value) or value < 0:
                raise GuidanceError(f"expected `{name}` of 0 or more, found {value}")

    def get_amounts(self) -> dict[str, float]:
        """The amounts that are set."""
        return {name: value for name, value in fields_of(self).items() if value is not None}

    def exhausted(self, used: "Budget") -> str:
        """The first limit that is used up, or an empty string."""
        spent = used.get_amounts()
        return next((name for name, most in self.get_amounts().items() if spent.get(name, 0) >= most), "")

    def get_remaining(self, used: "Budget") -> dict[str, float]:
        """What remains of each limit, never less than nothing."""
        spent = used.get_amounts()
        return {name: max(0, most - spent.get(name, 0)) for name, most in self.get_amounts().items()}
