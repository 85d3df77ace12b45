"""Limits on what a piece of work may use."""

import math
from dataclasses import dataclass

from verdikt.errors import GuidanceError
from verdikt.model.canonical_json import fields_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits, or amounts used: calls, tasks, tokens, seconds, cost. None is no limit; used ≥ limit is exhausted."""

    calls: float | None = None
    tasks: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.get_amounts().items():
            # Infinity and NaN are valid YAML numbers and would make every comparison succeed or fail.
            if not math.isfinite(value) or value < 0:
                raise GuidanceError(f"expected `{name}` of 0 or more, found {value}")

    def get_amounts(self) -> dict[str, float]:
        """Return the amounts that are set."""
        return {name: value for name, value in fields_of(self).items() if value is not None}

    def exhausted(self, used: "Budget") -> str:
        """Return the first limit that is used up, or an empty string."""
        spent = used.get_amounts()
        return next((name for name, limit in self.get_amounts().items() if spent.get(name, 0) >= limit), "")

    def get_remaining(self, used: "Budget") -> dict[str, float]:
        """Return what remains of each limit, at least 0."""
        spent = used.get_amounts()
        return {name: max(0, limit - spent.get(name, 0)) for name, limit in self.get_amounts().items()}
