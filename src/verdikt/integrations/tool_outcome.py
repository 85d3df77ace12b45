"""What came of a tool call: results and errors of SDKs as outcomes, and texts behind results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdikt.model.action import Outcome


def outcome_from_result(result: object) -> Outcome:
    """Return the outcome of a call that returned; an exit status in the result is taken over."""
    exit_code = _find_exit_code(result)
    return Outcome(success=exit_code in (None, 0), output=_to_text(result), exit_code=exit_code)


def outcome_from_error(error: BaseException) -> Outcome:
    """Return the outcome of a call that raised."""
    return Outcome(success=False, error=f"{type(error).__name__}: {error}")


def append_context(result: Any, context: str) -> Any:
    """Return a result with text for the model behind it; a result that is no text stays as it is."""
    return f"{result}\n\n{context}" if context and isinstance(result, str) else result


def _find_exit_code(result: object) -> int | None:
    for name in ("exit_code", "returncode"):
        value = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        if type(value) is int:
            return value
    return None


def _to_text(result: object) -> str:
    if isinstance(result, str):
        return result
    # Of a completed process what it printed, rather than its representation.
    output = getattr(result, "stdout", None)
    if isinstance(output, str):
        return output + str(getattr(result, "stderr", None) or "")
    return str(result)
