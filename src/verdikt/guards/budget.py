"""A guard that limits how much a session may do."""

from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict


class BudgetGuard(BaseGuard):
    """Limits the actions or the time of one session. Threads and processes that share the session share the count."""

    governance_layer = GovernanceLayer.RESOURCE

    def __init__(
        self,
        *,
        max_tasks: Annotated[int | None, "actions that a session may take; none given: any number"] = None,
        max_seconds: Annotated[float | None, "seconds from a session's first action to its last"] = None,
        kinds: Annotated[Sequence[str], "kinds of action that count; none given: all"] = (),
        name: Annotated[str, "under which the count is kept, for several budgets in one policy"] = "budget",
    ) -> None:
        for setting, value in (("max_tasks", max_tasks), ("max_seconds", max_seconds)):
            if value is not None and (isinstance(value, bool) or not value >= 0):
                raise PolicyError(f"expected `{setting}` of 0 or more, found `{value}`")
        self.name = name
        self.uses_effects = max_seconds is not None  # the clock is part of the facts
        self._max_tasks = max_tasks
        self._max_seconds = max_seconds
        self._kinds = frozenset(kinds)
        self._lock = Lock()
        self._local_slots: dict[str, dict[str, Any]] = {}

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Count the action, or block it without counting when the budget is used up."""
        if self._kinds and action.kind not in self._kinds:
            return Verdict.pass_(guard=self.name)
        with self._lock:
            # Without a context (a guard used by itself) there is no session to keep the count in.
            slots = self._local_slots.setdefault(action.session_id, {}) if ctx is None else ctx.session.slots
            usage = slots.get(self.name, {})
            used = usage.get("used", 0)
            now = 0.0 if ctx is None else ctx.now
            started = usage.get("started") or now
            if self._max_tasks is not None and used >= self._max_tasks:
                return self._block_exhausted(f"{used} of {self._max_tasks} actions used")
            if self._max_seconds is not None and now - started > self._max_seconds:
                return self._block_exhausted(f"{now - started:.0f} of {self._max_seconds:g} seconds used")
            slots[self.name] = {"used": used + 1, "started": started}
        return Verdict.pass_(guard=self.name)

    def _block_exhausted(self, usage: str) -> Verdict:
        fix = "summarise what is done and what remains, and ask for a new session"
        return Verdict.block(guard=self.name, reason=f"the session's budget is exhausted: {usage}", fix=fix)
