"""LangChain and LangGraph: `VerdiktMiddleware` for agents, `governed_tool_node` for graphs of your own.

    agent = create_agent(model, tools, middleware=[..., VerdiktMiddleware()])

List it last, so that it decides on the arguments that run. With a checkpointer an ask is an `interrupt`, which any
process can resume; without one there is no place to wait, and an ask is a block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from verdikt.integrations.langchain_tool import ToolGate, permit_call
from verdikt.integrations.permit import is_inside_call
from verdikt.integrations.ruling import Ruling, close_question
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_outcome import append_context
from verdikt.model.action import Action, Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds

_EXTRA = "langchain"
_middleware = import_sdk("langchain.agents.middleware", _EXTRA)
_messages = import_sdk("langchain_core.messages", _EXTRA)
_tool_node = import_sdk("langgraph.prebuilt", _EXTRA)
_interrupt = import_sdk("langgraph.types", _EXTRA).interrupt
_get_config = import_sdk("langgraph.config", _EXTRA).get_config
_GraphBubbleUp = import_sdk("langgraph.errors", _EXTRA).GraphBubbleUp

# A private name of LangGraph, and the only sign that a run can be resumed; a test fails when it goes.
_CHECKPOINTER_KEY = "__pregel_checkpointer"

_MAX_APPROVED_RUNS = 1024
"""Number of calls that ran after a yes and are remembered."""

_STRUCTURED_OUTPUT = "Returning structured response"
"""How LangChain begins the result of the pseudo tool by which a model returns structured output."""


class VerdiktMiddleware(_middleware.AgentMiddleware):  # type: ignore[misc, name-defined]
    """Decides every tool call of an agent, records outcomes, and sends an unproven end back to work."""

    def __init__(
        self,
        governance: Governance | None = None,
        *,
        kinds: ToolKinds | None = None,
        attended: bool | None = None,
        session_id: str = "",
        max_refusals: int = MAX_REFUSALS,
    ) -> None:
        """Govern an agent; `attended` says whether asks can be answered, by default when there is a checkpointer.

        The session in the log is the thread's id, or else `session_id`.
        """
        super().__init__()
        self.governor = ToolGovernor(governance, kinds, host="langchain", max_refusals=max_refusals)
        self.attended = attended
        self.session_id = session_id
        self.gate = ToolGate(self.governor, lambda: self._get_session_id(None))
        self._approved_runs: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = Lock()

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Gate the tools before the model can call one, so that none runs past this middleware."""
        self.gate.close_tools(request.tools)
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Gate the tools before the model can call one."""
        self.gate.close_tools(request.tools)
        return await handler(request)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the tool if the policy lets it, or return a message with reason and fix."""
        return self.run_call(request, handler, *self.settle_call(request.tool_call, request.runtime))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run the tool if the policy lets it, or return a message with reason and fix."""
        ruling, message = await self.settle_call_async(request.tool_call, request.runtime)
        return await self.run_call_async(request, handler, ruling, message)

    def settle_call(self, call: Any, runtime: Any = None) -> tuple[Ruling, str]:
        """Decide a call, with a question to a person if need be; return the ruling and what the person said."""
        ruling = self.decide_call(call, runtime)
        if not _has_question(ruling):
            return ruling, ""
        if self._has_run_approved(ruling):
            return close_question(ruling), ""
        answer = _parse_answer(_interrupt(ruling.question))
        message = answer.pop("message")
        if not ruling.was_asked:
            return close_question(ruling), ""  # an answer to another question: this one has just been put
        return self.governor.decide_answered(ruling.action, **answer), message

    async def settle_call_async(self, call: Any, runtime: Any = None) -> tuple[Ruling, str]:
        """Decide a call in a worker thread, with a question to a person if need be."""
        ruling = await self.decide_call_async(call, runtime)
        if not _has_question(ruling):
            return ruling, ""
        if self._has_run_approved(ruling):
            return close_question(ruling), ""
        # In the task itself: in a worker thread the interrupt would not be one.
        answer = _parse_answer(_interrupt(ruling.question))
        message = answer.pop("message")
        if not ruling.was_asked:
            return close_question(ruling), ""  # an answer to another question: this one has just been put
        return await self.governor.adecide_answered(ruling.action, **answer), message

    def decide_call(self, call: Any, runtime: Any = None) -> Ruling:
        """Decide a call."""
        return self.governor.decide(self._build_action(call, runtime), can_ask=self._can_ask(runtime))

    async def decide_call_async(self, call: Any, runtime: Any = None) -> Ruling:
        """Decide a call in a worker thread."""
        return await self.governor.adecide(self._build_action(call, runtime), can_ask=self._can_ask(runtime))

    def run_call(self, request: Any, handler: Callable[[Any], Any], ruling: Ruling, message: str = "") -> Any:
        """Run a call that may run, and record its outcome; return the refusal otherwise."""
        if not ruling.may_run:
            return _build_refusal(request, ruling, message)
        self._note_approved_run(ruling)
        self.gate.close_tools([request.tool])
        # The tool itself may wait for a person.
        with (
            self.governor.report_errors(ruling.action, unless=(_GraphBubbleUp,)),
            permit_call(request.tool_call, ruling),
        ):
            result = handler(request)
        return _add_context(result, ruling, self.governor.report(ruling.action, _read_outcome(result)))

    async def run_call_async(
        self, request: Any, handler: Callable[[Any], Awaitable[Any]], ruling: Ruling, message: str = ""
    ) -> Any:
        """Run a call that may run, and record its outcome; return the refusal otherwise."""
        if not ruling.may_run:
            return _build_refusal(request, ruling, message)
        self._note_approved_run(ruling)
        self.gate.close_tools([request.tool])
        with (
            self.governor.report_errors(ruling.action, unless=(_GraphBubbleUp,)),
            permit_call(request.tool_call, ruling),
        ):
            result = await handler(request)
        return _add_context(result, ruling, await self.governor.areport(ruling.action, _read_outcome(result)))

    def _note_approved_run(self, ruling: Ruling) -> None:
        if not ruling.is_approved:
            return
        with self._lock:
            self._approved_runs[_get_task(), ruling.action.call_id] = None
            while len(self._approved_runs) > _MAX_APPROVED_RUNS:
                self._approved_runs.popitem(last=False)

    def _has_run_approved(self, ruling: Ruling) -> bool:
        """Return whether the call has run in this task of the graph after a yes, and would be asked about once more.

        An extension that tries it again cannot have a second question: LangGraph would give the first answer to both
        when it runs the task again.
        """
        with self._lock:
            return ruling.needs_answer and (_get_task(), ruling.action.call_id) in self._approved_runs

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Record the person's request."""
        session_id = self._get_session_id(runtime)
        if not is_inside_call(session_id):
            self.governor.begin_turn(_find_last_human_text(state), session_id=session_id)

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Record the person's request."""
        session_id = self._get_session_id(runtime)
        if not is_inside_call(session_id):
            await self.governor.abegin_turn(_find_last_human_text(state), session_id=session_id)

    # Without `can_jump_to` LangChain ignores the jump, and the agent ends.
    @_middleware.hook_config(can_jump_to=["model"])  # type: ignore[untyped-decorator]
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Send the agent back to work when its end is not proven."""
        session_id = self._get_session_id(runtime)
        if is_inside_call(session_id):
            return None
        reason = self.governor.refuse_stop(
            _find_last_text(state), session_id=session_id, executed=_list_executed(state)
        )
        return _build_jump(reason)

    @_middleware.hook_config(can_jump_to=["model"])  # type: ignore[untyped-decorator]
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Send the agent back to work when its end is not proven."""
        session_id = self._get_session_id(runtime)
        if is_inside_call(session_id):
            return None
        reason = await self.governor.arefuse_stop(
            _find_last_text(state), session_id=session_id, executed=_list_executed(state)
        )
        return _build_jump(reason)

    def _build_action(self, call: Any, runtime: Any) -> Action:
        return self.governor.build_action(
            call.get("name", ""),
            call.get("args"),
            call_id=call.get("id") or "",
            session_id=self._get_session_id(runtime),
        )

    def _get_session_id(self, runtime: Any) -> str:
        return str(_read_configurable(runtime).get("thread_id") or self.session_id or "default")

    def _can_ask(self, runtime: Any) -> bool:
        if self.attended is not None:
            return self.attended is True
        return _read_configurable(runtime).get(_CHECKPOINTER_KEY) not in (None, False)


