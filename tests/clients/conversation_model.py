"""A scripted model that also plays the conversations of sub-agents."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.live.scripted_model import ScriptedModel


class ConversationModel(ScriptedModel):
    """Side conversations are recognised by a word in their first prompt; all others are the main conversation.

    `before_turn` is called with the text of each turn of the main conversation before the client gets it.
    """

    def __init__(
        self,
        turns: Sequence[ModelTurn],
        side_conversations: Mapping[str, Sequence[ModelTurn]] | None = None,
        before_turn: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(turns)
        self._side_conversations = dict(side_conversations or {})
        self._before_turn = before_turn
        self._side_counts: dict[str, int] = {}

    def choose_turn(self, request: dict[str, Any]) -> ModelTurn:
        """Return the next turn of the conversation that the request belongs to."""
        opening_text = _get_opening_text(request)
        word = next((word for word in self._side_conversations if word in opening_text), "")
        if not word:
            turn = super().choose_turn(request)
            if self._before_turn is not None:
                self._before_turn(turn.text)
            return turn
        turns = self._side_conversations[word]
        index = self._side_counts.get(word, 0)
        self._side_counts[word] = index + 1
        return turns[index] if index < len(turns) else ModelTurn("done")


def _get_opening_text(request: Mapping[str, Any]) -> str:
    """Return what the conversation began with: the system prompt and the first message of the user."""
    messages = request.get("messages") or request.get("contents") or []
    if "input" in request:
        items = request["input"] if isinstance(request["input"], list) else [request["input"]]
        return json.dumps([item for item in items if isinstance(item, Mapping) and item.get("role") == "user"])
    return json.dumps([request.get("system"), request.get("systemInstruction"), *messages[:1]])
