"""Task completion: what must be true before the agent may stop."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from verdikt.errors import GuidanceError
from verdikt.graph.failure import describe_error
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState

INCOMPLETE = "Tasks are incomplete"
"""The message when a checker does not say why."""

MAX_PATHS_SHOWN = 3
"""Number of paths that a message names."""

DEFAULT_REMINDER_CALLS = 25
"""After how many calls an agent is told what is still missing, so that a refused stop is no surprise."""

DEFAULT_REFUSALS = 3
"""How often in a row a stop is refused for the same reason before the agent may end unfinished."""


@dataclass(frozen=True, slots=True)
class TaskCompletionResult:
    """Whether the work is complete, and what is missing."""

    complete: bool
    feedback: str | None = None

    @classmethod
    def ok(cls, feedback: str | None = None) -> "TaskCompletionResult":
        """Return a result that says the work is complete."""
        return cls(True, feedback)

    @classmethod
    def incomplete(cls, feedback: str) -> "TaskCompletionResult":
        """Return a result that says what is missing."""
        return cls(False, feedback)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompletionContext:
    """What a checker may look at.

    `since` is when the work began. `ran` tells whether a command succeeded since the last edit, `proven` whether a
    validator of the evidence gate holds, `findings` how many findings of at least a level are open (None: unknown).
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
    hash_sources: Callable[[str], str | None] = lambda root: None  # root → digest of the sources below it now


@runtime_checkable
class TaskCompletionChecker(Protocol):
    """A condition that must be true at the end."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return whether the work is complete, and what is missing."""
        ...


def build_blocker(text: str) -> TaskCompletionResult:
    """Return an incomplete result whose text is marked as a blocker for the agent."""
    return TaskCompletionResult.incomplete(f"<blocker>\n{text}\n</blocker>")


@dataclass(frozen=True, slots=True)
class FileOutputChecker:
    """Requires files to exist; optionally not empty, `fresh` (written since the work began), or fitting a `schema`."""

    files: tuple[str, ...]
    non_empty: bool = False
    fresh: bool = False
    schema: Mapping[str, Any] | None = None

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return incomplete while a file is missing or not as required, or without a filesystem to look at."""
        if not self.files:
            return TaskCompletionResult.ok()
        facts = context.filesystem
        if facts is None:
            return build_blocker(f"No filesystem available to verify {len(self.files)} required output file(s).")
        missing = [name for name in self.files if not facts.path(_absolute_path(name, facts), git=False).exists]
        if missing:
            return build_blocker(f"{len(missing)} required output file(s) not found: {_join_names(missing)}")
        for problem, names in self._find_wrong_files(facts, context.since):
            if names:
                return build_blocker(f"{len(names)} required output file(s) {problem}: {_join_names(names)}")
        return TaskCompletionResult.ok(f"All {len(self.files)} required output(s) exist.")

    def _find_wrong_files(self, facts: Facts, since: float) -> list[tuple[str, list[str]]]:
        paths = {name: _absolute_path(name, facts) for name in self.files}
        # Without git: whether a file exists does not depend on what git knows of it.
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
    # Heavy, and only needed by a policy that names a schema.
    import jsonschema

    try:
        return text is not None and bool(jsonschema.Draft202012Validator(dict(schema)).is_valid(json.loads(text)))
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class CommandChecker:
    """Requires a command to have succeeded since the last edit."""

    command: str

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return incomplete until the command has succeeded."""
        if context.ran(self.command):
            return TaskCompletionResult.ok(f"`{self.command}` succeeded.")
        return build_blocker(f"`{self.command}` has not succeeded since the last edit. Run it.")


@dataclass(frozen=True, slots=True)
class EvidenceChecker:
    """Requires a validator of the evidence gate to hold."""

    validator: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return incomplete until the validator holds."""
        if context.proven(self.validator, self.args):
            return TaskCompletionResult.ok(f"`{self.validator}` holds.")
        return build_blocker(f"Nothing in this turn proves `{self.validator}`.")


@dataclass(frozen=True, slots=True)
class FindingsChecker:
    """Requires that no finding of this level or worse is open."""

    level: str = "HIGH"

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return incomplete while a finding is open, or when that is unknown."""
        count = context.findings(self.level)
        # Unknown is not zero: a council that cannot be asked must not let the work pass as finished.
        if count is None:
            return build_blocker("Whether findings are open is unknown.")
        if not count:
            return TaskCompletionResult.ok(f"No open findings of {self.level} or worse.")
        return build_blocker(f"{count} open finding(s) of {self.level} or worse.")


