"""OpenAI Agents: `governed` for an agent with its tools, hand-offs and MCP servers, `run_governed` for a whole run.

    agent = governed(Agent(name="ops", tools=[...]))
    result = await run_governed(agent, "deploy it", session_id="ticket-7")

An ask is an approval of the SDK: the run ends with `result.interruptions`, and `answer_interruption` records who said
what before the state is resumed, in this process or another one.
"""

from __future__ import annotations

import copy
import dataclasses
import weakref
from asyncio import to_thread
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from verdikt.errors import BlockedError
from verdikt.integrations.openai_agents_tools import CHANNEL, AgentToolGate, read_field, use_session
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.model.action import ActionKind, Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds

_agents = import_sdk("agents", "openai-agents")

_GOVERNOR_ATTRIBUTE = "_verdikt_governor"
"""Where a governed agent, and a hand-off of it, holds its governor."""

_HANDOFF_TOOL = "handoff"
_REJECTION = "Blocked by policy: a person said no. Instead: go on without it"


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
    return _AgentGovernor(AgentToolGate(governor, session_id, attended=attended)).wrap_agent(agent)


async def run_governed(agent: Any, input: Any, *, session_id: str = "", **options: Any) -> Any:
    """Run a governed agent like `Runner.run`, with the moments that an agent by itself has no place for.

    Records the request, stops at a local tool that was never decided, and sends an unproven end back to work.
    `options` are those of `Runner.run`; `input` may be a `RunState`.
    """
    wrapped = _find_governor(agent)
    session_id = session_id or wrapped.gate.get_session_id()
    governor = wrapped.governor
    options["hooks"] = _CoverageHooks(wrapped.gate, options.get("hooks"))
    with use_session(session_id):
        if isinstance(input, str):
            await governor.abegin_turn(input, session_id=session_id)
        elif isinstance(input, _agents.RunState):
            await to_thread(_note_rejections, governor, input, session_id)
        result = await _agents.Runner.run(agent, input, **options)
        await _report_hosted_calls(wrapped.gate, result)
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
            await _report_hosted_calls(wrapped.gate, result)
    return result


def answer_interruption(
    state: Any, item: Any, *, approved: bool, agent: Any, by: str = "", session_id: str = "", message: str = ""
) -> None:
    """Record a person's answer about an interrupted call, and put it into the run state to be resumed."""
    wrapped = _find_governor(agent)
    call_id = _read_call_id(item)
    session_id = session_id or wrapped.gate.get_session_id()
    is_approved = approved is True
    if read_field(item.raw_item, "type") == "mcp_approval_request":
        _answer_hosted_call(wrapped, state, item, approved=is_approved, by=by, session_id=session_id, message=message)
        return
    # First the log: what it cannot hold is not approved. A question of the tool's own is not in it.
    wrapped.governor.record_given_answer(session_id, call_id, approved=is_approved, by=by, channel=CHANNEL)
    if is_approved:
        state.approve(item)
    else:
        state.reject(item, rejection_message=message or _REJECTION)


def _answer_hosted_call(
    wrapped: _AgentGovernor, state: Any, item: Any, *, approved: bool, by: str, session_id: str, message: str
) -> None:
    """Decide a call of an MCP server of the provider, which was paused without a decision, with the person's answer."""
    action = wrapped.gate.build_hosted_action(item.raw_item, session_id)
    ruling = wrapped.governor.decide(action, can_ask=True)
    if ruling.needs_answer:
        ruling = wrapped.governor.decide_answered(action, approved=approved, by=by, channel=CHANNEL)
    if ruling.may_run and approved:
        state.approve(item)
    else:
        state.reject(item, rejection_message=ruling.text if not ruling.may_run else message or _REJECTION)


async def _report_hosted_calls(gate: AgentToolGate, result: Any) -> None:
    """Record what came of the calls that the provider made after we let it."""
    for item in result.new_items:
        call = getattr(item, "raw_item", None)
        if read_field(call, "type") == "mcp_call" and read_field(call, "approval_request_id"):
            error = str(read_field(call, "error") or "")
            outcome = Outcome(success=not error, output=str(read_field(call, "output") or ""), error=error)
            await gate.governor.areport(gate.build_hosted_action(call), outcome)


def _note_rejections(governor: ToolGovernor, state: Any, session_id: str) -> None:
    """Record the calls that were rejected in a run state: the SDK enforces that without calling us."""
    context = getattr(state, "_context", None)
    for item in state.get_interruptions():
        call_id = _read_call_id(item)
        if context is not None and context.is_tool_approved(item.tool_name, call_id) is False:
            governor.note_rejection(call_id, session_id=session_id, channel=CHANNEL)


