"""Strands: `VerdiktHandler` decides every tool call of an agent, direct calls (`agent.tool.x()`) included.

    agent = Agent(model=model, tools=[...], interventions=[..., VerdiktHandler()])

List it last. An ask is an interrupt of the SDK: the run ends with `stop_reason == "interrupt"`, and a response resumes
it, in another process if the agent has a session manager.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from verdikt.integrations.allowed_calls import AllowedCalls
from verdikt.integrations.ruling import Ruling, close_question
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.model.action import Outcome

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds
    from verdikt.model.action import Action

_EXTRA = "strands"
_interventions = import_sdk("strands.interventions", _EXTRA)
_hooks = import_sdk("strands.hooks", _EXTRA)
_middleware = import_sdk("strands.middleware", _EXTRA)

_CHANNEL = "strands.interrupt"
_YES = frozenset({"y", "yes"})
"""The texts that the SDK itself takes for an approval."""

# Set by the agent's loop. A direct call has none, and no place to wait for a person.
_LOOP_KEY = "event_loop_cycle_id"

# An agent used as a tool has a session of its own; its calls belong to the session around it.
_OUTER_RUN: ContextVar[tuple[object, str]] = ContextVar("verdikt_strands_outer_run", default=(None, ""))


class VerdiktHandler(_interventions.InterventionHandler):  # type: ignore[misc, name-defined]
    """Decides every tool call of an agent, records outcomes, and sends an unproven end back to work."""

    name = "verdikt"
    on_error = "deny"

    def __init__(
        self,
        governance: Governance | None = None,
        *,
        kinds: ToolKinds | None = None,
        attended: bool = True,
        session_id: str = "",
        max_refusals: int = MAX_REFUSALS,
    ) -> None:
        """Govern an agent; with `attended=False` an ask is a block.

        Use that where no program answers interrupts. The session in the log is `session_id`, or else the agent's.
        """
        self.governor = ToolGovernor(governance, kinds, host="strands", max_refusals=max_refusals)
        self.attended = attended
        self.session_id = session_id
        self._allowed = AllowedCalls(self.governor.kinds)
        self._attached: WeakSet[Any] = WeakSet()
        self._sent_back: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    async def before_invocation(self, event: Any, **kwargs: Any) -> Any:
        """Record the person's request; what we sent the agent back to work with is none."""
        self._attach(event.agent)
        text = _read_text((event.messages or [{}])[-1], "user")
        is_own = self._sent_back.pop(event.agent, None) == text
        if text and not is_own and not self._is_nested(event.agent):
            await self.governor.abegin_turn(text, session_id=self._get_session_id(event.agent))
        return _interventions.Proceed()

    async def before_tool_call(self, event: Any, **kwargs: Any) -> Any:
        """Return the SDK's permission or its refusal; raise its interrupt when a person has to answer."""
        self._attach(event.agent)
        if _is_output(event.selected_tool):
            return _interventions.Proceed()
        action = self._build_action(event.agent, event.tool_use["name"], event.tool_use)
        can_ask = self.attended is True and _LOOP_KEY in event.invocation_state
        ruling = await self.governor.adecide(action, can_ask=can_ask)
        if ruling.needs_answer:
            # Not `Confirm`, which the SDK evaluates by itself: the answer would be in no log.
            answer = _parse_answer(event.interrupt(self.name, reason=ruling.question))
            if ruling.was_asked:
                ruling = await self.governor.adecide_answered(action, **answer)
            else:
                # The question has just been put, so this answer was to the one before: a hook makes the call again.
                ruling = close_question(ruling)
        if not ruling.may_run:
            return _interventions.Deny(reason=ruling.text)
        self._allowed.add(ruling)
        return _interventions.Proceed()

    async def after_tool_call(self, event: Any, **kwargs: Any) -> Any:
        """Forget the decision: a call that another hook cancelled has not used it."""
        self._allowed.pop(self._get_session_id(event.agent), event.tool_use.get("toolUseId"))
        return _interventions.Proceed()

    async def run_checked(self, context: Any, next_function: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """Run a call that was let through as it is now, once, and record its outcome; decide it here if it was not.

        A middleware of the SDK, right before the tool: others around it may change the arguments, or run the call
        again. There is no question here: an ask is a block.
        """
        use = context.tool_use
        tool = context.tool.tool_name if context.tool is not None else use["name"]
        session_id = self._get_session_id(context.agent)
        ruling = self._allowed.use(session_id, use.get("toolUseId"), tool, use.get("input"))
        if ruling is None and not _is_output(context.tool):
            ruling = await self.governor.adecide(self._build_action(context.agent, tool, use), can_ask=False)
            if not ruling.may_run:
                yield _middleware.ToolResultEvent(_build_refusal(ruling.action, ruling.text))
                return
        outer = _OUTER_RUN.get()
        _OUTER_RUN.set((self, session_id))
        try:
            async for event in next_function(context):
                if ruling is not None and isinstance(event, _middleware.ToolResultEvent):
                    # Here and not after the call: a yes is good for one run, and ends with the record of it.
                    event = await self._record_result(ruling, event)  # noqa: PLW2901
                yield event
        except CancelledError:
            if ruling is not None:
                self.governor.report(ruling.action, Outcome(success=False, error="CancelledError"))
            raise
        finally:
            _OUTER_RUN.set(outer)

    async def _record_result(self, ruling: Ruling, event: Any) -> Any:
        """Record a result, and return it with what the policy has to say about it."""
        context = await self.governor.areport(ruling.action, _read_outcome(event))
        text = ruling.join_notes(context)
        if not text:
            return event
        result = {**event.tool_result, "content": [*(event.tool_result.get("content") or ()), {"text": text}]}
        return _middleware.ToolResultEvent(result, exception=event.exception)

    async def refuse_end(self, event: Any) -> None:
        """Send the agent back to work when its end is not proven; a hook of the SDK."""
        agent, result = event.agent, event.result
        is_end = result is not None and result.stop_reason == "end_turn" and event.resume is None
        if not is_end or self._is_nested(agent):
            return
        reason = await self.governor.arefuse_stop(
            _read_text(result.message, "assistant"),
            session_id=self._get_session_id(agent),
            executed=_list_executed(agent.messages),
        )
        if reason:
            self._sent_back[agent] = reason
            event.resume = reason

    def _attach(self, agent: Any) -> None:
        """Add to an agent what an intervention handler has no place for: the last check before a tool, and the end."""
        middleware = _list_middleware(agent)
        if agent not in self._attached:
            agent.add_hook(self.refuse_end, _hooks.AfterInvocationEvent)
            self._attached.add(agent)
        elif not middleware or middleware[-1].handler == self.run_checked:
            return
        # Last again: a middleware that was added meanwhile would act between the check and the tool.
        middleware[:] = [entry for entry in middleware if entry.handler != self.run_checked]
        agent.add_middleware(_middleware.ExecuteToolStage, self.run_checked)

    def _build_action(self, agent: Any, tool: str, tool_use: Mapping[str, Any]) -> Action:
        return self.governor.build_action(
            tool,
            tool_use.get("input"),
            call_id=tool_use.get("toolUseId") or "",
            session_id=self._get_session_id(agent),
            agent=getattr(agent, "name", "") or "",
        )

    def _is_nested(self, agent: Any) -> bool:
        """Return whether an agent runs as a tool of another one that we govern."""
        handler, session_id = _OUTER_RUN.get()
        return handler is self and session_id != self._get_own_session_id(agent)

    def _get_session_id(self, agent: Any) -> str:
        return _OUTER_RUN.get()[1] if self._is_nested(agent) else self._get_own_session_id(agent)

    def _get_own_session_id(self, agent: Any) -> str:
        return self.session_id or str(getattr(agent, "session_id", "") or "default")


def _list_middleware(agent: Any) -> list[Any]:
    """Return the middleware around the tools of an agent, the innermost last; empty where there is none."""
    # Private names of Strands, which has no order for middleware; a test fails when they go.
    registry = getattr(agent, "_middleware_registry", None)
    entries: list[Any] = getattr(registry, "_handlers", {}).get(_middleware.ExecuteToolStage, [])
    return entries


def _is_output(tool: Any) -> bool:
    """Return whether a tool is how a model returns structured output: nothing runs."""
    return type(tool).__name__ == "StructuredOutputTool" and type(tool).__module__.startswith("strands.")


def _parse_answer(response: object) -> dict[str, Any]:
    """Return what a person answered: True, `y`, `yes`, or a mapping with `approved` and `by`; all else is a no."""
    fields: Mapping[str, Any] = response if isinstance(response, Mapping) else {"approved": response}
    answer = fields.get("approved")
    is_yes = answer is True or (isinstance(answer, str) and answer.strip().lower() in _YES)
    return {"approved": is_yes, "by": str(fields.get("by") or ""), "channel": str(fields.get("channel") or _CHANNEL)}


def _build_refusal(action: Action, text: str) -> dict[str, Any]:
    return {"toolUseId": action.call_id, "status": "error", "content": [{"text": f"DENIED: {text}"}]}


def _read_outcome(event: Any) -> Outcome:
    result, error = event.tool_result, event.exception
    texts = [str(block.get("text", block)) for block in result.get("content") or ()]
    return Outcome(
        success=result.get("status") != "error" and error is None,
        output="\n".join(texts),
        error=f"{type(error).__name__}: {error}" if error is not None else "",
    )


def _read_text(message: Mapping[str, Any], role: str) -> str:
    if message.get("role") != role:
        return ""
    return "\n".join(str(block["text"]) for block in message.get("content") or () if "text" in block)


def _list_executed(messages: list[Any]) -> dict[str, str]:
    """Return the calls since the last text of a person that have a result: call id → tool."""
    names: dict[str, str] = {}
    executed: dict[str, str] = {}
    for message in messages:
        if _read_text(message, "user"):
            executed.clear()
        for block in message.get("content") or ():
            if "toolUse" in block:
                names[block["toolUse"]["toolUseId"]] = block["toolUse"]["name"]
            elif "toolResult" in block and block["toolResult"].get("status") != "error":
                call_id = block["toolResult"]["toolUseId"]
                executed[call_id] = names.get(call_id, "")
    return executed
