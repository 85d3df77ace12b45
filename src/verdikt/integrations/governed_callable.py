"""`govern`: a governed form of any callable, for SDKs without an adapter of their own and for plain programs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import uuid4

from verdikt.integrations.person_callback import AskPerson, decide_with_callback
from verdikt.integrations.ruling import Ruling
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.integrations.tool_outcome import outcome_from_error, outcome_from_result
from verdikt.model.action import Action, Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds

F = TypeVar("F", bound=Callable[..., Any])


@overload
def govern(function: F, /) -> F: ...


@overload
def govern(
    function: F,
    /,
    *,
    governance: Governance | None = ...,
    kinds: ToolKinds | None = ...,
    name: str = ...,
    session_id: str | Callable[[], str] = ...,
    ask: AskPerson | None = ...,
    refuse: str = ...,
) -> F: ...


@overload
def govern(
    *,
    governance: Governance | None = ...,
    kinds: ToolKinds | None = ...,
    name: str = ...,
    session_id: str | Callable[[], str] = ...,
    ask: AskPerson | None = ...,
    refuse: str = ...,
) -> Callable[[F], F]: ...


def govern(
    function: Any = None,
    /,
    *,
    governance: Governance | None = None,
    kinds: ToolKinds | None = None,
    name: str = "",
    session_id: str | Callable[[], str] = "default",
    ask: AskPerson | None = None,
    refuse: str = "raise",
) -> Any:
    """Return a callable of the same shape that runs only what the policy lets through.

    Works on functions, coroutine functions, generators of both colours, methods and callable objects; also as a
    decorator. A refused call raises `BlockedError`; with `refuse="return"` it returns the text instead, for SDKs that
    show results but not errors. `ask` is called with the question when a person must decide; without it, an ask is a
    block.
    """
    if refuse not in ("raise", "return"):
        raise ValueError(f"expected `raise` or `return`, found `{refuse}`")
    if function is None:
        return partial(
            govern,
            governance=governance,
            kinds=kinds,
            name=name,
            session_id=session_id,
            ask=ask,
            refuse=refuse,
        )
    if isinstance(function, staticmethod | classmethod):
        inner = govern(
            function.__func__,
            governance=governance,
            kinds=kinds,
            name=name,
            session_id=session_id,
            ask=ask,
            refuse=refuse,
        )
        return type(function)(inner)
    if not callable(function):
        raise TypeError(f"expected a callable, found `{type(function).__name__}`")
    governor = ToolGovernor(governance, kinds, host="python")
    return _GovernedCallable(function, governor, name, session_id, ask, returns_refusal=refuse == "return").wrap()


class _GovernedCallable:
    """A callable and what governs it."""

    def __init__(
        self,
        function: Callable[..., Any],
        governor: ToolGovernor,
        name: str,
        session_id: str | Callable[[], str],
        ask: AskPerson | None,
        *,
        returns_refusal: bool,
    ) -> None:
        self.function = function
        self.governor = governor
        self.name = name or _get_name(function)
        self.signature = inspect.signature(function)
        self.session_id = session_id
        self.ask = ask
        self.returns_refusal = returns_refusal

    def wrap(self) -> Callable[..., Any]:
        """Return a function that looks like the original: same colour, name, signature and annotations."""
        # Of a callable object the method, whose colour is the object's; `inspect` looks into a partial by itself.
        is_plain = inspect.isroutine(self.function) or isinstance(self.function, partial)
        call: Any = self.function if is_plain else type(self.function).__call__
        wrapper: Any
        if inspect.isasyncgenfunction(call):
            wrapper = self._build_async_generator()
        elif inspect.isgeneratorfunction(call):
            wrapper = self._build_generator()
        elif inspect.iscoroutinefunction(call):
            wrapper = self._build_coroutine()
        else:
            wrapper = self._build_function()
        update_wrapper(wrapper, self.function)
        wrapper.__signature__ = self.signature  # SDKs build the tool's schema from it
        return wrapper  # type: ignore[no-any-return]

    # Each returns a plain function: a bound method would not become a method again in a class.

    def _build_function(self) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            ruling = self._decide(args, kwargs)
            if not ruling.may_run:
                return self._refuse(ruling)
            with self.governor.report_errors(ruling.action):
                result = self.function(*args, **kwargs)
            if inspect.isawaitable(result):
                return self._finish_awaitable(ruling.action, result)  # a plain function that returns a coroutine
            self.governor.report(ruling.action, outcome_from_result(result))
            return result

        return run

    def _build_coroutine(self) -> Callable[..., Any]:
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            ruling = await self._decide_async(args, kwargs)
            if not ruling.may_run:
                return self._refuse(ruling)
            return await self._finish_awaitable(ruling.action, self.function(*args, **kwargs))

        return run_async

    def _build_generator(self) -> Callable[..., Any]:
        def iterate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            # A generator runs when it is first asked for a value, so that is when it is decided.
            ruling = self._decide(args, kwargs)
            if not ruling.may_run:
                yield self._refuse(ruling)
                return
            try:
                result = yield from self.function(*args, **kwargs)
            except BaseException as error:
                self.governor.report(ruling.action, _build_iteration_outcome(error))
                raise
            self.governor.report(ruling.action, Outcome(success=True))
            return result

        return iterate

    def _build_async_generator(self) -> Callable[..., Any]:
        async def iterate_async(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            ruling = await self._decide_async(args, kwargs)
            if not ruling.may_run:
                yield self._refuse(ruling)
                return
            values = self.function(*args, **kwargs)
            try:
                # Closed here: else what the generator does at its end would happen when the collector finds it.
                async with aclosing(values):
                    step = values.asend(None)
                    while True:  # what `yield from` does in a plain generator
                        value = await step
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as thrown:
                            step = values.athrow(thrown)
                        else:
                            step = values.asend(sent)
            except StopAsyncIteration:
                await self.governor.areport(ruling.action, Outcome(success=True))
            except BaseException as error:
                self.governor.report(ruling.action, _build_iteration_outcome(error))
                raise

        return iterate_async

    async def _finish_awaitable(self, action: Action, pending: Awaitable[Any]) -> Any:
        with self.governor.report_errors(action):
            result = await pending
        await self.governor.areport(action, outcome_from_result(result))
        return result

    def _decide(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Ruling:
        action = self._build_action(args, kwargs)
        return decide_with_callback(self.governor, action, self.ask, by="callback")

    async def _decide_async(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Ruling:
        action = self._build_action(args, kwargs)
        ruling = await self.governor.adecide(action, can_ask=self.ask is not None)
        if self.ask is None or not ruling.needs_answer:
            return ruling
        try:
            answer = self.ask(ruling.question)
            approved = (await answer if inspect.isawaitable(answer) else answer) is True
        except Exception:
            approved = False  # a question that could not be asked has no yes
        return await self.governor.adecide_answered(action, approved=approved, by="callback")

    def _build_action(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Action:
        bound = self.signature.bind(*args, **kwargs)  # a wrong call raises here, as it would in the function
        bound.apply_defaults()
        payload: dict[str, Any] = {}
        for index, (name, value) in enumerate(bound.arguments.items()):
            if index == 0 and name in ("self", "cls"):
                continue  # the object of a method is no argument of the call
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD and payload.keys().isdisjoint(
                value
            ):
                payload |= value
            else:
                # Also keywords with the name of a positional-only parameter, which must not take its place.
                payload[name] = value
        session_id = self.session_id() if callable(self.session_id) else self.session_id
        return self.governor.build_action(self.name, payload, call_id=uuid4().hex, session_id=session_id)

    def _refuse(self, ruling: Ruling) -> str:
        if self.returns_refusal:
            return ruling.text
        raise ruling.build_error()


def _get_name(function: Callable[..., Any]) -> str:
    if isinstance(function, partial):
        return _get_name(function.func)
    return getattr(function, "__name__", "") or type(function).__name__


def _build_iteration_outcome(error: BaseException) -> Outcome:
    # Closing a generator early is its normal end.
    return Outcome(success=True) if isinstance(error, GeneratorExit) else outcome_from_error(error)
