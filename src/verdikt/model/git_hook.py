"""verdikt's own git hooks: their names, and the line that marks a hook script as verdikt's."""

from __future__ import annotations

GIT_HOOKS = ("pre-commit", "pre-merge-commit", "pre-push")

HOOK_MARKER = "# verdikt: commits and pushes are checked here; `verdikt git uninstall` takes this out"


def is_verdikt_hook(text: str | None) -> bool:
    """Return whether a hook script with this text is verdikt's."""
    return text is not None and HOOK_MARKER in text
