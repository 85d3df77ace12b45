"""Google ADK: `VerdiktPlugin` decides every tool call of an app, sub-agents and agents used as tools included.

    app = App(name="ops", root_agent=agent, plugins=[..., VerdiktPlugin()])

An ask is ADK's own tool confirmation: the run ends with a call of `adk_request_confirmation`, and its answer resumes it
in any process that has the session. ADK runs a tool whatever the answer was; the plugin is what enforces a no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verdikt.integrations.allowed_calls import AllowedCalls
from verdikt.integrations.ruling import Ruling
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_outcome import append_context, outcome_from_error, outcome_from_result
from verdikt.model.action import Action, ActionKind, Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds

_EXTRA = "google-adk"
_BasePlugin = import_sdk("google.adk.plugins.base_plugin", _EXTRA).BasePlugin
_LlmAgent = import_sdk("google.adk.agents.llm_agent", _EXTRA).LlmAgent
_LlmResponse = import_sdk("google.adk.models.llm_response", _EXTRA).LlmResponse
_AgentTool = import_sdk("google.adk.tools.agent_tool", _EXTRA).AgentTool
_TransferToAgentTool = import_sdk("google.adk.tools.transfer_to_agent_tool", _EXTRA).TransferToAgentTool
_BaseCodeExecutor = import_sdk("google.adk.code_executors.base_code_executor", _EXTRA).BaseCodeExecutor
_BuiltInCodeExecutor = import_sdk("google.adk.code_executors.built_in_code_executor", _EXTRA).BuiltInCodeExecutor
_CodeExecutionResult = import_sdk("google.adk.code_executors.code_execution_utils", _EXTRA).CodeExecutionResult
_types = import_sdk("google.genai.types", _EXTRA)

_CHANNEL = "google_adk.tool_confirmation"
_CODE_TOOL = "code_executor"
_NOT_FINISHED = "verdikt_not_finished"
"""The call that takes the place of an unproven end: its result tells the model what is missing."""

_OUTPUT_TOOLS = frozenset({"SetModelResponseTool", "FinishTaskTool"})
"""Classes of ADK whose call is how a model returns its output: nothing runs."""

_FRAMEWORK_CALLS = frozenset({_NOT_FINISHED, "set_model_response", "finish_task", "adk_request_confirmation"})
_INNER_MODES = frozenset({"task", "single_turn"})
"""Modes of agents whose last text goes to another agent, and ends nothing."""

# An agent used as a tool runs in a session that is discarded; its calls belong to the session around it.
_OUTER_RUN: ContextVar[tuple[object, str]] = ContextVar("verdikt_adk_outer_run", default=(None, ""))


class VerdiktPlugin(_BasePlugin):  # type: ignore[misc, valid-type]
    """Decides every tool call of an app, records outcomes, and sends an unproven end back to work."""

    def __init__(
        self,
        governance: Governance | None = None,
        *,
        name: str = "verdikt",
        kinds: ToolKinds | None = None,
        attended: bool = True,
        max_refusals: int = MAX_REFUSALS,
    ) -> None:
        """Govern an app; with `attended=False` an ask is a block.

        Use that where no program answers calls of `adk_request_confirmation`.
        """
        super().__init__(name=name)
        self.governor = ToolGovernor(governance, kinds, host="google-adk", max_refusals=max_refusals)
        self.attended = attended
        self._allowed = AllowedCalls(self.governor.kinds)

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        """Record the person's request; an answer to a question is none."""
        text = _read_text(user_message)
        if text and not self._is_nested(invocation_context):
            await self.governor.abegin_turn(text, session_id=self._get_session_id(invocation_context))

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """Let the agent's code executor, if it has one of its own, ask before it runs what the model wrote."""
        executor = getattr(agent, "code_executor", None)
        is_local = isinstance(executor, _BaseCodeExecutor) and not isinstance(executor, _BuiltInCodeExecutor)
        if is_local and not isinstance(executor, _GovernedCodeExecutor):
            agent.code_executor = _GovernedCodeExecutor.wrap(executor, self)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Return None if the call may run; the refusal, or the state of the question, otherwise."""
        if tool.name == _NOT_FINISHED:
            return {"status": "not finished", "reason": str(tool_args.get("reason") or "say what is missing")}
        if _is_output(tool):
            return None
        invocation = tool_context.get_invocation_context()
        is_agent = self._seal_agent(invocation.agent)
        can_ask = is_agent and self._can_ask(invocation)
        ruling = await self._decide_call(self._build_action(tool, tool_args, tool_context), tool_context, can_ask)
        if ruling.needs_answer:
            return _request_answer(tool_context, ruling)
        if not ruling.may_run:
            return {"error": ruling.text}
        self._allowed.add(ruling)
        if is_agent:
            # ADK runs each call of an agent in a task of its own: an agent behind the tool learns whose work it does.
            _OUTER_RUN.set((self, ruling.action.session_id))
        return None

    async def check_final_arguments(self, tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """Decide again what another plugin or a callback of the agent made of the arguments.

        ADK calls this as the last callback of the agent. There is no question here: an ask is a block.
        """
        if tool.name == _NOT_FINISHED or _is_output(tool):
            return None
        session_id, call_id = self._get_session_id(tool_context), tool_context.function_call_id
        if self._allowed.use(session_id, call_id, tool.name, args) is not None:
            return None
        self._allowed.pop(session_id, call_id)
        ruling = await self.governor.adecide(self._build_action(tool, args, tool_context), can_ask=False)
        if not ruling.may_run:
            return {"error": ruling.text}
        self._allowed.add(ruling, is_used=True)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> Any | None:
        """Record the result, and add what the policy has to say about it."""
        ruling = self._pop_ruling(tool_context)
        if ruling is None:
            return None  # a refusal, or the answer of another extension: the tool has not run
        context = await self.governor.areport(ruling.action, outcome_from_result(result))
        return _add_context(result, ruling.join_notes(context))

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> None:
        """Record a failed call; ADK goes on as without us."""
        ruling = self._pop_ruling(tool_context)
        if ruling is not None:
            await self.governor.areport(ruling.action, outcome_from_error(error))

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any | None:
        """Return a call that says what is missing in place of an unproven end, or None."""
        invocation = callback_context.get_invocation_context()
        text = _read_final_text(llm_response)
        if not text or self._is_nested(invocation) or not _ends_run(invocation, text):
            return None
        reason = await self.governor.arefuse_stop(
            text, session_id=self._get_session_id(invocation), executed=_list_executed(invocation.session.events)
        )
        if not reason:
            return None
        call = _types.Part(function_call=_types.FunctionCall(name=_NOT_FINISHED, args={"reason": reason}))
        return _LlmResponse(content=_types.Content(role="model", parts=[*llm_response.content.parts, call]))

    def run_code(self, executor: Any, invocation: Any, code_input: Any) -> Any:
        """Run the model's code if the policy lets it, in the thread in which ADK does so; an ask is a block."""
        action = Action(
            kind=ActionKind.EXECUTE_CODE,
            tool=_CODE_TOOL,
            payload={"code": str(code_input.code)},
            session_id=self._get_session_id(invocation),
            cwd=self.governor.cwd,
            host=self.governor.host,
            agent=str(invocation.agent.name),
            call_id=f"code-{uuid4().hex}",
        )
        ruling = self.governor.decide(action, can_ask=False)
        if not ruling.may_run:
            return _CodeExecutionResult(stderr=ruling.text)
        with self.governor.report_errors(action):
            result = executor.execute_code(invocation, code_input)
        is_success = not result.stderr and getattr(result, "exit_code", None) in (None, 0)
        self.governor.report(action, Outcome(success=is_success, output=result.stdout, error=result.stderr))
        return result

    async def _decide_call(self, action: Action, tool_context: Any, can_ask: bool) -> Ruling:
        ruling = await self.governor.adecide(action, can_ask=can_ask)
        confirmation = tool_context.tool_confirmation
        if not ruling.needs_answer or confirmation is None:
            return ruling
        is_confirmed = confirmation.confirmed is True
        if is_confirmed and not ruling.was_asked:
            # A yes to a question of the tool itself is none to ours, and ADK asks no second one about a call.
            return await self.governor.adecide(action, can_ask=False)
        answer = confirmation.payload if isinstance(confirmation.payload, Mapping) else {}
        by = str(answer.get("by") or "")
        return await self.governor.adecide_answered(action, approved=is_confirmed, by=by, channel=_CHANNEL)

    def _pop_ruling(self, tool_context: Any) -> Ruling | None:
        return self._allowed.pop(self._get_session_id(tool_context), tool_context.function_call_id)

    def _seal_agent(self, agent: Any) -> bool:
        """Make our check the last callback before the agent's tools; return whether the agent has such callbacks.

        The agent's own `before_tool_callback` runs after all plugins, and may rewrite what they have decided.
        """
        if not isinstance(agent, _LlmAgent):
            return False
        callbacks = agent.canonical_before_tool_callbacks
        if not callbacks or callbacks[-1] != self.check_final_arguments:
            others = [callback for callback in callbacks if callback != self.check_final_arguments]
            agent.before_tool_callback = [*others, self.check_final_arguments]
        return True

    def _build_action(self, tool: Any, arguments: Any, tool_context: Any) -> Action:
        action = self.governor.build_action(
            tool.name,
            arguments,
            call_id=tool_context.function_call_id or "",
            session_id=self._get_session_id(tool_context),
            agent=tool_context.agent_name,
        )
        if tool.name in self.governor.kinds or not _is_agent_call(tool):
            return action
        return replace(action, kind=ActionKind.AGENT)

    def _can_ask(self, invocation: Any) -> bool:
        # A live connection is sent no confirmation requests, and an agent used as a tool cannot be resumed.
        is_live = invocation.live_request_queue is not None
        return self.attended is True and not is_live and not self._is_nested(invocation)

    def _is_nested(self, context: Any) -> bool:
        """Return whether a run is that of an agent which a governed tool runs."""
        plugin, session_id = _OUTER_RUN.get()
        return plugin is self and session_id != context.session.id

    def _get_session_id(self, context: Any) -> str:
        return _OUTER_RUN.get()[1] if self._is_nested(context) else str(context.session.id)


