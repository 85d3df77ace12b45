"""A guard that decides which tasks an agent may submit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict

BusinessRule = Callable[[Action], str | None]


class IntentGuard(BaseGuard):
    """Checks a submitted task against the rules of the business; other actions pass."""

    name = "intent"
    governance_layer = GovernanceLayer.INTENT
    uses_effects = False

    def __init__(
        self,
        *,
        allowed_task_types: Annotated[Sequence[str], "task types that may be submitted; none given: all"] = (),
        blocked_task_types: Annotated[Sequence[str], "task types that may not be submitted"] = (),
        ask_task_types: Annotated[Sequence[str], "task types that a person must agree to"] = (),
        required_fields: Annotated[Sequence[str], "fields of the payload that may not be missing or empty"] = (),
        limits: Annotated[Mapping[str, float], "field of the payload → the largest number it may hold"] = {},
        rules: Annotated[
            Mapping[str, BusinessRule], "name → function of the action that gives the objection, or None"
        ] = {},
    ) -> None:
        if both := set(allowed_task_types) & set(blocked_task_types):
            raise PolicyError(f"task type `{min(both)}` is both allowed and blocked")
        self._allowed = tuple(allowed_task_types)
        self._blocked = frozenset(blocked_task_types)
        self._ask = frozenset(ask_task_types)
        self._required = tuple(required_fields)
        self._limits = dict(limits)
        self._rules = dict(rules)

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Return the first objection to the task, or a pass."""
        if action.kind != ActionKind.SUBMIT_TASK:
            return Verdict.pass_(guard=self.name)
        objection = self._find_objection(action)
        if objection is not None:
            reason, fix = objection
            return Verdict.block(guard=self.name, reason=reason, fix=fix)
        if _read_task_type(action) in self._ask:
            reason = f"task type `{_read_task_type(action)}` needs a person's agreement"
            return Verdict.ask(guard=self.name, reason=reason, fix="wait for the answer before going on")
        return Verdict.pass_(guard=self.name)

    def _find_objection(self, action: Action) -> tuple[str, str] | None:
        kind = _read_task_type(action)
        names = ", ".join(f"`{name}`" for name in self._allowed)
        if kind in self._blocked or (self._allowed and kind not in self._allowed):
            fix = f"submit a task of type {names}" if names else "submit a task of another type"
            return f"task type `{kind[:80]}` may not be submitted", fix
        payload = action.payload if isinstance(action.payload, Mapping) else {}
        for field in self._required:
            value = payload.get(field)
            if value is None or value in ("", [], {}):
                return f"the task has no `{field}`", f"submit it again with `{field}` filled in"
        for field, maximum in self._limits.items():
            value = payload.get(field)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"expected a number in `{field}`, found `{type(value).__name__}`", f"give `{field}` as a number"
            # Written with `not`, because NaN compares false with everything.
            if not value <= maximum:
                return f"`{field}` is {value}, more than {maximum:g}", f"stay at or below {maximum:g} in `{field}`"
        for name, rule in self._rules.items():
            if objection := rule(action):
                return f"{name}: {objection}", f"change the task so that it keeps rule `{name}`"
        return None


def _read_task_type(action: Action) -> str:
    return action.task_type or action.text("task_type", "type")
