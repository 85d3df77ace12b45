"""OpenAI Agents: `governed` for an agent with its tools, hand-offs and MCP servers, `run_governed` for a whole run.

    agent = governed(Agent(name="ops", tools=[...]))
    result = await run_governed(agent, "deploy it", session_id="ticket-7")

An ask is an approval of the SDK: the run ends with `result.interruptions`, and `answer_interruption` records who said
what before the state is resumed, in this process or another one.
"""

from __future__ import annotations

import copy
import dataclasses
import shlex
from asyncio import to_thread
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any

from verdikt.errors import BlockedError
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import Ruling, ToolGovernor, outcome_from_result
from verdikt.integrations.tool_kinds import ToolKind
from verdikt.model.action import ActionKind

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds
    from verdikt.model.action import Action

_agents = import_sdk("agents", "openai-agents")

_CHANNEL = "openai_agents.run_state"
_HANDOFF_TOOL = "handoff"
_REJECTION = "Blocked by policy: a person said no. Instead: go on without it"

# `needs_approval` gets no session, and tracing may be off, so the session travels in a variable of our own.
_SESSION_ID: ContextVar[str] = ContextVar("verdikt_session_id", default="")

_SHELL_KIND = ToolKind(ActionKind.BASH)

_MAX_RULINGS = 4096
"""Number of calls between approval and execution that are remembered; an older one is decided again."""


def governed(
    agent: Any,
    governance: Governance | None = None,
    *,
    kinds: ToolKinds | None = None,
    session_id: str = "",
    attended: bool = True,
) -> Any:
    """Return a copy of an agent whose tools, MCP servers and hand-offs are decided by the policy.

    With `attended=False` an ask is a block: use it where no program looks at `result.interruptions`.
    """
    governor = ToolGovernor(governance, kinds, host="openai-agents")
    return _AgentGovernor(governor, session_id, attended=attended).wrap_agent(agent)


@contextmanager
def use_session(session_id: str) -> Iterator[None]:
    """Record the calls of runs in this block under a session id."""
    token = _SESSION_ID.set(session_id)
    try:
        yield
    finally:
        _SESSION_ID.reset(token)


async def run_governed(agent: Any, input: Any, *, session_id: str = "", **options: Any) -> Any:
    """Run a governed agent like `Runner.run`, with the moments that an agent by itself has no place for.

    Records the request, stops at a local tool that was never decided, and sends an unproven end back to work.
    `options` are those of `Runner.run`; `input` may be a `RunState`.
    """
    wrapped = _find_governor(agent)
    session_id = session_id or wrapped.get_session_id()
    governor = wrapped.governor
    options["hooks"] = _CoverageHooks(wrapped, options.get("hooks"))
    with use_session(session_id):
        if isinstance(input, str):
            await governor.abegin_turn(input, session_id=session_id)
        elif isinstance(input, _agents.RunState):
            await to_thread(_note_rejections, governor, input, session_id)
        result = await _agents.Runner.run(agent, input, **options)
        while not result.interruptions:
            reason = await governor.arefuse_stop(
                str(result.final_output), session_id=session_id, executed=_list_executed(result)
            )
            if not reason:
                break
            # The SDK can only abort at the end of a run, so a refusal is one more run over the same conversation.
            conversation = [*result.to_input_list(), {"role": "user", "content": reason}]
            follow_up = reason if options.get("session") is not None else conversation
            result = await _agents.Runner.run(result.last_agent, follow_up, **options)
    return result


def answer_interruption(
    state: Any, item: Any, *, approved: bool, agent: Any, by: str = "", session_id: str = "", message: str = ""
) -> None:
    """Record a person's answer about an interrupted call, and put it into the run state to be resumed."""
    wrapped = _find_governor(agent)
    call_id = _read_call_id(item)
    session_id = session_id or wrapped.get_session_id()
    is_approved = approved is True
    # First the log: what it cannot hold is not approved.
    wrapped.governor.governance.record_answer(session_id, call_id, approved=is_approved, by=by, channel=_CHANNEL)
    if is_approved:
        state.approve(item)
    else:
        state.reject(item, rejection_message=message or _REJECTION)


def _note_rejections(governor: ToolGovernor, state: Any, session_id: str) -> None:
    """Record the calls that were rejected in a run state: the SDK enforces that without calling us."""
    context = getattr(state, "_context", None)
    for item in state.get_interruptions():
        call_id = _read_call_id(item)
        if context is not None and context.is_tool_approved(item.tool_name, call_id) is False:
            governor.note_rejection(call_id, session_id=session_id, channel=_CHANNEL)


