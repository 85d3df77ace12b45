"""verdikt's own hooks in a git repository: which they are, and the line by which one is known."""

from __future__ import annotations

GIT_HOOKS = ("pre-commit", "pre-merge-commit", "pre-push")

HOOK_MARKER = "# verdikt: commits and pushes are checked here; `verdikt git uninstall` takes this out"


def is_verdikt_hook(text: str | None) -> bool:
    """Whether a hook with this text is one of ours."""
    return text is not None and HOOK_MARKER in text
