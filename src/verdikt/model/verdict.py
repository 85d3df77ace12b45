"""A guard's answer about one action."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class VerdictKind(enum.IntEnum):
    """Ordered by strictness, so the stricter of two is their `max`."""

    PASS = 0
    WARN = 1
    ASK = 2
    BLOCK = 3

    @property
    def word(self) -> str:
        """`pass`, `warn`, `ask` or `block`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Pass, warn, ask or block, by a guard. An ask or a block always says why and what to do instead.

    `red_line` marks a block that no grant and no `Escalate` can get past; `error` marks one that stands for a guard
    that failed, which `Not` must not turn into a pass.
    """

    kind: VerdictKind
    guard: str
    reason: str = ""
    fix: str = ""
    red_line: bool = False
    error: bool = False

    def __post_init__(self) -> None:
        if self.kind >= VerdictKind.ASK and not (self.reason and self.fix):
            raise ValueError(f"expected a reason and a fix from guard `{self.guard}`, found an empty one")

    @property
    def passed(self) -> bool:
        """Whether the action may go on without anybody being asked."""
        return self.kind <= VerdictKind.WARN

    @classmethod
    def pass_(cls, *, guard: str, reason: str = "") -> Verdict:
        """No objection."""
        return cls(kind=VerdictKind.PASS, guard=guard, reason=reason)

    @classmethod
    def warn(cls, *, guard: str, reason: str, fix: str = "") -> Verdict:
        """No objection, but something to say."""
        return cls(kind=VerdictKind.WARN, guard=guard, reason=reason, fix=fix)

    @classmethod
    def ask(cls, *, guard: str, reason: str, fix: str) -> Verdict:
        """A person must say yes first."""
        return cls(kind=VerdictKind.ASK, guard=guard, reason=reason, fix=fix)

    @classmethod
    def block(cls, *, guard: str, reason: str, fix: str, red_line: bool = False, error: bool = False) -> Verdict:
        """The action does not happen."""
        return cls(kind=VerdictKind.BLOCK, guard=guard, reason=reason, fix=fix, red_line=red_line, error=error)
