"""The words about a guard, a rule or a condition that failed."""

from __future__ import annotations

FAILURE_FIX = "report this to the person who maintains the policy; the action can be tried again once it is fixed"
"""What to do about a failure that the agent can't fix itself."""

_MAX_ERROR_LENGTH = 300
"""Length of an exception's text in a reason."""


def describe_error(error: BaseException) -> str:
    """Return an exception's type and text on one line of bounded length, even if its `__str__` fails."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:
        # The exception is a guard's own, and its `__str__` may fail in any way.
        return kind
    if len(text) > _MAX_ERROR_LENGTH:
        text = text[:_MAX_ERROR_LENGTH] + "…"
    return f"{kind}: {text}" if text else kind
