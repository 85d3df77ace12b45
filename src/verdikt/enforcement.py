"""`Enforcer`: turn a refusal into an exception or an exit of the program."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from verdikt.engine import PolicyEngine
from verdikt.errors import BlockedError
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.failure import describe_error
from verdikt.graph.guard import Guard, PolicyNode
from verdikt.graph.pipeline import Pipeline
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.verdict import VerdictKind

P = ParamSpec("P")
R = TypeVar("R")


class Enforcer:
    """Let an action go on, or raise `BlockedError`; with `exit_code`, exit the program instead.

    `ask` is called when a person must decide and returns whether they agreed; without it, an ask is a block.
    """

    def __init__(
        self,
        policy: PolicyEngine | PolicyNode | Guard | Iterable[Guard | PolicyNode],
        *,
        exit_code: int | None = None,
        ask: Callable[[EvaluationResult], bool] | None = None,
    ) -> None:
        if isinstance(policy, list | tuple):
            policy = Pipeline(policy)
        self.engine = policy if isinstance(policy, PolicyEngine) else PolicyEngine(policy)  # type: ignore[arg-type]
        self._exit_code = exit_code
        self._ask = ask

    def enforce(self, action: Action) -> EvaluationResult:
        """Return the result if the action may go on; otherwise raise or exit."""
        result = self.engine.evaluate(action)
        if result.passed:
            return result
        # Only a plain `True` is agreement: a callback that returns a text or a mock by mistake must not let it pass.
        if result.verdict.kind is VerdictKind.ASK and self._ask is not None and self._ask(result) is True:
            return result
        verdict = result.verdict
        text = f"{verdict.guard}: {verdict.reason}\nfix: {verdict.fix}"
        if self._exit_code is not None:
            sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
            sys.exit(self._exit_code)
        raise BlockedError(text, guard=verdict.guard, reason=verdict.reason, fix=verdict.fix)

    @contextmanager
    def governing(self, action: Action) -> Iterator[EvaluationResult]:
        """Enter the block only if the action may go on, and record how the block ends as the outcome."""
        result = self.enforce(action)
        try:
            yield result
        except BaseException as error:
            self.engine.post_action(action, Outcome(success=False, error=describe_error(error)))
            raise
        self.engine.post_action(action, Outcome(success=True))

    @overload
    def tool(self, kind: Callable[P, R], /) -> Callable[P, R]: ...

    @overload
    def tool(
        self, kind: ActionKind = ActionKind.OTHER, *, name: str = "", session_id: str = "default", **fields: str
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

    def tool(
        self,
        kind: ActionKind | Callable[..., Any] = ActionKind.OTHER,
        *,
        name: str = "",
        session_id: str = "default",
        **fields: str,
    ) -> Any:
        """Return a decorator that runs a function only if an action with its arguments as payload passes.

        Also a decorator itself: `@enforcer.tool` is `@enforcer.tool()`. `fields` renames arguments:
        `tool(ActionKind.BASH, command="cmd")` puts the argument `cmd` into the payload field `command`.
        """
        if not isinstance(kind, ActionKind):
            if not callable(kind):
                raise TypeError(f"expected an ActionKind or a function, found `{type(kind).__name__}`")
            return self.tool()(kind)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            signature = inspect.signature(function)
            tool = name or function.__name__

            def build_action(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Action:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                payload = dict(bound.arguments)
                payload.update(
                    {field: payload.pop(argument) for field, argument in fields.items() if argument in payload}
                )
                return Action(kind=kind, tool=tool, payload=payload, session_id=session_id)

            @wraps(function)
            def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
                with self.governing(build_action(args, kwargs)):
                    return function(*args, **kwargs)

            @wraps(function)
            async def async_wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                with self.governing(build_action(args, kwargs)):
                    return await function(*args, **kwargs)  # type: ignore[misc]

            return async_wrapper if inspect.iscoroutinefunction(function) else wrapper  # type: ignore[return-value]

        return decorate
