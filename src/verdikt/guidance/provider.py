"""Feedback providers: a fixed text, the deadline, and what verdikt itself knows."""

from dataclasses import dataclass

from verdikt.errors import GuidanceError
from verdikt.guidance.command_success import TEST_COMMANDS
from verdikt.guidance.feedback import Feedback, FeedbackContext


@dataclass(frozen=True, slots=True)
class StaticFeedbackProvider:
    """Says the same thing each time."""

    feedback: str
    name: str = "Static"

    def should_run(self, context: FeedbackContext) -> bool:
        """Whenever it is triggered."""
        return True

    def provide(self, context: FeedbackContext) -> Feedback:
        """The fixed text."""
        return Feedback(provider_name=self.name, summary=self.feedback)


@dataclass(frozen=True, slots=True)
class DeadlineFeedback:
    """Says how much time is left, and what to do about it when it is little."""

    warning_threshold_seconds: float = 120
    name: str = "Deadline"

    def should_run(self, context: FeedbackContext) -> bool:
        """When there is a deadline."""
        return context.deadline is not None

    def provide(self, context: FeedbackContext) -> Feedback:
        """Time used and time left."""
        assert context.deadline is not None
        left = context.deadline - context.now
        took = format_duration(context.now - context.started)
        if left <= 0:
            return Feedback(
                provider_name=self.name,
                summary=f"The work took {took}. You have reached the time deadline.",
                suggestions=("Wrap up immediately.",),
                severity="warning",
            )
        urgent = left <= self.warning_threshold_seconds
        advice = (
            "Prioritize completing critical remaining work.",
            "Consider summarizing progress and remaining tasks.",
        )
        return Feedback(
            provider_name=self.name,
            summary=f"The work so far took {took}. You have {format_duration(left)} remaining to complete the task.",
            suggestions=advice if urgent else (),
            severity="warning" if urgent else "info",
        )


def format_duration(seconds: float) -> str:
    """`45 seconds`, `1 minute`, `5 minutes`, `2.0 hours`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        count, unit = int(seconds), "second"
    elif seconds < 3600:
        count, unit = int(seconds // 60), "minute"
    else:
        return f"{seconds / 3600:.1f} hours"
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


@dataclass(frozen=True, slots=True)
class BlockedStreakFeedback:
    """Speaks up when the same guard has refused several calls in a row."""

    blocks: int = 3
    name: str = "BlockedStreak"

    def __post_init__(self) -> None:
        if not 1 <= self.blocks <= 16:
            raise GuidanceError(f"expected `blocks` from 1 to 16, found {self.blocks}")

    def should_run(self, context: FeedbackContext) -> bool:
        """When the last refusals were one guard's, without a passed call between them."""
        return self._find_streak_guard(context) != ""

    def provide(self, context: FeedbackContext) -> Feedback:
        """Which guard, and the way that its fix points."""
        guard = self._find_streak_guard(context)
        fix = str(context.known.get("last_fix", ""))
        advice = (fix,) if fix else ()
        return Feedback(
            provider_name=self.name,
            summary=f"{self.blocks} calls in a row were blocked by `{guard}`. Another spelling gets the same answer.",
            suggestions=(*advice, "If the task cannot be done this way, say so and say what you would need."),
            severity="caution",
        )

    def _find_streak_guard(self, context: FeedbackContext) -> str:
        """The guard of the newest streak. The call just made may have ended it, so a single passed one is looked past."""
        calls = [call for call in context.session.history if call.get("verdict")]
        if calls and calls[-1].get("verdict") != "block":
            calls = calls[:-1]
        newest = calls[-self.blocks :]
        guards = {str(call.get("guard")) for call in newest}
        whole = len(newest) == self.blocks and all(call.get("verdict") == "block" for call in newest)
        return guards.pop() if whole and len(guards) == 1 else ""


@dataclass(frozen=True, slots=True)
class StaleEvidenceFeedback:
    """Speaks up when files were edited after the last test run; `commands` are the beginnings of what runs tests."""

    commands: tuple[str, ...] = TEST_COMMANDS
    name: str = "StaleEvidence"

    def should_run(self, context: FeedbackContext) -> bool:
        """When there was a test run and an edit came after it."""
        return bool(context.known.get("stale_evidence"))

    def provide(self, context: FeedbackContext) -> Feedback:
        """What ran, and that it proves nothing any more."""
        ran = str(context.known.get("stale_evidence"))
        return Feedback(
            provider_name=self.name,
            summary=f"You edited files after `{ran}` ran; its result no longer proves anything.",
            suggestions=(f"Run `{ran}` again before you call the work done.",),
            severity="caution",
        )


@dataclass(frozen=True, slots=True)
class OpenFindingsFeedback:
    """Speaks up while findings are open that would stop a commit."""

    name: str = "OpenFindings"

    def should_run(self, context: FeedbackContext) -> bool:
        """When there are some."""
        return bool(context.findings())

    def provide(self, context: FeedbackContext) -> Feedback:
        """The titles, the worst first."""
        titles = [str(title)[:200] for title in context.findings()]
        return Feedback(
            provider_name=self.name,
            summary=f"{len(titles)} open finding(s) would stop a commit: {'; '.join(titles[:3])}",
            suggestions=("Fix them, then have them reviewed again.",),
            severity="caution",
        )


@dataclass(frozen=True, slots=True)
class BudgetFeedback:
    """Says what is left of the budget, once a share of it is used."""

    from_share: float = 0.5
    name: str = "Budget"

    def should_run(self, context: FeedbackContext) -> bool:
        """When some limit is used by at least that share."""
        spent = context.used.get_amounts()
        return any(
            most and spent.get(name, 0) / most >= self.from_share for name, most in context.budget.get_amounts().items()
        )

    def provide(self, context: FeedbackContext) -> Feedback:
        """What is left of each limit."""
        left = context.budget.get_remaining(context.used)
        words = ", ".join(f"{amount:g} {name}" for name, amount in left.items())
        gone = context.budget.exhausted(context.used)
        return Feedback(
            provider_name=self.name,
            summary=f"Left of the budget: {words}.",
            suggestions=(f"The {gone} are used up: wrap up now.",) if gone else (),
            severity="warning" if gone else "info",
        )


@dataclass(frozen=True, slots=True)
class UnprovenClaimFeedback:
    """Says early what the evidence gate would refuse at the end."""

    name: str = "UnprovenClaim"

    def should_run(self, context: FeedbackContext) -> bool:
        """When the contract wants proof and there is none yet."""
        return bool(context.known.get("missing_proof"))

    def provide(self, context: FeedbackContext) -> Feedback:
        """What would prove it."""
        return Feedback(
            provider_name=self.name,
            summary="Nothing so far proves that the work is done.",
            suggestions=(f"Run `{context.known['missing_proof']}` before you say so.",),
            severity="info",
        )
