"""Feedback: text for the agent after an action, when a trigger fires. Advice, never a gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from verdikt.errors import GuidanceError
from verdikt.graph.failure import describe_error
from verdikt.guidance.audience import Audience
from verdikt.guidance.budget import Budget
from verdikt.model.facts import Facts
from verdikt.model.session_state import Memory, SessionState

MAX_TEXT_LENGTH = 2000
"""Number of characters of one provider's text; longer text is cut."""

MAX_TOTAL_LENGTH = 6000
"""Number of characters of all feedback after one call."""

SEVERITIES = ("info", "caution", "warning")


@dataclass(frozen=True, slots=True)
class FileCreatedTrigger:
    """Fires once in a session, when the file is first seen to exist."""

    filename: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTrigger:
    """When a provider runs; any one condition suffices, and without one it never runs."""

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
        """Return the text as the agent reads it, escaped and cut to `MAX_TEXT_LENGTH`."""
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
        # Control characters could hide or rewrite text in a terminal.
        text = "".join(char for char in text if char == "\n" or char.isprintable())
        # The name is an attribute of our tag: quotes and newlines would end it.
        name = _escape_markup(self.provider_name).replace("'", "&#39;").replace("\n", " ")[:80]
        return f"<feedback provider='{name}'>\n{text}\n</feedback>"


def _escape_markup(text: str) -> str:
    """Return the text without anything that could be taken for our own tags."""
    # A file name or a tool result in the text must not close the block and speak in our name.
    return text.replace("&", "&amp;").replace("<", "&lt;")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackContext:
    """What a provider may look at.

    `known` holds what verdikt itself can tell: stale evidence, missing proof, the last fix. `findings` returns the
    titles of the open findings, worst first.
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
        """Return the number of calls so far for this prompt, refused ones included."""
        return self.session.action_count if self.calls is None else self.calls

    @property
    def last_feedback(self) -> Mapping[str, Any] | None:
        """Return index, time and provider of the newest feedback of any provider."""
        mark: Mapping[str, Any] | None = self.memory.get("feedback", self.prompt, "last")
        return mark

    def last_feedback_for_provider(self, name: str) -> Mapping[str, Any] | None:
        """Return index and time of the newest feedback of one provider, by its key or its name."""
        mark: Mapping[str, Any] | None = self.memory.get("feedback", self.prompt, name)
        return mark

    def tool_calls_since_last_feedback(self) -> int:
        """Return the number of calls since any provider gave feedback."""
        return self.tool_call_count - int((self.last_feedback or {}).get("call", 0))

    def tool_calls_since_last_feedback_for_provider(self, name: str) -> int:
        """Return the number of calls since this provider gave feedback."""
        return self.tool_call_count - int((self.last_feedback_for_provider(name) or {}).get("call", 0))

    def recent_tool_calls(self, n: int) -> Sequence[Mapping[str, Any]]:
        """Return the newest calls, oldest first."""
        return self.session.history[-n:] if n > 0 else []

    def file_exists(self, filename: str) -> bool:
        """Return whether a file exists; False without a filesystem."""
        if self.filesystem is None:
            return False
        path = filename if filename.startswith("/") else f"{self.filesystem.cwd.rstrip('/')}/{filename}"
        return self.filesystem.path(path, git=False).exists


@runtime_checkable
class FeedbackProvider(Protocol):
    """A source of feedback."""

    @property
    def name(self) -> str:
        """Return the name that the agent sees."""
        ...

    def should_run(self, context: FeedbackContext) -> bool:
        """Return whether there is anything to say now."""
        ...

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return the feedback."""
        ...


@dataclass(frozen=True, slots=True)
class FeedbackProviderConfig:
    """A provider and its trigger. `key` distinguishes two providers of one name."""

    provider: FeedbackProvider
    trigger: FeedbackTrigger
    key: str = ""
    scope: Audience = field(default_factory=Audience)


@dataclass(frozen=True, slots=True)
class FeedbackDelivery:
    """The feedback for the agent, and the providers that failed, with the reason."""

    feedback: tuple[Feedback, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return every block, separated by blank lines."""
        return "\n\n".join(feedback.render() for feedback in self.feedback)


def run_feedback_providers(configs: Sequence[FeedbackProviderConfig], context: FeedbackContext) -> FeedbackDelivery:
    """Run every provider whose trigger fires, and remember what is delivered; one that fails does not silence others.

    Feedback beyond `MAX_TOTAL_LENGTH` characters waits: its provider is asked again after the next call.
    """
    delivered: list[tuple[int, Feedback]] = []
    failures: dict[str, str] = {}
    room = MAX_TOTAL_LENGTH
    keys = [config.key or f"{index}:{config.provider.name}" for index, config in enumerate(configs)]

    def last_call_index(index: int) -> int:
        return int((context.last_feedback_for_provider(keys[index]) or {}).get("call", -1))

    # Who has been silent longest gets the room first, or one who always speaks would leave none for the last.
    for index in sorted(range(len(configs)), key=last_call_index):
        config, key = configs[index], keys[index]
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
        # A provider may be a user's own code. One that fails must not silence the others.
        except Exception as error:
            failures[key] = describe_error(error)
            continue
        if size > room:
            continue
        room -= size
        # Marked when it is delivered, not when it is due: feedback that did not fit comes next time.
        mark = {"call": context.tool_call_count, "at": round(context.now, 3)}
        context.memory.keep(mark, "feedback", context.prompt, key)
        context.memory.keep({**mark, "provider": feedback.provider_name}, "feedback", context.prompt, "last")
        created = config.trigger.on_file_created
        # Only a file that was there has had its one time.
        if created and context.file_exists(created.filename):
            context.memory.keep(1, "feedback-file", context.prompt, key, created.filename)
        delivered.append((index, feedback))
    return FeedbackDelivery(
        tuple(feedback for _, feedback in sorted(delivered, key=lambda indexed: indexed[0])), failures
    )


def _is_triggered(trigger: FeedbackTrigger, key: str, context: FeedbackContext) -> bool:
    calls, seconds, created = trigger.every_n_calls, trigger.every_n_seconds, trigger.on_file_created
    if calls is not None and context.tool_calls_since_last_feedback_for_provider(key) >= calls:
        return True
    last = context.last_feedback_for_provider(key)
    if seconds is not None and (last is None or context.now - float(last.get("at", 0.0)) >= seconds):
        return True
    # Each file triggers once in a session, also when it is deleted and created again.
    if created is None or context.memory.get("feedback-file", context.prompt, key, created.filename):
        return False
    return context.file_exists(created.filename)
