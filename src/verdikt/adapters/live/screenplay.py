"""What a scripted model says, turn by turn."""

from collections.abc import Mapping
from typing import Any

from verdikt.model.value import Value, field


class ToolUse(Value):
    """A tool that the model asks for. `custom` marks Codex's free-form tools, whose input is text; some lie in a namespace."""

    name: str
    input: Mapping[str, Any] | str
    custom: bool = False
    namespace: str = ""


class Say(Value):
    """One turn of the model: a text, and the tools it asks for at once."""

    text: str
    tools: tuple[ToolUse, ...] = ()


class Screenplay(Value, kw_only=True):
    """The turns of the main conversation, and those of side conversations, told apart by a word in their first prompt."""

    turns: tuple[Say, ...]
    asides: Mapping[str, tuple[Say, ...]] = field(default_factory=dict)
    silence: Say = Say("done")
    """What is said when the script has ended, and to requests that offer no tools (titles, summaries)."""