class _AgentGovernor:
    """What governs an agent and all agents it can reach."""

    def __init__(self, gate: AgentToolGate) -> None:
        self.gate = gate
        self.governor = gate.governor
        self._wrapped: dict[int, tuple[Any, Any]] = {}

    def wrap_agent(self, agent: Any) -> Any:
        """Return the governed copy of an agent; agents that hand over to each other are copied once."""
        wrapped = self._wrapped.get(id(agent))
        if wrapped is not None:
            return wrapped[1]
        if getattr(agent, _GOVERNOR_ATTRIBUTE, None) is not None:
            return agent
        copied = copy.copy(agent)
        self._wrapped[id(agent)] = (agent, copied)  # with the original, whose id must not be used again
        copied.__class__ = _build_agent_class(type(agent), self)
        copied.tools = [self.gate.wrap_tool(tool) for tool in agent.tools]
        copied.handoffs = agent.handoffs
        return copied

    def wrap_handoff(self, handoff: Any) -> Any:
        """Return a hand-off that is decided as the start of another agent, which is governed like this one."""
        if getattr(handoff, _GOVERNOR_ATTRIBUTE, None) is self:
            return handoff
        if not isinstance(handoff, _agents.Handoff):
            handoff = _agents.handoff(handoff)
        invoke = handoff.on_invoke_handoff

        async def hand_over(context: Any, arguments: str) -> Any:
            payload = {"agent": handoff.agent_name, "input": arguments}
            action = self.governor.build_action(_HANDOFF_TOOL, payload, session_id=self.gate.get_session_id())
            # A hand-off cannot be answered with a text, and cannot wait: what is not let through ends the run.
            ruling = await self.governor.adecide(dataclasses.replace(action, kind=ActionKind.AGENT), can_ask=False)
            if not ruling.may_run:
                raise ruling.build_error()
            return self.wrap_agent(await invoke(context, arguments))

        wrapped = dataclasses.replace(handoff, on_invoke_handoff=hand_over)
        # By this reference the SDK finds the agent again when a stored run is resumed.
        target = handoff._agent_ref() if handoff._agent_ref is not None else None
        wrapped._agent_ref = weakref.ref(self.wrap_agent(target)) if target is not None else None
        setattr(wrapped, _GOVERNOR_ATTRIBUTE, self)
        return wrapped


class _CoverageHooks(_agents.RunHooks):  # type: ignore[misc, name-defined]
    """Stops a run at a local tool that was never decided: one of a family that this version does not know."""

    def __init__(self, gate: AgentToolGate, inner: Any) -> None:
        self.gate = gate
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
        if self.gate.find_ruling(call_id) is None and not self.gate.gates_executor(tool):
            name = getattr(tool, "name", "")
            raise BlockedError(f"Blocked by policy (coverage): `{name}` is not governed. Instead: use governed(agent)")
        if self.inner is not None:
            await self.inner.on_tool_start(context, agent, tool)


def _build_agent_class(cls: type, governor: _AgentGovernor) -> type:
    """Return a subclass that governs tools and hand-offs as of each turn: those of MCP servers and later ones too.

    The governor belongs to the class, so that clones of the agent, which the SDK makes for a sandbox, have it as well.
    """
    wrap_tool = governor.gate.wrap_tool

    async def get_all_tools(self: Any, run_context: Any) -> Any:
        # In the agent's own lists as well: the SDK compares tools by identity.
        for tools in (self.tools, getattr(self, "_sandbox_capability_tools", None) or []):
            tools[:] = map(wrap_tool, tools)
        return [wrap_tool(tool) for tool in await cls.get_all_tools(self, run_context)]  # type: ignore[attr-defined]

    def get_handoffs(self: Any) -> list[Any]:
        # At each look, in the agent's own list: the program may add some later.
        handoffs: list[Any] = self.__dict__["handoffs"]
        handoffs[:] = map(governor.wrap_handoff, handoffs)
        return handoffs

    def set_handoffs(self: Any, handoffs: Iterable[Any]) -> None:
        self.__dict__["handoffs"] = list(handoffs)

    members = {
        "get_all_tools": get_all_tools,
        "handoffs": property(get_handoffs, set_handoffs),
        _GOVERNOR_ATTRIBUTE: governor,
        "__module__": cls.__module__,
    }
    return type(cls.__name__, (cls,), members)


def _find_governor(agent: Any) -> _AgentGovernor:
    wrapped = getattr(agent, _GOVERNOR_ATTRIBUTE, None)
    if not isinstance(wrapped, _AgentGovernor):
        raise TypeError("expected an agent from `governed(agent)`")
    return wrapped


def _read_call_id(item: Any) -> str:
    return str(read_field(item.raw_item, "call_id") or read_field(item.raw_item, "id") or "")


def _list_executed(result: Any) -> dict[str, str]:
    """Return the calls of a run that were executed: call id → tool. A call of the provider has a result at once."""
    names: dict[str, str] = {}
    executed: dict[str, str] = {}
    for item in result.new_items:
        raw = getattr(item, "raw_item", None)
        call_id = str(read_field(raw, "call_id") or "")
        if read_field(raw, "type") == "mcp_call":
            executed[str(read_field(raw, "approval_request_id") or read_field(raw, "id"))] = str(
                read_field(raw, "name")
            )
        elif item.type == "tool_call_item" and read_field(raw, "type") == "function_call":
            names[call_id] = str(read_field(raw, "name") or "")
        elif item.type == "tool_call_output_item" and call_id in names:
            executed[call_id] = names[call_id]
    return executed
