"""A question to a person by a callback of the program, for SDKs that cannot pause a call by themselves."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verdikt.integrations.ruling import Ruling
    from verdikt.integrations.tool_governor import ToolGovernor
    from verdikt.model.action import Action

AskPerson = Callable[[dict[str, Any]], Any]
"""Puts a question to a person; only a plain `True` is a yes, awaited where the governed call is async."""


def decide_with_callback(governor: ToolGovernor, action: Action, ask: AskPerson | None, *, by: str) -> Ruling:
    """Decide a call, and where the policy asks, decide it again with the answer of the callback."""
    ruling = governor.decide(action, can_ask=ask is not None)
    if ask is None or not ruling.needs_answer:
        return ruling
    return governor.decide_answered(action, approved=_has_consent(ask, ruling), by=by)


def _has_consent(ask: AskPerson, ruling: Ruling) -> bool:
    try:
        answer = ask(ruling.question)
    except Exception:
        return False  # such as the EOFError of a closed terminal: a question that could not be asked has no yes
    if iscoroutine(answer):
        answer.close()  # an async callback cannot be awaited here: not a yes
    return answer is True