class _GovernedCodeExecutor(_BaseCodeExecutor):  # type: ignore[misc, valid-type]
    """A code executor that asks first; settings are those of the executor inside it."""

    _inner: Any = None
    _plugin: Any = None

    @classmethod
    def wrap(cls, inner: Any, plugin: VerdiktPlugin) -> _GovernedCodeExecutor:
        """Return an executor around another one."""
        executor = cls(**{name: getattr(inner, name) for name in _BaseCodeExecutor.model_fields})
        executor._inner, executor._plugin = inner, plugin
        return executor

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        """Run the code, or return the refusal as what it wrote to stderr."""
        return self._plugin.run_code(self._inner, invocation_context, code_execution_input)


def _request_answer(tool_context: Any, ruling: Ruling) -> dict[str, Any]:
    hint = f"{ruling.verdict.reason} ({ruling.verdict.guard})"
    tool_context.request_confirmation(hint=hint, payload=ruling.question)
    # Otherwise ADK calls the model at once, which would make the same call again.
    tool_context.actions.skip_summarization = True
    return {"status": "a person is asked", "reason": ruling.verdict.reason}


def _is_output(tool: Any) -> bool:
    return type(tool).__name__ in _OUTPUT_TOOLS and type(tool).__module__.startswith("google.adk.")


