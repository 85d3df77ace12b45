"""The question that a person is asked through the client, the answer to it, and questions that imitate ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.host_decision import TEXT_MARK, sanitize_text
from verdikt.shell.homoglyph import fold_lookalikes

QUESTION_KEY = "verdikt"
"""The key of our question among a result's `inputRequests`."""

_MAX_QUESTION_LENGTH = 1500
_LIKE_LETTERS = str.maketrans("1l!|3", "iiiie")
"""What is read as a letter of our name."""

_SCHEMA = {
    "type": "object",
    "properties": {
        "allow": {
            "type": "boolean",
            "title": "Allow this once",
            "description": "Yes lets this one call happen.",
            # Codex has the first of its two choices marked otherwise, which is true: Enter alone would be a yes.
            "default": False,
        }
    },
    "required": ["allow"],
}


def build_question(reason: str, tool: str, arguments: str) -> dict[str, Any]:
    """Return the parameters of `elicitation/create` that ask whether a call may happen."""
    text = reason.removeprefix(TEXT_MARK).strip()
    shown = sanitize_text(f"{TEXT_MARK} {text}\nTool: {tool}\nArguments: {arguments}")
    if len(shown) > _MAX_QUESTION_LENGTH:
        shown = f"{shown[: _MAX_QUESTION_LENGTH - 1]}…"
    return {"message": shown, "requestedSchema": _SCHEMA}


def is_allowed(result: object) -> bool:
    """Whether the answer says yes. Anything else than an accepted form with `allow: true` means no."""
    if not isinstance(result, Mapping) or result.get("action") != "accept":
        return False
    content = result.get("content")
    return isinstance(content, Mapping) and content.get("allow") is True


def can_elicit(capabilities: object) -> bool:
    """Whether a client with these capabilities shows a form to a person."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    if not isinstance(elicitation, Mapping):
        return False
    # Before modes existed the capability was an empty object, which means forms.
    return "form" in elicitation or not elicitation


def is_imitation(params: Mapping[str, Any]) -> bool:
    """Whether a server's question could be taken for one of ours."""
    return any("verdikt" in _fold_text(text) for text in _collect_texts(params))


def _collect_texts(value: object, depth: int = 20) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not depth:
        return []
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        return []
    return [text for part in parts for text in _collect_texts(part, depth - 1)]


def _fold_text(text: str) -> str:
    # Blanks and invisible characters go: `v e r d i k t` reads the same to a person in a hurry.
    plain = fold_lookalikes(text.casefold()).translate(_LIKE_LETTERS)
    return "".join(character for character in plain if character.isalnum())
