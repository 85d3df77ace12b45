"""The text that a file will have after a tool's write or edit, as far as the payload tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONTENT_KEYS = ("content", "file_text", "contents")
_OLD_KEYS = ("old_string", "old_str", "oldString", "oldText")
_NEW_KEYS = ("new_string", "new_str", "newString", "newText")


def predict_written_text(payload: Any, old_text: str | None) -> str | None:
    """Return the whole text after a write; None when the payload does not tell it, as for a patch."""
    if not isinstance(payload, Mapping):
        return None
    content = _find_text(payload, _CONTENT_KEYS)
    if content is not None:
        return content
    edits = payload.get("edits")
    steps = edits if isinstance(edits, list | tuple) else [payload]
    text = old_text
    for step in steps:
        text = _apply_edit(step, text)
        if text is None:
            return None
    return text


def list_new_texts(payload: Any) -> list[str]:
    """Return the texts that an edit puts in, wherever in the file that is."""
    if not isinstance(payload, Mapping):
        return []
    edits = payload.get("edits")
    steps = edits if isinstance(edits, list | tuple) else [payload]
    texts = [_find_text(step, _NEW_KEYS) for step in steps if isinstance(step, Mapping)]
    return [text for text in texts if text]


def _apply_edit(edit: Any, text: str | None) -> str | None:
    if not isinstance(edit, Mapping):
        return None
    old, new = _find_text(edit, _OLD_KEYS), _find_text(edit, _NEW_KEYS)
    if old is None or new is None:
        return None
    if not old:
        return new + (text or "")
    if text is None or old not in text:
        return None
    return text.replace(old, new) if edit.get("replace_all") is True else text.replace(old, new, 1)


def _find_text(payload: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((payload[key] for key in keys if isinstance(payload.get(key), str)), None)
