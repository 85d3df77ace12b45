"""The text of a file after a tool's write, as far as the payload tells it."""

from typing import Any

import pytest

from verdikt.model.written_text import predict_written_text


@pytest.mark.parametrize(
    ("payload", "old", "expected"),
    [
        ({"content": "new"}, "old", "new"),
        ({"file_text": "new"}, None, "new"),
        ({"old_string": "a", "new_string": "b"}, "a a", "b a"),
        ({"old_string": "a", "new_string": "b", "replace_all": True}, "a a", "b b"),
        ({"old_string": "", "new_string": "b"}, None, "b"),
        ({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]}, "a", "c"),
        ({"old_string": "x", "new_string": "b"}, "a", None),
        ({"old_string": "x", "new_string": "b"}, None, None),
        ({"patch": "*** Begin Patch"}, "a", None),
        ({"edits": ["odd"]}, "a", None),
        ("text", "a", None),
    ],
)
def test_predicted_text_is_what_the_tool_would_leave(payload: Any, old: str | None, expected: str | None) -> None:
    """A write replaces, an edit changes the old text, and what the payload does not tell is None."""
    assert predict_written_text(payload, old) == expected
