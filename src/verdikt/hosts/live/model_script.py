"""What a scripted model says, turn by turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the model asks for. `custom` marks Codex's free-form tools, whose input is text; some lie in a namespace."""

    name: str
    input: Mapping[str, Any] | str
    is_custom: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One turn of the model: a text, and the tools it asks for at once."""

    text: str
    tools: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScript:
    """The turns of the main conversation, and those of side conversations, told apart by a word in their first prompt."""

    turns: tuple[ModelTurn, ...]
    side_conversations: Mapping[str, tuple[ModelTurn, ...]] = field(default_factory=dict)
    default_turn: ModelTurn = ModelTurn("done")
    """What is said when the script has ended, and to requests that offer no tools (titles, summaries)."""