def governed_tool_node(
    tools: Sequence[Any],
    governance: Governance | None = None,
    *,
    kinds: ToolKinds | None = None,
    attended: bool | None = None,
    session_id: str = "",
    **options: Any,
) -> Any:
    """Return a `ToolNode` whose calls are decided, sync and async; `options` are those of `ToolNode`."""
    middleware = VerdiktMiddleware(governance, kinds=kinds, attended=attended, session_id=session_id)
    return _GovernedToolNode(tools, middleware, options)


class _GovernedToolNode(_tool_node.ToolNode):  # type: ignore[misc, name-defined]
    """A tool node that asks before it runs anything.

    All calls of a message run in one task of the graph, and an interrupted task is run again from its beginning. A
    question in the middle would repeat the calls beside it, and two questions at once could get each other's answers.
    """

    def __init__(self, tools: Sequence[Any], middleware: VerdiktMiddleware, options: Mapping[str, Any]) -> None:
        # Both colours: a node with only one runs the tool without the wrapper when it is invoked in the other.
        super().__init__(tools, wrap_tool_call=self._run_answered, awrap_tool_call=self._run_answered_async, **options)
        self._middleware = middleware
        middleware.gate.close_tools(self.tools_by_name.values())

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Ask the open questions one after another, and then run the calls."""
        for call in self._list_calls(input):
            self._middleware.settle_call(call)
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Ask the open questions one after another, and then run the calls."""
        for call in self._list_calls(input):
            await self._middleware.settle_call_async(call)
        return await super().ainvoke(input, config, **kwargs)

    def _run_answered(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._middleware.run_call(request, handler, self._middleware.decide_call(request.tool_call))

    async def _run_answered_async(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        ruling = await self._middleware.decide_call_async(request.tool_call)
        return await self._middleware.run_call_async(request, handler, ruling)

    def _list_calls(self, input: Any) -> list[Any]:
        """Return the tool calls in the shapes of input that a tool node takes."""
        if isinstance(input, Mapping) and "tool_call" in input:
            return [input["tool_call"]]  # one call, sent with its state
        messages = input if isinstance(input, list) else _get_messages(input, self._messages_key)
        if messages and isinstance(messages[-1], Mapping):
            return list(messages)
        return next((list(message.tool_calls) for message in reversed(messages) if message.type == "ai"), [])


def _read_configurable(runtime: Any) -> Mapping[str, Any]:
    """Return the `configurable` part of the run's config; empty outside a run."""
    config = getattr(runtime, "config", None)
    if config is None:
        try:
            config = _get_config()
        except RuntimeError:
            return {}
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    return configurable if isinstance(configurable, Mapping) else {}


def _get_task() -> str:
    """Return the task of the graph that runs here; it has the same name when it is run again."""
    return str(_read_configurable(None).get("checkpoint_ns") or "")


def _has_question(ruling: Ruling) -> bool:
    """Return whether a call is asked about now, or was when the task ran before.

    LangGraph gives answers to the interrupts of a task by their order. One that is left out because its answer is known
    would give that answer to the next question, be it ours or the tool's own.
    """
    return ruling.needs_answer or ruling.was_asked


def _parse_answer(answer: object) -> dict[str, Any]:
    """Return what a person answered; everything but a plain approval is a no, edited arguments included."""
    fields: Mapping[str, Any] = answer if isinstance(answer, Mapping) else {}
    # The shape of LangChain's own `HumanInTheLoopMiddleware`, so that programs written for it work.
    decisions = fields.get("decisions")
    if isinstance(decisions, list) and len(decisions) == 1 and isinstance(decisions[0], Mapping):
        fields = decisions[0]
    return {
        "approved": fields.get("type") == "approve",
        "by": str(fields.get("by") or ""),
        "channel": str(fields.get("channel") or "langgraph.interrupt"),
        "message": str(fields.get("message") or ""),
    }


def _build_refusal(request: Any, ruling: Ruling, message: str) -> Any:
    text = f"{ruling.text}\nThe person said: {message}" if message else ruling.text
    call = request.tool_call
    return _messages.ToolMessage(text, name=call.get("name"), tool_call_id=call.get("id") or "", status="error")


def _read_outcome(result: Any) -> Outcome:
    content = getattr(result, "content", None)
    text = content if isinstance(content, str) else str(result if content is None else content)
    return Outcome(success=getattr(result, "status", "success") != "error", output=text)


def _add_context(result: Any, ruling: Ruling, context: str) -> Any:
    text = ruling.join_notes(context)
    content = getattr(result, "content", None)
    if not text or not isinstance(content, str):
        return result  # a `Command`, or content in blocks
    return result.model_copy(update={"content": append_context(content, text)})


def _build_jump(reason: str) -> dict[str, Any] | None:
    return {"jump_to": "model", "messages": [_messages.HumanMessage(reason, name="verdikt")]} if reason else None


def _get_messages(state: Any, key: str = "messages") -> list[Any]:
    messages = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return list(messages or ())


def _find_last_text(state: Any) -> str:
    messages = _get_messages(state)
    return _read_text(messages[-1]) if messages else ""


def _find_last_human_text(state: Any) -> str:
    return next((_read_text(message) for message in reversed(_get_messages(state)) if message.type == "human"), "")


def _read_text(message: Any) -> str:
    # A property here, a method in older versions.
    text = getattr(message, "text", "")
    return str(text() if callable(text) and not isinstance(text, str) else text)


def _list_executed(state: Any) -> dict[str, str]:
    """Return the calls since the person's last message that the messages show as executed: call id → tool."""
    executed: dict[str, str] = {}
    for message in reversed(_get_messages(state)):
        if message.type == "human":
            break
        has_run = message.type == "tool" and getattr(message, "status", "") != "error"
        if has_run and not str(message.content).startswith(_STRUCTURED_OUTPUT):
            executed[str(message.tool_call_id)] = str(message.name or "")
    return executed
