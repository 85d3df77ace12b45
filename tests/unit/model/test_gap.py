"""Gap entries in words."""

from typing import Any

import pytest

from verdikt.model.gap import describe_gap

RESTORED = {"path": "/p/.claude/settings.json", "found": "", "kept": "a"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"reason": "entries_lost"}, "something was not recorded: entries_lost"),
        ({"moment": "after", "error": "OSError"}, "something was not recorded: `after` failed with OSError"),
        (
            {"moment": "after", "restored": [RESTORED]},
            "what watches over the agent was changed: `/p/.claude/settings.json` was put back",
        ),
        (
            {"moment": "before", "restored": [RESTORED | {"error": "Read-only file system"}]},
            "what watches over the agent was changed: `/p/.claude/settings.json` could not be put back"
            " (Read-only file system)",
        ),
        (
            {"moment": "stop", "unreported": [{"tool": "Bash"}, {"tool": "Bash"}]},
            "calls passed and the host reported no outcome: Bash × 2",
        ),
        ({"moment": "after"}, "something was not recorded at the moment `after`"),
        (None, "something was not recorded"),
    ],
)
def test_gap_says_what_happened(body: Any, text: str) -> None:
    """A file that was put back is not something that was left out of the log."""
    assert describe_gap(body) == text