@dataclass(frozen=True, slots=True)
class CompositeChecker:
    """All of several checkers, or any of them; stops at the first that decides."""

    checkers: tuple[TaskCompletionChecker, ...]
    all_must_pass: bool = True

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return the combined result of the checkers."""
        if not self.checkers:
            return TaskCompletionResult.ok("No checkers configured.")
        messages: list[str] = []
        for checker in self.checkers:
            result = checker.check(context)
            if self.all_must_pass and not result.complete:
                return result
            if not self.all_must_pass and result.complete:
                return result
            if result.feedback:
                messages.append(result.feedback)
        text = (" " if self.all_must_pass else "\n").join(messages)
        return TaskCompletionResult(self.all_must_pass, text or None)


def list_commands(checker: object) -> tuple[str, ...]:
    """Return the commands that a checker requires to have succeeded."""
    if isinstance(checker, CommandChecker):
        return (checker.command,)
    if isinstance(checker, CompositeChecker):
        return tuple(command for inner in checker.checkers for command in list_commands(inner))
    return ()


@dataclass(frozen=True, slots=True)
class StopDecision:
    """The answer to a stop: whether it is allowed, and the text for the agent. `skipped` says why nothing was checked.

    `unfinished` marks a stop that is allowed although the work is incomplete, because it was refused often enough.
    """

    allowed: bool
    text: str = ""
    skipped: str = ""
    unfinished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A checker and its limits: budget, deadline (seconds since the session began), refusals for one reason."""

    checker: TaskCompletionChecker
    budget: Budget = field(default_factory=Budget)
    deadline_seconds: float | None = None
    refusals: int = DEFAULT_REFUSALS
    remind_every_n_calls: int = DEFAULT_REMINDER_CALLS
    scope: Audience = field(default_factory=Audience)

    def __post_init__(self) -> None:
        if self.refusals < 1:
            raise GuidanceError(f"expected at least one refusal, found {self.refusals}")
        if self.deadline_seconds is not None and not self.deadline_seconds >= 1:
            raise GuidanceError(f"expected a deadline at least 1 second ahead, found {self.deadline_seconds}")

    def compute_deadline(self, since: float) -> float | None:
        """Return when time is up, in seconds since the epoch."""
        return None if self.deadline_seconds is None else since + self.deadline_seconds

    def applies_to(self, agent: str) -> bool:
        """Return whether it applies to this agent; a sub-agent is checked only where it is named."""
        # A sub-agent's stop returns to its parent, which is checked itself.
        return self.scope.covers(agent=agent) and (not agent or bool(self.scope.agents))

    def decide_stop(
        self, context: TaskCompletionContext, memory: Memory, *, used: Budget, now: float, key: str = "0"
    ) -> StopDecision:
        """Return whether the agent may stop.

        It may when the deadline has passed or the budget is used up, and, unfinished, after too many refusals for one
        reason.
        """
        deadline = self.compute_deadline(context.since)
        if deadline is not None and now >= deadline:
            return StopDecision(True, skipped="the deadline has passed")
        if exhausted_limit := self.budget.exhausted(used):
            return StopDecision(True, skipped=f"the budget of {exhausted_limit} is used up")
        try:
            result = self.checker.check(context)
        # A checker may be a user's own code. One that fails has not passed, and is bounded like any other refusal.
        except Exception as error:
            result = build_blocker(f"The check itself failed: {describe_error(error)}")
        if result.complete:
            # Only written when there is something to clear: every change is stored in the log.
            if memory.get("refused", key) is not None:
                memory.keep(None, "refused", key)
            return StopDecision(True, result.feedback or "")
        text = result.feedback or INCOMPLETE
        last = memory.get("refused", key) or {}
        # Another reason is progress, so the count starts again.
        count = int(last.get("count", 0)) + 1 if last.get("text") == text[:200] else 1
        if count > self.refusals:
            memory.keep(None, "refused", key)
            return StopDecision(True, text, unfinished=True)
        memory.keep({"count": count, "text": text[:200]}, "refused", key)
        return StopDecision(False, text)