class _AgentGovernor:
    """What governs an agent and all agents it can reach."""

    def __init__(self, governor: ToolGovernor, session_id: str, *, attended: bool) -> None:
        self.governor = governor
        self.session_id = session_id
        self.attended = attended
        self.decided: OrderedDict[str, Ruling] = OrderedDict()
        self._lock = Lock()
        self._wrapped: dict[int, tuple[Any, Any]] = {}
        self._gated_tools: dict[int, Any] = {}

    def gates_tool(self, tool: Any) -> bool:
        """Return whether a tool decides its calls in its own executor, after the SDK has announced them."""
        return id(tool) in self._gated_tools

    def get_session_id(self) -> str:
        """Return the session of the current run."""
        return _SESSION_ID.get() or self.session_id or "default"

    def wrap_agent(self, agent: Any) -> Any:
        """Return the governed copy of an agent; agents that hand over to each other are copied once."""
        wrapped = self._wrapped.get(id(agent))
        if wrapped is not None:
            return wrapped[1]
        if getattr(agent, "_verdikt_governor", None) is not None:
            return agent
        copied = copy.copy(agent)
        self._wrapped[id(agent)] = (agent, copied)  # with the original, whose id must not be used again
        copied.__class__ = _build_agent_class(type(agent))
        copied._verdikt_governor = self
        copied.tools = [self.wrap_tool(tool) for tool in agent.tools]
        copied.handoffs = [self._wrap_handoff(handoff) for handoff in agent.handoffs]
        return copied

    def wrap_tool(self, tool: Any) -> Any:
        """Return a tool that is decided before it runs; tools that the provider runs are returned as they are."""
        if isinstance(tool, _agents.FunctionTool):
            return self._wrap_function(tool)
        if isinstance(tool, _agents.ShellTool | _agents.LocalShellTool):
            gated = self._wrap_shell(tool)
        elif isinstance(tool, _agents.ApplyPatchTool):
            gated = self._wrap_patch(tool)
        elif isinstance(tool, _agents.CustomTool):
            gated = self._wrap_custom(tool)
        else:
            return tool
        self._gated_tools[id(gated)] = gated  # held, so that its id is not used again
        return gated

    async def decide(self, tool: str, arguments: object, call_id: str) -> Ruling:
        """Decide a call, and remember the ruling for the second place at which the SDK asks about it."""
        action = self.build_action(tool, arguments, call_id)
        ruling = await self.governor.adecide(action, can_ask=self.attended)
        with self._lock:
            self.decided[call_id] = ruling
            while len(self.decided) > _MAX_RULINGS:
                self.decided.popitem(last=False)
        return ruling

    async def decide_execution(self, tool: str, arguments: object, call_id: str, context: Any) -> Ruling:
        """Return the ruling that counts, right before the call: with the person's answer, if there was a question."""
        action = self.build_action(tool, arguments, call_id)
        with self._lock:
            ruling = self.decided.get(call_id)
        if ruling is None or ruling.action != action or ruling.needs_answer:
            # Not the remembered one: the arguments differ, or time has passed since the question.
            ruling = await self.decide(tool, arguments, call_id)
        if not ruling.needs_answer:
            return ruling
        # `always_approve` approves calls that no person has seen: only an answer to the question about this one counts.
        if not ruling.was_asked or context.is_tool_approved(tool, call_id) is not True:
            return ruling
        return await self.governor.adecide_answered(action, approved=True, channel=_CHANNEL)

    def build_action(self, tool: str, arguments: object, call_id: str) -> Action:
        """Return a call as an action."""
        return self.governor.build_action(tool, arguments, call_id=call_id, session_id=self.get_session_id())

    def _wrap_function(self, tool: Any) -> Any:
        own_setting = tool.needs_approval

        async def needs_approval(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
            ruling = await self.decide(tool.name, arguments, call_id)
            # What is blocked must not reach a person: the guardrail refuses it with its reason.
            if ruling.needs_answer or not ruling.may_run:
                return ruling.needs_answer
            return await _evaluate_setting(own_setting, context, arguments, call_id)

        async def check_input(data: Any) -> Any:
            context = data.context
            ruling = await self.decide_execution(
                tool.name, context.tool_arguments or "{}", context.tool_call_id, context
            )
            output = _agents.ToolGuardrailFunctionOutput
            return output.allow() if ruling.may_run else output.reject_content(ruling.text)

        async def record_output(data: Any) -> Any:
            output = _agents.ToolGuardrailFunctionOutput
            context = data.context
            action = self.build_action(tool.name, context.tool_arguments or "{}", context.tool_call_id)
            text = await self.governor.areport(action, outcome_from_result(data.output))
            ruling = self.decided.get(context.tool_call_id)
            notes = "\n".join([*(ruling.warnings if ruling else ()), *([text] if text else [])])
            # The only way to append to a result is to replace it.
            return output.reject_content(f"{data.output}\n\n{notes}") if notes else output.allow()

        return dataclasses.replace(
            tool,
            needs_approval=needs_approval,
            tool_input_guardrails=[
                *(tool.tool_input_guardrails or []),
                _agents.ToolInputGuardrail(guardrail_function=check_input, name="verdikt"),
            ],
            tool_output_guardrails=[
                _agents.ToolOutputGuardrail(guardrail_function=record_output, name="verdikt"),
                *(tool.tool_output_guardrails or []),
            ],
        )

    def _wrap_shell(self, tool: Any) -> Any:
        """Return a shell tool whose executor decides: the SDK has no guardrails for it."""
        execute = tool.executor
        if execute is None:
            return tool  # the provider's container

        async def run(request: Any) -> Any:
            commands = _read_commands(request.data)
            call_id = str(request.data.call_id)
            ruling = await self.decide_execution(tool.name, {"command": commands}, call_id, request.ctx_wrapper)
            if not ruling.may_run:
                return ruling.text
            result = execute(request)
            result = await result if isawaitable(result) else result
            await self.governor.areport(ruling.action, outcome_from_result(result))
            return result

        self.governor.kinds.setdefault(tool.name, _SHELL_KIND)
        if isinstance(tool, _agents.LocalShellTool):
            return dataclasses.replace(tool, executor=run)  # it cannot pause, so an ask is refused

        async def needs_approval(context: Any, action: Any, call_id: str) -> bool:
            ruling = await self.decide(tool.name, {"command": "\n".join(action.commands)}, call_id)
            if ruling.needs_answer or not ruling.may_run:
                return ruling.needs_answer
            return await _evaluate_setting(tool.needs_approval, context, action, call_id)

        return dataclasses.replace(tool, executor=run, needs_approval=needs_approval)

    def _wrap_patch(self, tool: Any) -> Any:
        """Return a patch tool whose editor decides. An editor is not told the call, so an ask cannot wait: a block."""
        return dataclasses.replace(tool, editor=_GovernedEditor(tool.editor, self, tool.name))

    def _wrap_custom(self, tool: Any) -> Any:
        invoke = tool.on_invoke_tool

        async def run(context: Any, text: str) -> Any:
            ruling = await self.decide_execution(tool.name, {"input": text}, context.tool_call_id, context)
            if not ruling.may_run:
                return ruling.text
            result = invoke(context, text)
            result = await result if isawaitable(result) else result
            await self.governor.areport(ruling.action, outcome_from_result(result))
            return result

        async def needs_approval(context: Any, text: Any, call_id: str) -> bool:
            ruling = await self.decide(tool.name, {"input": text}, call_id)
            if ruling.needs_answer or not ruling.may_run:
                return ruling.needs_answer
            return await _evaluate_setting(tool.needs_approval, context, text, call_id)

        return dataclasses.replace(tool, on_invoke_tool=run, needs_approval=needs_approval)

    def _wrap_handoff(self, handoff: Any) -> Any:
        """Return a hand-off that is decided as the start of another agent, which is governed like this one."""
        if not isinstance(handoff, _agents.Handoff):
            handoff = _agents.handoff(handoff)
        invoke = handoff.on_invoke_handoff

        async def hand_over(context: Any, arguments: str) -> Any:
            payload = {"agent": handoff.agent_name, "input": arguments}
            action = self.governor.build_action(_HANDOFF_TOOL, payload, session_id=self.get_session_id())
            # A hand-off cannot be answered with a text, and cannot wait: what is not let through ends the run.
            ruling = await self.governor.adecide(dataclasses.replace(action, kind=ActionKind.AGENT), can_ask=False)
            if not ruling.may_run:
                verdict = ruling.verdict
                raise BlockedError(ruling.text, guard=verdict.guard, reason=verdict.reason, fix=verdict.fix)
            return self.wrap_agent(await invoke(context, arguments))

        return dataclasses.replace(handoff, on_invoke_handoff=hand_over)


class _GovernedEditor:
    """An editor of patches that changes a file only if the call was decided."""

    def __init__(self, editor: Any, agents: _AgentGovernor, tool: str) -> None:
        self.editor = editor
        self.agents = agents
        self.tool = tool

    def create_file(self, operation: Any) -> Any:
        """Create a file."""
        return self._edit(self.editor.create_file, operation)

    def update_file(self, operation: Any) -> Any:
        """Change a file."""
        return self._edit(self.editor.update_file, operation)

    def delete_file(self, operation: Any) -> Any:
        """Delete a file."""
        return self._edit(self.editor.delete_file, operation)

    async def _edit(self, edit: Callable[[Any], Any], operation: Any) -> Any:
        governor = self.agents.governor
        actions = [
            dataclasses.replace(self.agents.build_action(f"{self.tool}.{operation.type}", payload, ""), kind=kind)
            for kind, payload in _describe_operation(operation)
        ]
        for action in actions:
            ruling = await governor.adecide(action, can_ask=False)
            if not ruling.may_run:
                raise BlockedError(ruling.text)  # the SDK shows the text to the model as the tool's output
        result = edit(operation)
        result = await result if isawaitable(result) else result
        for action in actions:
            await governor.areport(action, outcome_from_result(result))
        return result


class _CoverageHooks(_agents.RunHooks):  # type: ignore[misc, name-defined]
    """Stops a run at a local tool that was never decided: one that was added after the agent was governed."""

    def __init__(self, agents: _AgentGovernor, inner: Any) -> None:
        self.agents = agents
        self.inner = inner

    def __getattribute__(self, name: str) -> Any:
        # Everything but the check below is the caller's own hooks.
        if name.startswith("on_") and name != "on_tool_start":
            inner = object.__getattribute__(self, "inner")
            if inner is not None:
                return getattr(inner, name)
        return object.__getattribute__(self, name)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Raise for a call without a decision."""
        call_id = str(getattr(context, "tool_call_id", "") or "")
        if call_id not in self.agents.decided and not self.agents.gates_tool(tool):
            name = getattr(tool, "name", "")
            raise BlockedError(f"Blocked by policy (coverage): `{name}` is not governed. Instead: use governed(agent)")
        if self.inner is not None:
            await self.inner.on_tool_start(context, agent, tool)


def _build_agent_class(cls: type) -> type:
    """Return a subclass that also governs the tools that MCP servers list when the agent runs."""

    async def get_mcp_tools(self: Any, run_context: Any) -> Any:
        tools = await cls.get_mcp_tools(self, run_context)  # type: ignore[attr-defined]
        return [self._verdikt_governor.wrap_tool(tool) for tool in tools]

    return type(cls.__name__, (cls,), {"get_mcp_tools": get_mcp_tools, "__module__": cls.__module__})


def _find_governor(agent: Any) -> _AgentGovernor:
    wrapped = getattr(agent, "_verdikt_governor", None)
    if not isinstance(wrapped, _AgentGovernor):
        raise TypeError("expected an agent from `governed(agent)`")
    return wrapped


async def _evaluate_setting(setting: Any, *arguments: Any) -> bool:
    """Return what the tool's own `needs_approval` says; everything but a plain False pauses."""
    value = setting(*arguments) if callable(setting) else setting
    return (await value if isawaitable(value) else value) is not False


def _read_commands(data: Any) -> str:
    """Return the commands of a shell call as one script, in the order in which they run."""
    action = data.action
    commands = getattr(action, "commands", None)
    if commands is not None:
        return "\n".join(commands)
    command = getattr(action, "command", "")
    return command if isinstance(command, str) else shlex.join(map(str, command))


def _describe_operation(operation: Any) -> Iterator[tuple[ActionKind, dict[str, Any]]]:
    """Yield what an operation of a patch does: a deletion is classified like `rm`, a move also writes its new path."""
    if operation.type == "delete_file":
        yield ActionKind.BASH, {"command": shlex.join(["rm", "--", str(operation.path)])}
        return
    for path in (operation.path, getattr(operation, "move_to", None)):
        if path is not None:
            yield ActionKind.WRITE, {"path": str(path), "content": str(operation.diff or "")}


def _read_call_id(item: Any) -> str:
    return str(_read_field(item.raw_item, "call_id") or _read_field(item.raw_item, "id") or "")


def _read_field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _list_executed(result: Any) -> dict[str, str]:
    """Return the function calls of a run that have an output: call id → tool."""
    names: dict[str, str] = {}
    executed: dict[str, str] = {}
    for item in result.new_items:
        raw = getattr(item, "raw_item", None)
        call_id = str(_read_field(raw, "call_id") or "")
        if item.type == "tool_call_item" and _read_field(raw, "type") == "function_call":
            names[call_id] = str(_read_field(raw, "name") or "")
        elif item.type == "tool_call_output_item" and call_id in names:
            executed[call_id] = names[call_id]
    return executed
