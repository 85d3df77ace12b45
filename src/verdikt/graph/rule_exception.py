"""Exceptions: what one rule lets through, by path, exact command or tool, with a reason and perhaps an end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdikt.errors import PolicyError
from verdikt.graph.matcher import Matcher
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext

EXCEPTION_KEYS: dict[str, str] = {
    "rule": "the rule that lets it through; never a red line",
    "path": "globs over the paths that are let through",
    "command": "the exact command that is let through",
    "tool": "the tool that is let through",
    "project": "the directory of the only project in which it holds; absent: in every one",
    "until": "the date, or date and time in UTC, at which it ends; absent: never",
    "reason": "why it is let through",
    "by": "who decided that",
    "date": "when that was",
}
"""Key of an exception in a policy file → its meaning."""

_MOMENT = compile_lazily(r"(20\d\d)-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?Z?)?")

_EVERYTHING = frozenset({"*", "**", "/", "/*", "/**", "~/**", "**/*", "./**"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleException:
    """Exempts what its scope matches from one rule. A path exempts that target alone, not the whole command."""

    rule: str
    reason: str
    path: tuple[str, ...] = ()
    command: str = ""
    tool: str = ""
    project: str = ""
    until: str = ""
    by: str = ""
    date: str = ""
    matcher: Matcher = field(init=False, repr=False, compare=False)
    _end_seconds: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.rule or not self.reason.strip():
            raise PolicyError("an exception needs a `rule` and a `reason`")
        if not (self.path or self.command.strip() or self.tool):
            raise PolicyError("an exception needs a scope: `path`, `command` or `tool`")
        if everything := _EVERYTHING.intersection(self.path):
            raise PolicyError(f"`path`: expected a narrower glob, found `{min(everything)}`, which is everything")
        if self.project and not self.project.startswith("/"):
            raise PolicyError(f"`project`: expected an absolute directory, found `{self.project}`")
        matcher = Matcher(
            target=self.path,
            target_kind=("path",) if self.path else (),
            tool=(self.tool,) if self.tool else (),
            # The whole text, not its beginning: `make deploy` must not let `make deploy; rm -rf /` through.
            pattern=(rf"\A\s*{re.escape(self.command.strip())}\s*\z",) if self.command.strip() else (),
        )
        object.__setattr__(self, "matcher", matcher)
        object.__setattr__(self, "_end_seconds", _parse_end(self.until))

    def holds(self, ctx: GovernanceContext) -> bool:
        """Return whether the exception is in force at the time and in the project of a decision."""
        # Only an exception that can end asks for the time, because a receipt records it then.
        if self._end_seconds and ctx.now >= self._end_seconds:
            return False
        return not self.project or (ctx.facts is not None and ctx.facts.project_root == self.project.rstrip("/"))

    def dump(self) -> dict[str, Any]:
        """Return the exception as plain data with the keys of the policy file."""
        values = {key: getattr(self, key) for key in EXCEPTION_KEYS}
        return {key: value for key, value in values.items() if value}

    @property
    def scope_summary(self) -> str:
        """The rule, and in words what it lets through, where and until when."""
        scope = [f"path {', '.join(self.path)}"] if self.path else []
        scope += [f"command `{self.command.strip()}`"] if self.command else []
        scope += [f"tool {self.tool}"] if self.tool else []
        scope += [f"in {self.project}"] if self.project else []
        scope += [f"until {self.until}"] if self.until else []
        return f"{self.rule}: {', '.join(scope)}"

    @property
    def summary(self) -> str:
        """One line for people: what is let through, where, until when, why and by whom."""
        author = f" ({', '.join(filter(None, (self.by, self.date)))})" if self.by or self.date else ""
        return f"{self.scope_summary}: {self.reason}{author}"


def exception_from_data(data: Mapping[str, Any]) -> RuleException:
    """Return an exception from plain data with the keys of the policy file; a single path stands for a list."""
    path = data.get("path", ())
    return RuleException(**{**data, "path": (path,) if isinstance(path, str) else tuple(path)})


def _parse_end(text: str) -> float:
    if not text:
        return 0.0
    match = _MOMENT.fullmatch(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()) if match else (0,) * 6
    if not (
        year and 1 <= month <= 12 and 1 <= day <= _count_days(year, month) and hour < 24 and max(minute, second) < 60
    ):
        raise PolicyError(f"`until`: expected a date such as 2026-12-31 or 2026-12-31T18:00, found `{text}`")
    # By hand, because this package may not import a module that reads the clock.
    days = sum(366 if _is_leap_year(past_year) else 365 for past_year in range(1970, year))
    days += sum(_count_days(year, past_month) for past_month in range(1, month)) + day - 1
    return float(((days * 24 + hour) * 60 + minute) * 60 + second)


def _count_days(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap_year(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _is_leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