def _is_agent_call(tool: Any) -> bool:
    """Return whether a tool only hands over to an agent whose own calls are decided."""
    if isinstance(tool, _AgentTool):
        return bool(getattr(tool, "include_plugins", False))
    return isinstance(tool, _TransferToAgentTool)


def _ends_run(invocation: Any, text: str) -> bool:
    """Return whether the text of this agent is the end: no code, and no workflow or agent that takes it over."""
    if invocation.live_request_queue is not None:
        return False
    agent = invocation.agent
    executor = getattr(agent, "code_executor", None)
    if executor is not None and any(begin in text for begin, _ in executor.code_block_delimiters):
        return False
    if getattr(agent, "mode", None) in _INNER_MODES:
        return False
    while agent is not None:
        if not isinstance(agent, _LlmAgent):
            return False
        agent = agent.parent_agent
    return True


def _add_context(result: Any, context: str) -> Any | None:
    """Return the result with text for the model, or None to leave it."""
    if not context:
        return None
    if isinstance(result, Mapping):
        return {**result, "policy": context}
    return append_context(result, context) if isinstance(result, str) else None


def _read_text(content: Any) -> str:
    parts = getattr(content, "parts", None) or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


def _read_final_text(response: Any) -> str:
    """Return the text of a response that ends a turn, or an empty text."""
    parts = getattr(response.content, "parts", None) or ()
    if response.partial or any(part.function_call or part.executable_code for part in parts):
        return ""
    return _read_text(response.content)


def _list_executed(events: list[Any]) -> dict[str, str]:
    """Return the calls since the person's last message that have a result: call id → tool."""
    executed: dict[str, str] = {}
    for event in events:
        if event.author == "user" and _read_text(event.content):
            executed.clear()
        for response in _list_responses(event):
            executed[str(response.id)] = str(response.name)
    return executed


def _list_responses(event: Any) -> Iterator[Any]:
    """Yield the results of tools in an event; questions, refusals and what ADK itself says are none."""
    confirmations = event.actions.requested_tool_confirmations or {}
    for response in event.get_function_responses():
        is_refusal = "error" in (response.response or {})
        if response.name not in _FRAMEWORK_CALLS and response.id not in confirmations and not is_refusal:
            yield response
