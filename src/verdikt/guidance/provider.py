"""Feedback providers: a fixed text, the deadline, and what verdikt itself knows."""

from dataclasses import dataclass

from verdikt.errors import GuidanceError
from verdikt.guidance.feedback import Feedback, FeedbackContext


@dataclass(frozen=True, slots=True)
class StaticFeedbackProvider:
    """Says the same thing each time."""

    feedback: str
    name: str = "Static"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return True: it runs whenever it is triggered."""
        return True

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return the fixed text."""
        return Feedback(provider_name=self.name, summary=self.feedback)


@dataclass(frozen=True, slots=True)
class DeadlineFeedback:
    """Says how much time remains, and what to do about it when it is little."""

    warning_threshold_seconds: float = 120
    name: str = "Deadline"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether there is a deadline."""
        return context.deadline is not None

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return time used and time remaining."""
        assert context.deadline is not None
        remaining = context.deadline - context.now
        elapsed = format_duration(context.now - context.started)
        if remaining <= 0:
            return Feedback(
                provider_name=self.name,
                summary=f"The work took {elapsed}. You have reached the time deadline.",
                suggestions=("Wrap up immediately.",),
                severity="warning",
            )
        urgent = remaining <= self.warning_threshold_seconds
        advice = (
            "Prioritize completing critical remaining work.",
            "Consider summarizing progress and remaining tasks.",
        )
        return Feedback(
            provider_name=self.name,
            summary=f"The work so far took {elapsed}. You have {format_duration(remaining)} remaining.",
            suggestions=advice if urgent else (),
            severity="warning" if urgent else "info",
        )


def format_duration(seconds: float) -> str:
    """Return `45 seconds`, `1 minute`, `5 minutes` or `2.0 hours`."""
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
    """Runs when the same guard has refused several calls in a row."""

    blocks: int = 3
    name: str = "BlockedStreak"

    def __post_init__(self) -> None:
        # A streak must fit into the actions that a session remembers (`MAX_HISTORY`).
        if not 1 <= self.blocks <= 16:
            raise GuidanceError(f"expected `blocks` from 1 to 16, found {self.blocks}")

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether the last refusals came from one guard, without a passed call between them."""
        return self._find_streak_guard(context) != ""

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return which guard refuses, and its fix."""
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
        """Return the guard of the newest streak of refusals, or an empty string."""
        calls = [call for call in context.session.history if call.get("verdict")]
        # The call just made may have ended the streak: one passed call is looked past.
        if calls and calls[-1].get("verdict") != "block":
            calls = calls[:-1]
        newest = calls[-self.blocks :]
        guards = {str(call.get("guard")) for call in newest}
        is_streak = len(newest) == self.blocks and all(call.get("verdict") == "block" for call in newest)
        return guards.pop() if is_streak and len(guards) == 1 else ""


@dataclass(frozen=True, slots=True)
class StaleEvidenceFeedback:
    """Runs when files were edited after the last test run: one of these commands, or else any that runs tests."""

    commands: tuple[str, ...] = ()
    name: str = "StaleEvidence"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether an edit came after the last test run."""
        return bool(context.known.get("stale_evidence"))

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return which test run no longer proves anything."""
        ran = str(context.known.get("stale_evidence"))
        return Feedback(
            provider_name=self.name,
            summary=f"You edited files after `{ran}` ran; its result no longer proves anything.",
            suggestions=(f"Run `{ran}` again before you call the work done.",),
            severity="caution",
        )


@dataclass(frozen=True, slots=True)
class OpenFindingsFeedback:
    """Runs while findings are open that would stop a commit."""

    name: str = "OpenFindings"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether findings are open."""
        return bool(context.findings())

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return the titles, worst first."""
        titles = [str(title)[:200] for title in context.findings()]
        return Feedback(
            provider_name=self.name,
            summary=f"{len(titles)} open finding(s) would stop a commit: {'; '.join(titles[:3])}",
            suggestions=("Fix them, then have them reviewed again.",),
            severity="caution",
        )


@dataclass(frozen=True, slots=True)
class BudgetFeedback:
    """Says what remains of the budget, once a share of it is used."""

    from_share: float = 0.5
    name: str = "Budget"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether that share of any limit is used."""
        spent = context.used.get_amounts()
        return any(
            limit and spent.get(name, 0) / limit >= self.from_share
            for name, limit in context.budget.get_amounts().items()
        )

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return what remains of each limit."""
        remaining = context.budget.get_remaining(context.used)
        amounts = ", ".join(f"{amount:g} {name}" for name, amount in remaining.items())
        exhausted_limit = context.budget.exhausted(context.used)
        return Feedback(
            provider_name=self.name,
            summary=f"Left of the budget: {amounts}.",
            suggestions=(f"The {exhausted_limit} are used up: wrap up now.",) if exhausted_limit else (),
            severity="warning" if exhausted_limit else "info",
        )


@dataclass(frozen=True, slots=True)
class UnprovenClaimFeedback:
    """Says early what the evidence gate would refuse at the end."""

    name: str = "UnprovenClaim"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether a required proof is still missing."""
        return bool(context.known.get("missing_proof"))

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return the command that would prove it."""
        return Feedback(
            provider_name=self.name,
            summary="Nothing so far proves that the work is done.",
            suggestions=(f"Run `{context.known['missing_proof']}` before you say so.",),
            severity="info",
        )
