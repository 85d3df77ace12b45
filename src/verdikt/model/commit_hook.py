"""verdikt's own hooks in a git repository: which they are, and the line by which one is known."""

from __future__ import annotations

HOOKS = ("pre-commit", "pre-merge-commit", "pre-push")

MARK = "# verdikt: commits and pushes are checked here; `verdikt git uninstall` takes this out"


def is_ours(text: str | None) -> bool:
    """Whether a hook with this text is one of ours."""
    return text is not None and MARK in text
