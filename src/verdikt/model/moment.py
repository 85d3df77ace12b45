"""What a host brings to the moments other than `before`, and what it takes back."""

from __future__ import annotations

from verdikt.model.value import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Prompt(Value, kw_only=True):
    """What a person (or a notification) said to the agent."""

    text: str
    session_id: str = "default"
    cwd: str = ""
    host: str = ""
    agent: str = ""
    human: bool = True  # False for notifications that only look like a prompt


class Turn(Value, kw_only=True):
    """The agent wants to finish. `message` is its final text; `None` means: read it from the transcript."""

    session_id: str = "default"
    message: str | None = None
    transcript_path: str = ""
    stop_hook_active: bool = False
    cwd: str = ""
    host: str = ""
    agent: str = ""
    background: tuple[str, ...] = ()  # sessions of sub-agents that are still at work
    raw: Mapping[str, Any] = field(default_factory=dict)


class Answer(Value, kw_only=True):
    """What prompt, after, stop and commit give back, the same for every host.

    `allowed` False at stop means: go on working, for this `reason`. `context` is text for the model, whatever is allowed.
    """

    allowed: bool = True
    reason: str = ""
    context: str = ""
    guard: str = ""
