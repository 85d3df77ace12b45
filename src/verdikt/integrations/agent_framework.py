"""Microsoft Agent Framework: `VerdiktMiddleware` decides every function call of an agent.

    agent = Agent(client=client, tools=[...], middleware=[..., VerdiktMiddleware()])

List it last, so that it decides on what runs: arguments that change after it, or a second run of the same decision, end
the agent's run. With a session of the caller an ask is an approval request of the framework, which any process can
answer with the stored session; without one there is no place to wait, and an ask is a block.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter
from weakref import WeakSet

from verdikt.integrations.ruling import Ruling
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_outcome import append_context, outcome_from_result
from verdikt.model.action import Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds
    from verdikt.model.action import Action

_EXTRA = "agent-framework"
_framework = import_sdk("agent_framework", _EXTRA)
_framework_tools = import_sdk("agent_framework._tools", _EXTRA)
_MiddlewareException = import_sdk("agent_framework.exceptions", _EXTRA).MiddlewareException

_CHANNEL = "agent_framework.approval_response"

CallNext = Callable[[], Awaitable[None]]


with catch_warnings():
    # The framework says at the first subclass that bundles are experimental, to a user who cannot act on it. Without
    # one the two middlewares below could be installed one without the other.
    simplefilter("ignore")

    class _Bundle(_framework.MiddlewareBundle):  # type: ignore[misc, name-defined]
        """Middleware of several categories that is installed whole or not at all."""


class VerdiktMiddleware(_Bundle):
    """Decides every function call of an agent, records outcomes, and sends an unproven end back to work."""

    def __init__(
        self,
        governance: Governance | None = None,
        *,
        kinds: ToolKinds | None = None,
        attended: bool | None = None,
        session_id: str = "",
        by: str = "",
        max_refusals: int = MAX_REFUSALS,
    ) -> None:
        """Govern an agent; `attended` says whether asks can be answered, `by` who answers them in this process.

        By default an ask waits if the run was given a session. The session in the log is that session's id, or else
        `session_id`.
        """
        self.governor = ToolGovernor(governance, kinds, host="agent-framework", max_refusals=max_refusals)
        self.attended = attended
        self.session_id = session_id
        self.by = by
        # A run without a session gets one of the framework's own, in which nothing survives the run.
        self.callers_sessions: WeakSet[Any] = WeakSet()
        super().__init__([_TurnMiddleware(self), _CallMiddleware(self)])

    def get_session_id(self, session: Any) -> str:
        """Return the session of a run in the log."""
        is_callers = session is not None and session in self.callers_sessions
        return str(session.session_id) if is_callers else self.session_id or "default"

    def can_ask(self, session: Any) -> bool:
        """Return whether a question of a run can be answered."""
        if self.attended is not None:
            return self.attended is True
        return session is not None and session in self.callers_sessions

    def record_answers(self, responses: Iterable[Any], *, session_id: str, by: str = "") -> None:
        """Record who gave approval responses, before a run is resumed with them.

        The run records answers by itself, but cannot know whose they are. Answers to questions of the tools' own are
        left out.
        """
        for response in responses:
            self.governor.record_given_answer(
                session_id,
                _read_call_id(response),
                approved=response.approved is True,
                by=by,
                channel=_CHANNEL,
            )


class _CallMiddleware(_framework.FunctionMiddleware):  # type: ignore[misc, name-defined]
    """The moments before and after a function call."""

    def __init__(self, owner: VerdiktMiddleware) -> None:
        self.owner = owner

    async def process(self, context: Any, call_next: CallNext) -> None:
        """Run the function if the policy lets it; set the refusal or the question as its result otherwise."""
        governor, owner = self.owner.governor, self.owner
        action = self._build_action(context)
        ruling = await governor.adecide(action, can_ask=owner.can_ask(context.session))
        # A yes to a question of the tool's own is none to ours, which is put then.
        if ruling.needs_answer and ruling.was_asked and _has_approval(context):
            ruling = await governor.adecide_answered(action, approved=True, by=owner.by, channel=_CHANNEL)
        if ruling.needs_answer:
            context.result = _build_question(context, ruling)
            return
        if not ruling.may_run:
            context.result = ruling.text
            return
        _seal_arguments(context)
        # Another middleware may stop the call, or the function itself ask.
        unless = (_MiddlewareException, _framework.UserInputRequiredException)
        with governor.report_errors(action, unless=unless):
            await call_next()
        text = await governor.areport(action, _read_outcome(context.result))
        context.result = _add_context(context.result, ruling.join_notes(text))

    def _build_action(self, context: Any) -> Action:
        return self.owner.governor.build_action(
            context.function.name,
            context.arguments,
            call_id=context.metadata.get("call_id") or "",
            session_id=self.owner.get_session_id(context.session),
        )


class _TurnMiddleware(_framework.AgentMiddleware):  # type: ignore[misc, name-defined]
    """The moments of a request and of an end: a refused end is one more run."""

    def __init__(self, owner: VerdiktMiddleware) -> None:
        self.owner = owner

    async def process(self, context: Any, call_next: CallNext) -> None:
        """Record the request or the answers, and run the agent until its end is proven or refused often enough."""
        if context.session is not None:
            self.owner.callers_sessions.add(context.session)
        await self._record_input(context)
        if context.stream:
            context.result = self._stream_turns(context, call_next)
            return
        await call_next()
        while await self._send_back(context, context.result):
            await call_next()

    def _stream_turns(self, context: Any, call_next: CallNext) -> Any:
        """Return one stream over all runs of the turn."""
        responses: list[Any] = []

        async def stream() -> AsyncIterator[Any]:
            is_open = True
            while is_open:
                await call_next()
                inner = context.result
                async for update in inner:
                    yield update
                responses.append(await inner.get_final_response())
                is_open = await self._send_back(context, responses[-1])

        return _framework.ResponseStream(stream(), finalizer=lambda updates: responses[-1])

    async def _record_input(self, context: Any) -> None:
        session_id = self.owner.get_session_id(context.session)
        text = "\n".join(message.text for message in context.messages if message.role == "user" and message.text)
        if text:
            await self.owner.governor.abegin_turn(text, session_id=session_id)
        for content in _list_contents(context.messages):
            # The framework enforces a no without calling the function middleware.
            if content.type == "function_approval_response" and content.approved is not True:
                await self.owner.governor.run_in_thread(
                    self.owner.governor.note_rejection, _read_call_id(content), session_id=session_id, channel=_CHANNEL
                )

    async def _send_back(self, context: Any, response: Any) -> bool:
        """Return whether the agent must go on, with the reason as its next message."""
        contents = list(_list_contents(response.messages)) if response is not None else []
        if response is None or any(content.type == "function_approval_request" for content in contents):
            return False  # a middleware inside ended the run, or a person is asked: not an end of the work
        reason = await self.owner.governor.arefuse_stop(
            _read_last_text(response),
            session_id=self.owner.get_session_id(context.session),
            executed=_list_executed(contents),
        )
        if not reason:
            return False
        earlier = [] if context.session is not None else [*context.messages, *response.messages]
        context.messages = [*earlier, _framework.Message(role="user", contents=[reason])]
        return True


class _Seal:
    """The arguments that were decided, with which the framework compares those that run: equal to them, and once."""

    def __init__(self, token: object) -> None:
        self._token = token
        self._is_used = False

    def __ne__(self, token: object) -> bool:
        if self._is_used:
            raise _framework.MiddlewareFailure(
                "Blocked by policy (verdikt): one decision lets one run through. Instead: list VerdiktMiddleware last"
            )
        self._is_used = token == self._token
        return not self._is_used


def _has_approval(context: Any) -> bool:
    """Return whether this call is run because a person approved it."""
    response = context.metadata.get("approval_response")
    return response is not None and response.approved is True


def _build_question(context: Any, ruling: Ruling) -> Any:
    """Return the approval request for a call, which the framework passes on and keeps in the session."""
    call_id = ruling.action.call_id
    request_id = context.metadata.get("function_call_occurrence_id") or call_id
    call = _framework.Content.from_function_call(
        call_id=call_id, name=context.function.name, arguments=dict(context.arguments), id=request_id
    )
    return _framework.Content.from_function_approval_request(
        id=request_id, function_call=call, additional_properties=ruling.question
    )


def _seal_arguments(context: Any) -> None:
    """Let the framework end the run if a middleware inside of ours changes what was decided, or runs it twice."""
    # What its own security middleware uses; the names are private, and a test fails when they go.
    key = _framework_tools._SECURITY_ARGUMENTS_SNAPSHOT_CONTEXT_KEY
    token = _framework_tools._argument_authority_token(dict(context.arguments), boundary="security policy")
    context.metadata[key] = _Seal(token)


def _read_outcome(result: Any) -> Outcome:
    if isinstance(result, list):
        return Outcome(success=True, output="\n".join(str(getattr(item, "text", None) or item) for item in result))
    return outcome_from_result(result)


def _add_context(result: Any, text: str) -> Any:
    if text and isinstance(result, list):
        return [*result, _framework.Content.from_text(text)]
    return append_context(result, text)


def _list_contents(messages: Iterable[Any]) -> Iterator[Any]:
    for message in messages:
        yield from message.contents


def _read_last_text(response: Any) -> str:
    return next((message.text for message in reversed(response.messages) if message.role == "assistant"), "")


def _read_call_id(content: Any) -> str:
    call = content.function_call
    return str((call.call_id if call is not None else "") or "")


def _list_executed(contents: Iterable[Any]) -> dict[str, str]:
    """Return the calls that have a result: call id → function."""
    names: dict[str, str] = {}
    executed: dict[str, str] = {}
    for content in contents:
        if content.type == "function_call":
            names[str(content.call_id)] = str(content.name)
        elif content.type == "function_result" and not content.exception:
            executed[str(content.call_id)] = names.get(str(content.call_id), "")
    return executed
