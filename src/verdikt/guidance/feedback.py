"""Feedback: what the agent is told after an action, when something triggers it. Advice, never a gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from verdikt.errors import GuidanceError
from verdikt.graph.guard_node import describe_error
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState

MAX_TEXT_LENGTH = 2000
"""Characters of one provider's text; what is longer is cut."""

MAX_TOTAL_LENGTH = 6000
"""Characters of all that is said after one call."""

SEVERITIES = ("info", "caution", "warning")


@dataclass(frozen=True, slots=True)
class FileCreatedTrigger:
    """Fires once in a session, when the file is first seen to exist."""

    filename: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTrigger:
    """When a provider runs; any one condition suffices, and without one it never does."""

    every_n_calls: int | None = None
    every_n_seconds: float | None = None
    on_file_created: FileCreatedTrigger | None = None

    def __post_init__(self) -> None:
        for name in ("every_n_calls", "every_n_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise GuidanceError(f"expected `{name}` above 0, found {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One thing that a provider noticed."""

    category: str
    description: str
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A provider's text for the agent."""

    provider_name: str
    summary: str
    observations: tuple[Observation, ...] = ()
    suggestions: tuple[str, ...] = ()
    severity: str = "info"
    timestamp: float = 0.0
    call_index: int = 0
    prompt_name: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise GuidanceError(f"expected a severity of {', '.join(SEVERITIES)}, found `{self.severity}`")

    def render(self) -> str:
        """The feedback as the agent reads it. Its words can neither end the block early nor go on without end."""
        lines = [_escape_markup(self.summary)]
        if self.observations:
            lines += [
                "",
                *(f"• {_escape_markup(o.category)}: {_escape_markup(o.description)}" for o in self.observations),
            ]
        if self.suggestions:
            lines += ["", *(f"-> {_escape_markup(suggestion)}" for suggestion in self.suggestions)]
        text = "\n".join(lines)
        if len(text) > MAX_TEXT_LENGTH:
            text = text[: MAX_TEXT_LENGTH - 1] + "…"
        text = "".join(char for char in text if char == "\n" or char.isprintable())
        name = _escape_markup(self.provider_name).replace("'", "&#39;").replace("\n", " ")[:80]
        return f"<feedback provider='{name}'>\n{text}\n</feedback>"


def _escape_markup(text: str) -> str:
    """The text with nothing in it that could be taken for our own tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackContext:
    """What a provider may look at. `known` holds what verdikt itself can tell: stale evidence, missing proof, the last fix.

    `findings` gives the titles of the open findings, the worst first.
    """

    session: SessionState = field(default_factory=SessionState)
    prompt: str = ""
    started: float = 0.0
    now: float = 0.0
    deadline: float | None = None
    budget: Budget = field(default_factory=Budget)
    used: Budget = field(default_factory=Budget)
    filesystem: Facts | None = None
    memory: Memory = field(default_factory=Memory)
    known: Mapping[str, Any] = field(default_factory=dict)
    calls: int | None = None
    findings: Callable[[], Sequence[str]] = tuple

    @property
    def tool_call_count(self) -> int:
        """Calls so far for this prompt, the refused ones included."""
        return self.session.action_count if self.calls is None else self.calls

    @property
    def last_feedback(self) -> Mapping[str, Any] | None:
        """Index, time and provider of the newest feedback, whoever gave it."""
        found: Mapping[str, Any] | None = self.memory.get("feedback", self.prompt, "last")
        return found

    def last_feedback_for_provider(self, name: str) -> Mapping[str, Any] | None:
        """Index and time of the newest feedback of one provider instance, by its key or its name."""
        found: Mapping[str, Any] | None = self.memory.get("feedback", self.prompt, name)
        return found

    def tool_calls_since_last_feedback(self) -> int:
        """Calls since anybody said anything."""
        return self.tool_call_count - int((self.last_feedback or {}).get("call", 0))

    def tool_calls_since_last_feedback_for_provider(self, name: str) -> int:
        """Calls since this provider said anything."""
        return self.tool_call_count - int((self.last_feedback_for_provider(name) or {}).get("call", 0))

    def recent_tool_calls(self, n: int) -> Sequence[Mapping[str, Any]]:
        """The newest calls, oldest first."""
        return self.session.history[-n:] if n > 0 else []

    def file_exists(self, filename: str) -> bool:
        """Whether a file is there; without a filesystem nobody can say so."""
        if self.filesystem is None:
            return False
        path = filename if filename.startswith("/") else f"{self.filesystem.cwd.rstrip('/')}/{filename}"
        return self.filesystem.path(path, git=False).exists


@runtime_checkable
class FeedbackProvider(Protocol):
    """Somebody with something to say now and then."""

    @property
    def name(self) -> str:
        """What the agent is told it comes from."""
        ...

    def should_run(self, context: FeedbackContext) -> bool:
        """Whether there is anything to say now."""
        ...

    def provide(self, context: FeedbackContext) -> Feedback:
        """What to say."""
        ...


@dataclass(frozen=True, slots=True)
class FeedbackProviderConfig:
    """A provider and what triggers it. `key` tells two providers of one name apart."""

    provider: FeedbackProvider
    trigger: FeedbackTrigger
    key: str = ""
    scope: Audience = field(default_factory=Audience)


@dataclass(frozen=True, slots=True)
class FeedbackDelivery:
    """What goes to the agent, and what went wrong on the way: provider → words."""

    feedback: tuple[Feedback, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Every block, a blank line between two."""
        return "\n\n".join(feedback.render() for feedback in self.feedback)


def run_feedback_providers(configs: Sequence[FeedbackProviderConfig], context: FeedbackContext) -> FeedbackDelivery:
    """Runs every provider whose trigger fires; what is delivered is remembered, and one that fails silences no other.

    What is more than `TOTAL` characters together waits: whoever does not fit is asked again after the next call.
    """
    given: list[tuple[int, Feedback]] = []
    failures: dict[str, str] = {}
    room = MAX_TOTAL_LENGTH
    keys = [config.key or f"{at}:{config.provider.name}" for at, config in enumerate(configs)]

    def last_call_index(at: int) -> int:
        return int((context.last_feedback_for_provider(keys[at]) or {}).get("call", -1))

    # Who has been silent longest gets the room first, or one who always speaks would leave none for the last.
    for at in sorted(range(len(configs)), key=last_call_index):
        config, key = configs[at], keys[at]
        try:
            if not _is_triggered(config.trigger, key, context) or not config.provider.should_run(context):
                continue
            feedback = replace(
                config.provider.provide(context),
                timestamp=context.now,
                call_index=context.tool_call_count,
                prompt_name=context.prompt,
            )
            size = len(feedback.render())
        except Exception as error:
            failures[key] = describe_error(error)
            continue
        if size > room:
            continue
        room -= size
        mark = {"call": context.tool_call_count, "at": round(context.now, 3)}
        context.memory.keep(mark, "feedback", context.prompt, key)
        context.memory.keep({**mark, "provider": feedback.provider_name}, "feedback", context.prompt, "last")
        created = config.trigger.on_file_created
        # Only a file that was there has had its one time.
        if created and context.file_exists(created.filename):
            context.memory.keep(1, "feedback-file", context.prompt, key, created.filename)
        given.append((at, feedback))
    return FeedbackDelivery(tuple(feedback for _, feedback in sorted(given, key=lambda each: each[0])), failures)


def _is_triggered(trigger: FeedbackTrigger, key: str, context: FeedbackContext) -> bool:
    calls, seconds, created = trigger.every_n_calls, trigger.every_n_seconds, trigger.on_file_created
    if calls is not None and context.tool_calls_since_last_feedback_for_provider(key) >= calls:
        return True
    last = context.last_feedback_for_provider(key)
    if seconds is not None and (last is None or context.now - float(last.get("at", 0.0)) >= seconds):
        return True
    if created is None or context.memory.get("feedback-file", context.prompt, key, created.filename):
        return False
    return context.file_exists(created.filename)
