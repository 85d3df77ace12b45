"""Task completion: what must be true before the agent may stop."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from verdikt.errors import GuidanceError
from verdikt.graph.guard_node import describe_error
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState

INCOMPLETE = "Tasks are incomplete"
"""What is said when a checker does not say why."""

MAX_PATHS_SHOWN = 3
"""Paths that a message names."""

DEFAULT_REFUSALS = 3
"""How often in a row a stop is refused for the same reason before the agent may end unfinished."""


@dataclass(frozen=True, slots=True)
class TaskCompletionResult:
    """Whether the work is complete, and what is missing."""

    complete: bool
    feedback: str | None = None

    @classmethod
    def ok(cls, feedback: str | None = None) -> "TaskCompletionResult":
        """It is."""
        return cls(True, feedback)

    @classmethod
    def incomplete(cls, feedback: str) -> "TaskCompletionResult":
        """It is not."""
        return cls(False, feedback)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompletionContext:
    """What a checker may look at.

    `since` is when the work began. `ran` tells whether a command succeeded since the last edit, `proven` whether a
    validator of the evidence gate holds, `findings` how many findings of at least a level are open (None: nobody can tell).
    """

    session: SessionState = field(default_factory=SessionState)
    tentative_output: Any = None
    filesystem: Facts | None = None
    adapter: str | None = None
    stop_reason: str | None = None
    since: float = 0.0
    ran: Callable[[str], bool] = lambda command: False
    proven: Callable[[str, Mapping[str, Any]], bool] = lambda validator, args: False
    findings: Callable[[str], int | None] = lambda level: None


@runtime_checkable
class TaskCompletionChecker(Protocol):
    """Something that must be true at the end."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Whether it is."""
        ...


def build_blocker(text: str) -> TaskCompletionResult:
    """Incomplete, in the form that agents know."""
    return TaskCompletionResult.incomplete(f"<blocker>\n{text}\n</blocker>")


@dataclass(frozen=True, slots=True)
class FileOutputChecker:
    """Files must exist. `non_empty`, `fresh` (written since the work began) and `schema` (JSON Schema) ask for more."""

    files: tuple[str, ...]
    non_empty: bool = False
    fresh: bool = False
    schema: Mapping[str, Any] | None = None

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Incomplete while a file is missing or not as it must be, or when nobody can look."""
        if not self.files:
            return TaskCompletionResult.ok()
        facts = context.filesystem
        if facts is None:
            return build_blocker(f"No filesystem available to verify {len(self.files)} required output file(s).")
        missing = [name for name in self.files if not facts.path(_absolute_path(name, facts), git=False).exists]
        if missing:
            return build_blocker(f"{len(missing)} required output file(s) not found: {_join_names(missing)}")
        for words, wrong in self._find_wrong_files(facts, context.since):
            if wrong:
                return build_blocker(f"{len(wrong)} required output file(s) {words}: {_join_names(wrong)}")
        return TaskCompletionResult.ok(f"All {len(self.files)} required output(s) exist.")

    def _find_wrong_files(self, facts: Facts, since: float) -> list[tuple[str, list[str]]]:
        paths = {name: _absolute_path(name, facts) for name in self.files}
        empty = [n for n, p in paths.items() if self.non_empty and facts.path(p, git=False).size == 0]
        old = [n for n, p in paths.items() if self.fresh and facts.modification_time(p) < since]
        unfit = [
            n for n, p in paths.items() if self.schema is not None and not _fits_schema(facts.text(p), self.schema)
        ]
        return [
            ("are empty", empty),
            ("were not written since the task began", old),
            ("do not fit their schema", unfit),
        ]


def _absolute_path(name: str, facts: Facts) -> str:
    return name if name.startswith("/") else f"{facts.cwd.rstrip('/')}/{name}"


def _join_names(names: list[str]) -> str:
    return ", ".join(names[:MAX_PATHS_SHOWN]) + ("..." if len(names) > MAX_PATHS_SHOWN else "")


def _fits_schema(text: str | None, schema: Mapping[str, Any]) -> bool:
    import jsonschema

    try:
        return text is not None and bool(jsonschema.Draft202012Validator(dict(schema)).is_valid(json.loads(text)))
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class CommandChecker:
    """A command must have succeeded since the last edit."""

    command: str

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Incomplete until it has."""
        if context.ran(self.command):
            return TaskCompletionResult.ok(f"`{self.command}` succeeded.")
        return build_blocker(f"`{self.command}` has not succeeded since the last edit. Run it.")


