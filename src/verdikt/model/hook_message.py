"""The input and output of the hook events other than `before`, the same for every host."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Prompt(NamedTuple):
    """A message of a person, or of a notification, to the agent."""

    text: str
    session_id: str = "default"
    cwd: str = ""
    host: str = ""
    agent: str = ""
    human: bool = True  # False for notifications that only look like a prompt
    transcript_path: str = ""


class Turn(NamedTuple):
    """The agent's attempt to finish. `message` is its final text; `None` means: read it from the transcript."""

    session_id: str = "default"
    message: str | None = None
    transcript_path: str = ""
    stop_hook_active: bool = False
    cwd: str = ""
    host: str = ""
    agent: str = ""
    background: tuple[str, ...] = ()  # sessions of sub-agents that are still at work
    raw: Mapping[str, Any] = MappingProxyType({})
    executed: Mapping[str, str] = MappingProxyType({})  # call id → tool, as the host counts what ran


class Answer(NamedTuple):
    """The result of prompt, after, stop and commit.

    `allowed` False at stop means: go on working, for this `reason`. `context` is text for the model in either case,
    `notice` text for the person, on hosts that can show it.
    """

    allowed: bool = True
    reason: str = ""
    context: str = ""
    guard: str = ""
    notice: str = ""  # what the person should see, whatever the decision


def add_notice(answer: Answer, text: str) -> Answer:
    """Return the answer with more text for the model and for the person."""
    context, notice = ("\n".join(filter(None, (old, text))) for old in (answer.context, answer.notice))
    return answer._replace(context=context, notice=notice)
