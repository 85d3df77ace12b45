"""Tools of LangChain that decide an execution by themselves when the middleware did not.

A middleware outside of ours can call the tool instead of its handler, and one inside of ours can change the arguments.
So the middleware leaves a permit for the call that it decided; a tool that finds none for what it does decides.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from verdikt.integrations.permit import Permit, is_permit_spent, take_permit, use_permit
from verdikt.integrations.ruling import Ruling, close_approval
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.integrations.tool_outcome import outcome_from_result

if TYPE_CHECKING:
    from verdikt.model.action import Action

_EXTRA = "langchain"
_messages = import_sdk("langchain_core.messages", _EXTRA)
_tools = import_sdk("langchain_core.tools", _EXTRA)

FindSession = Callable[[], str]
"""Returns the session of the current run."""

_GATES: WeakKeyDictionary[type, ReferenceType[ToolGate]] = WeakKeyDictionary()
"""Gated class → the gate that decides for it, as long as its agent exists."""


def permit_call(call: Any, ruling: Ruling) -> AbstractContextManager[None]:
    """Let a tool execute a decided call in this block."""
    return use_permit(Permit(str(call.get("name", "")), call.get("args"), ruling, call_id=str(call.get("id") or "")))


class ToolGate:
    """Makes the tools of an agent decide what was not decided; ends with the middleware that holds it."""

    def __init__(self, governor: ToolGovernor, find_session: FindSession) -> None:
        self.governor = governor
        self.find_session = find_session
        self._classes: dict[type, type] = {}

    def close_tools(self, tools: Any) -> None:
        """Gate tools in place: the graph holds these very objects. What is no tool of this process is left alone."""
        for tool in tools:
            if not isinstance(tool, _tools.BaseTool):
                continue
            cls = type(tool)
            find_gate = _GATES.get(cls)
            if find_gate is None:
                tool.__class__ = self._get_gated_class(cls)
            elif find_gate() is None:
                tool.__class__ = self._get_gated_class(cls.__bases__[0])  # the agent that had gated it is gone

    def build_action(self, tool: Any, tool_input: Any, call_id: str) -> Action:
        """Return an execution as an action."""
        arguments = _drop_injected(tool, tool_input)
        return self.governor.build_action(tool.name, arguments, call_id=call_id, session_id=self.find_session())

    def _get_gated_class(self, cls: type) -> type:
        if cls not in self._classes:
            self._classes[cls] = _build_gated_class(cls, self)
        return self._classes[cls]


def _build_gated_class(cls: Any, gate: ToolGate) -> type:
    """Return a subclass whose executions are decided; `invoke` and `ainvoke` go through these two methods."""
    # Weak: a tool outlives its agent, and without the agent there is no policy to ask.
    find_gate = ref(gate)

    def run(self: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        current = find_gate()
        if current is None or _has_permit(self, tool_input, tool_call_id):
            return cls.run(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        action = current.build_action(self, tool_input, tool_call_id or "")
        ruling = _close_second_run(self, tool_input, current.governor.decide(action, can_ask=False))
        if not ruling.may_run:
            return _refuse(self, ruling, tool_call_id)
        with current.governor.report_errors(ruling.action):
            result = cls.run(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        current.governor.report(ruling.action, outcome_from_result(result))
        return result

    async def arun(self: Any, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        current = find_gate()
        if current is None or _has_permit(self, tool_input, tool_call_id):
            return await cls.arun(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        action = current.build_action(self, tool_input, tool_call_id or "")
        ruling = _close_second_run(self, tool_input, await current.governor.adecide(action, can_ask=False))
        if not ruling.may_run:
            return _refuse(self, ruling, tool_call_id)
        with current.governor.report_errors(ruling.action):
            result = await cls.arun(self, tool_input, *args, tool_call_id=tool_call_id, **kwargs)
        await current.governor.areport(ruling.action, outcome_from_result(result))
        return result

    gated: type = type(cls)(cls.__name__, (cls,), {"run": run, "arun": arun, "__module__": cls.__module__})
    _GATES[gated] = find_gate
    return gated


def _has_permit(tool: Any, tool_input: Any, call_id: str | None) -> bool:
    return take_permit(tool.name, _drop_injected(tool, tool_input), call_id=call_id or "") is not None


def _close_second_run(tool: Any, tool_input: Any, ruling: Ruling) -> Ruling:
    """Return the ruling, as a block when a person's yes has been used by the run before this one.

    The log cannot tell: an extension around the tool has both runs before the outcome of the call is recorded.
    """
    is_spent = is_permit_spent(tool.name, _drop_injected(tool, tool_input), call_id=ruling.action.call_id)
    return close_approval(ruling) if is_spent else ruling


def _drop_injected(tool: Any, tool_input: Any) -> Any:
    """Return the arguments that the model gave: the graph adds its state, its store and the like right before."""
    # A private method of LangChain's; without it everything counts as given, and such a call is decided a second time.
    drop = getattr(tool, "_filter_injected_args", None)
    return drop(tool_input) if drop is not None and isinstance(tool_input, dict) else tool_input


def _refuse(tool: Any, ruling: Ruling, call_id: str | None) -> Any:
    if not call_id:
        raise _tools.ToolException(ruling.text)  # called by code, which expects a plain result
    return _messages.ToolMessage(ruling.text, name=tool.name, tool_call_id=call_id, status="error")