@dataclass(frozen=True, slots=True)
class EvidenceChecker:
    """A validator of the evidence gate must hold."""

    validator: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Incomplete until it does."""
        if context.proven(self.validator, self.args):
            return TaskCompletionResult.ok(f"`{self.validator}` holds.")
        return build_blocker(f"Nothing in this turn proves `{self.validator}`.")


@dataclass(frozen=True, slots=True)
class FindingsChecker:
    """No finding of this level or worse may be open."""

    level: str = "HIGH"

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Incomplete while one is."""
        count = context.findings(self.level)
        if count is None:
            return build_blocker("Nobody can tell whether findings are open.")
        if not count:
            return TaskCompletionResult.ok(f"No open findings of {self.level} or worse.")
        return build_blocker(f"{count} open finding(s) of {self.level} or worse.")


@dataclass(frozen=True, slots=True)
class CompositeChecker:
    """All of several checkers, or any of them; stops at the first that decides."""

    checkers: tuple[TaskCompletionChecker, ...]
    all_must_pass: bool = True

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """What the checkers say together."""
        if not self.checkers:
            return TaskCompletionResult.ok("No checkers configured.")
        said: list[str] = []
        for checker in self.checkers:
            result = checker.check(context)
            if self.all_must_pass and not result.complete:
                return result
            if not self.all_must_pass and result.complete:
                return result
            if result.feedback:
                said.append(result.feedback)
        text = (" " if self.all_must_pass else "\n").join(said)
        return TaskCompletionResult(self.all_must_pass, text or None)


def list_commands(checker: object) -> tuple[str, ...]:
    """The commands that a checker wants to have succeeded."""
    if isinstance(checker, CommandChecker):
        return (checker.command,)
    if isinstance(checker, CompositeChecker):
        return tuple(command for inner in checker.checkers for command in list_commands(inner))
    return ()


@dataclass(frozen=True, slots=True)
class StopDecision:
    """What comes of a stop: whether the agent may, and what it is told. `skipped` says why nobody checked.

    `unfinished` is a stop that was let go although the work is incomplete, because it had been refused often enough.
    """

    allowed: bool
    text: str = ""
    skipped: str = ""
    unfinished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A checker, and the bounds of its say: budget, deadline (seconds since the session began), refusals for one reason."""

    checker: TaskCompletionChecker
    budget: Budget = field(default_factory=Budget)
    deadline_seconds: float | None = None
    refusals: int = DEFAULT_REFUSALS
    scope: Audience = field(default_factory=Audience)

    def __post_init__(self) -> None:
        if self.refusals < 1:
            raise GuidanceError(f"expected at least one refusal, found {self.refusals}")
        if self.deadline_seconds is not None and not self.deadline_seconds >= 1:
            raise GuidanceError(f"expected a deadline at least 1 second ahead, found {self.deadline_seconds}")

    def compute_deadline(self, since: float) -> float | None:
        """When time is up, in seconds since the epoch."""
        return None if self.deadline_seconds is None else since + self.deadline_seconds

    def applies_to(self, agent: str) -> bool:
        """Whether it is meant for this agent; one that works for another is checked only where it is named."""
        return self.scope.covers(agent=agent) and (not agent or bool(self.scope.agents))

    def decide_stop(
        self, context: TaskCompletionContext, memory: Memory, *, used: Budget, now: float, key: str = "0"
    ) -> StopDecision:
        """Whether the agent may stop. Out of time or budget it may; after so many refusals for one reason it may, unfinished."""
        deadline = self.compute_deadline(context.since)
        if deadline is not None and now >= deadline:
            return StopDecision(True, skipped="the deadline has passed")
        if gone := self.budget.exhausted(used):
            return StopDecision(True, skipped=f"the budget of {gone} is used up")
        try:
            result = self.checker.check(context)
        except Exception as error:  # a check of a user's own: it counts as not passed, and is bounded like any other
            result = build_blocker(f"The check itself failed: {describe_error(error)}")
        if result.complete:
            if memory.get("refused", key) is not None:
                memory.keep(None, "refused", key)
            return StopDecision(True, result.feedback or "")
        text = result.feedback or INCOMPLETE
        last = memory.get("refused", key) or {}
        count = int(last.get("count", 0)) + 1 if last.get("text") == text[:200] else 1
        if count > self.refusals:
            memory.keep(None, "refused", key)
            return StopDecision(True, text, unfinished=True)
        memory.keep({"count": count, "text": text[:200]}, "refused", key)
        return StopDecision(False, text)
