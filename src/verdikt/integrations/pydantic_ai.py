"""Pydantic AI: `VerdiktCapability` decides every tool call of an agent.

    agent = Agent(model, tools=[...], capabilities=[VerdiktCapability()], output_type=[str, DeferredToolRequests])

It is the innermost capability, and the tools look for its decision: what counts is the arguments that run. With
`DeferredToolRequests` among the output types an ask ends the run, and `deferred_tool_results` resume it anywhere;
without it, an ask is a block.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.integrations.allowed_calls import AllowedCalls
from verdikt.integrations.permit import Permit, is_inside_call, use_permit
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_outcome import append_context, outcome_from_error, outcome_from_result

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds
    from verdikt.model.action import Action, Outcome

_EXTRA = "pydantic-ai"
_capabilities = import_sdk("pydantic_ai.capabilities", _EXTRA)
_exceptions = import_sdk("pydantic_ai.exceptions", _EXTRA)
_tools = import_sdk("pydantic_ai.tools", _EXTRA)
_toolsets = import_sdk("pydantic_ai.toolsets", _EXTRA)

_CHANNEL = "pydantic_ai.deferred_tool_results"


class VerdiktCapability(_capabilities.AbstractCapability):  # type: ignore[misc, name-defined]
    """Decides every tool call of an agent, records outcomes, and sends an unproven end back to work."""

    def __init__(
        self,
        governance: Governance | None = None,
        *,
        kinds: ToolKinds | None = None,
        attended: bool | None = None,
        by: str = "",
        max_refusals: int = MAX_REFUSALS,
    ) -> None:
        """Govern an agent; `attended` says whether asks can be answered, `by` who answers them in this process.

        By default an ask waits if the agent's own `output_type` has `DeferredToolRequests`. Say `attended=True` if only
        the run has it, or if `HandleDeferredToolCalls` answers in line.
        A refused end costs an output retry: give the agent `retries={"output": n}`, or it ends with an error.
        """
        self.governor = ToolGovernor(governance, kinds, host="pydantic-ai", max_refusals=max_refusals)
        self.attended = attended
        self.by = by
        self._allowed = AllowedCalls(self.governor.kinds)

    def get_ordering(self) -> Any:
        """Return the innermost place: what another capability rewrites is decided after it."""
        return _capabilities.CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Return the tools of a run with a last look at each call."""
        return _GovernedToolset(toolset, self)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a governance is no part of an agent's spec."""
        return None

    async def before_run(self, ctx: Any) -> None:
        """Record the person's request."""
        prompt, session_id = ctx.prompt, _get_session_id(ctx)
        if isinstance(prompt, str) and prompt and not is_inside_call(session_id):
            await self.governor.abegin_turn(prompt, session_id=session_id)

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Record the rejections with which a run was resumed: the SDK enforces them without calling us."""
        for part in _list_parts(ctx.messages[-1:]):
            if getattr(part, "outcome", "") == "denied":
                session_id = _get_session_id(ctx)
                await to_thread(
                    self.governor.note_rejection, part.tool_call_id, session_id=session_id, channel=_CHANNEL
                )
        return request_context

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Return the arguments if the call may run; raise the SDK's refusal or its question otherwise."""
        action = self._build_action(ctx, call.tool_name, args, call.tool_call_id)
        ruling = await self.governor.adecide(action, can_ask=self._can_ask(ctx))
        # A yes to a question of the tool's own is none to ours, which is put then.
        if ruling.needs_answer and ruling.was_asked and ctx.tool_call_approved is True:
            ruling = await self.governor.adecide_answered(action, approved=True, by=self.by, channel=_CHANNEL)
        if ruling.may_run:
            self._allowed.add(ruling)
            return args
        if ruling.needs_answer:
            raise _exceptions.ApprovalRequired(metadata=ruling.question)
        # Not `ModelRetry`, which counts against the tool's retries: the second block would end the run.
        raise _exceptions.ToolFailed(ruling.text)

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        """Record the result of a call that was let through and answered by something else than the tool."""
        ruling = self._allowed.pop(_get_session_id(ctx), call.tool_call_id)
        if ruling is None:
            return result
        context = await self.governor.areport(ruling.action, outcome_from_result(result))
        return append_context(result, ruling.join_notes(context))

    async def on_tool_execute_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Exception) -> Any:
        """Record the failure of such a call, and raise its error as before."""
        ruling = self._allowed.pop(_get_session_id(ctx), call.tool_call_id)
        if ruling is not None:
            await self.governor.areport(ruling.action, outcome_from_error(error))
        raise error

    async def run_checked(self, toolset: Any, name: str, args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Run a call that was let through as it is now, once, and record its outcome; decide it here if it was not.

        In older versions another capability can change the arguments after the decision, and a toolset can call tools
        by itself. There is no question here: an ask is a block.
        """
        session_id, call_id = _get_session_id(ctx), ctx.tool_call_id
        ruling = self._allowed.use(session_id, call_id, name, args)
        decided = self._allowed.get(session_id, call_id)
        if decided is not None and decided.action.tool == name:
            self._allowed.pop(session_id, call_id)  # not for a tool that the decided one calls: that has the same id
        if ruling is None:
            ruling = await self.governor.adecide(self._build_action(ctx, name, args, call_id), can_ask=False)
        if not ruling.may_run:
            raise _exceptions.ToolFailed(ruling.text)
        with (
            self.governor.report_errors(ruling.action, unless=(_exceptions.ApprovalRequired, _exceptions.CallDeferred)),
            use_permit(Permit(name, args, ruling)),
        ):
            result = await toolset.call_tool(name, args, ctx, tool)
        context = await self.governor.areport(ruling.action, outcome_from_result(result))
        return append_context(result, ruling.join_notes(context))

    async def before_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        """Return the output if the function that takes it may run; send the model back otherwise.

        An output function is a tool whose call ends the run, and whose calls no tool hook sees. It has no place for a
        question: an ask is a block.
        """
        if not output_context.has_function:
            return output
        arguments = output if isinstance(output, Mapping) else {"input": output}
        action = self._build_action(
            ctx, _get_output_tool(output_context), arguments, _get_output_call_id(ctx, output_context)
        )
        ruling = await self.governor.adecide(action, can_ask=False)
        if not ruling.may_run:
            raise _exceptions.ModelRetry(ruling.text)
        self._allowed.add(ruling)
        return output

    async def on_output_process_error(self, ctx: Any, *, output_context: Any, output: Any, error: Exception) -> Any:
        """Record the failure of an output function, and raise its error as before."""
        await self._report_output(ctx, output_context, outcome_from_error(error))
        raise error

    async def after_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        """Return the output, or send the agent back to work when its end is not proven."""
        await self._report_output(ctx, output_context, outcome_from_result(output))
        if ctx.partial_output or not isinstance(output, str) or is_inside_call(_get_session_id(ctx)):
            return output
        reason = await self.governor.arefuse_stop(
            output, session_id=_get_session_id(ctx), executed=_list_executed(ctx.messages)
        )
        if reason:
            raise _exceptions.ModelRetry(reason)
        return output

    def record_answers(self, results: Any, *, session_id: str, by: str = "") -> None:
        """Record who gave the answers in `DeferredToolResults`, before a run is resumed with them.

        The run records answers by itself, but cannot know whose they are. `session_id` is the conversation's id.
        Answers to questions of the tools' own are left out.
        """
        for call_id, answer in results.approvals.items():
            approved = answer is True or isinstance(answer, _tools.ToolApproved)
            self.governor.record_given_answer(session_id, call_id, approved=approved, by=by, channel=_CHANNEL)

    async def _report_output(self, ctx: Any, output_context: Any, outcome: Outcome) -> None:
        """Record what came of an output function, if one has run."""
        if not output_context.has_function:
            return
        call_id = _get_output_call_id(ctx, output_context)
        ruling = self._allowed.pop(_get_session_id(ctx), call_id)
        if ruling is not None:
            await self.governor.areport(ruling.action, outcome)

    def _build_action(self, ctx: Any, tool: str, args: Any, call_id: str | None) -> Action:
        return self.governor.build_action(tool, args, call_id=call_id or "", session_id=_get_session_id(ctx))

    def _can_ask(self, ctx: Any) -> bool:
        if self.attended is not None:
            return self.attended is True
        output_type = getattr(ctx.agent, "output_type", None)
        return any(item is _tools.DeferredToolRequests for item in _flatten(output_type))


@dataclass
class _GovernedToolset(_toolsets.WrapperToolset):  # type: ignore[misc, name-defined]
    """The tools of a run, which run only what was decided."""

    capability: VerdiktCapability

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Call a tool."""
        return await self.capability.run_checked(self.wrapped, name, tool_args, ctx, tool)


def _get_session_id(ctx: Any) -> str:
    return str(ctx.conversation_id or ctx.run_id or "default")


def _get_output_tool(output_context: Any) -> str:
    """Return the name of an output function in policy and log; that of several, of which one is chosen by its type."""
    return str(output_context.function_name or getattr(output_context.tool_call, "tool_name", "") or "output")


def _get_output_call_id(ctx: Any, output_context: Any) -> str:
    # A text has no call; it is the end of its run.
    return str(getattr(output_context.tool_call, "tool_call_id", "") or f"output-{ctx.run_id}")


def _flatten(output_type: Any) -> Iterator[Any]:
    """Yield the types in an `output_type`: one, a sequence of them, or a union."""
    items = output_type if isinstance(output_type, list | tuple) else getattr(output_type, "__args__", None)
    if items is None:
        yield output_type
    else:
        for item in items:
            yield from _flatten(item)


def _list_parts(messages: Iterable[Any]) -> Iterator[Any]:
    for message in messages:
        yield from message.parts


def _list_executed(messages: list[Any]) -> dict[str, str]:
    """Return the calls since the last request of a person that returned something: call id → tool."""
    executed: dict[str, str] = {}
    for part in _list_parts(messages):
        if part.part_kind == "user-prompt":
            executed.clear()
        elif part.part_kind == "tool-return" and part.outcome == "success":
            executed[part.tool_call_id] = part.tool_name
    return executed
