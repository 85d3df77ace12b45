"""How much a piece of work may use."""

import math

from verdikt.errors import GuidanceError
from verdikt.model.value import Value, fields_of


class Budget(Value, kw_only=True):
    """Limits, or what was used of them: calls, tasks, tokens, seconds, cost. None is no limit; used up means used ≥ max."""

    calls: float | None = None
    tasks: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.amounts().items():
            if not math.isfinite(value) or value < 0:
                raise GuidanceError(f"expected `{name}` of 0 or more, found {value}")

    def amounts(self) -> dict[str, float]:
        """The amounts that are set."""
        return {name: value for name, value in fields_of(self).items() if value is not None}

    def exhausted(self, used: "Budget") -> str:
        """The first limit that is used up, or an empty string."""
        spent = used.amounts()
        return next((name for name, most in self.amounts().items() if spent.get(name, 0) >= most), "")

    def left(self, used: "Budget") -> dict[str, float]:
        """What remains of each limit, never less than nothing."""
        spent = used.amounts()
        return {name: max(0, most - spent.get(name, 0)) for name, most in self.amounts().items()}
