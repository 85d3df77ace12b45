"""What a scripted model says, turn by turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the model asks for. `custom` marks Codex's free-form tools, whose input is text; some lie in a namespace."""

    name: str
    input: Mapping[str, Any] | str
    custom: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """One turn of the model: a text, and the tools it asks for at once."""

    text: str
    tools: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenplay:
    """The turns of the main conversation, and those of side conversations, told apart by a word in their first prompt."""

    turns: tuple[Say, ...]
    asides: Mapping[str, tuple[Say, ...]] = field(default_factory=dict)
    silence: Say = Say("done")
    """What is said when the script has ended, and to requests that offer no tools (titles, summaries)."""
