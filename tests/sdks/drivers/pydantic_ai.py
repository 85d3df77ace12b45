"""Plays scenarios on Pydantic AI."""

import json
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, TextOutput, Tool, ToolApproved, ToolDenied
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from tests.sdks.drivers.protocol import Observation, Scenario, Step, serve
from verdikt.integrations.pydantic_ai import VerdiktCapability


class Rewriter(AbstractCapability):  # type: ignore[type-arg]
    """Another extension, which changes the command; it is listed after ours."""

    def __init__(self, command: str) -> None:
        self.command = command

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Change the command."""
        return {"command": self.command}


class WrappingRewriter(Rewriter):
    """Another extension, which changes the command around the call; in some versions that is after every decision."""

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Change nothing."""
        return args

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Change the command."""
        return await handler({"command": self.command})


class CodeTools(WrapperToolset):  # type: ignore[type-arg]
    """Tools that call each other by themselves, as those of a code mode do: `mystery` calls `sh`."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Call another tool than the model did."""
        if name != "mystery":
            return await super().call_tool(name, tool_args, ctx, tool)
        tools = await self.wrapped.get_tools(ctx)
        return await self.wrapped.call_tool("sh", {"command": tool_args["text"]}, ctx, tools["sh"])


class CodeMode(AbstractCapability):  # type: ignore[type-arg]
    """A capability with such tools."""

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Return the tools."""
        return CodeTools(toolset)


class RawFunction(AbstractCapability):  # type: ignore[type-arg]
    """An outer extension that calls the function itself, past everything inside it."""

    def __init__(self, function: Any) -> None:
        self.function = function

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Call the function."""
        return self.function(**args)


class Twice(AbstractCapability):  # type: ignore[type-arg]
    """An extension that runs each call twice."""

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Run the call twice."""
        await handler(args)
        return await handler(args)


class RemoteTools(WrapperToolset):  # type: ignore[type-arg]
    """Tools that an MCP server would list: a toolset instead of functions of the agent."""


def answer_all(answer: Any) -> Any:
    """Return a handler that answers every question in line."""

    async def handle(ctx: Any, requests: Any) -> DeferredToolResults:
        return DeferredToolResults(approvals={call.tool_call_id: answer for call in requests.approvals})

    return handle


HANDLED = {"inline handler": answer_all(True), "rejecting handler": answer_all(ToolDenied("no way"))}
"""Setup → a handler that answers for the person."""


def build_delegate(scenario: Scenario, model: Any, capability: Any, inner: Any) -> Any:
    """Return a tool that lets another agent run a command; the agent has the capability too."""
    agent: Any = Agent(model, tools=[inner], capabilities=[capability])

    async def sh(command: str) -> str:
        """Let another agent run a command."""
        result = await agent.run(command, conversation_id=scenario.session)
        return str(result.output)

    return sh


def build_agent(scenario: Scenario, observation: Observation) -> Any:
    """Return the agent of a scenario."""

    def take_step(messages: list[Any]) -> Step:
        for message in messages:
            for part in message.parts:
                if isinstance(part, UserPromptPart) or part.part_kind == "retry-prompt":
                    observation.texts.append(str(part.content))
        step = scenario.steps[observation.turns]
        observation.turns += 1
        return step

    async def respond(messages: list[Any], info: AgentInfo) -> ModelResponse:
        step = take_step(messages)
        if not step.calls:
            return ModelResponse(parts=[TextPart(step.text)])
        return ModelResponse(parts=[ToolCallPart(name, args, tool_call_id=id) for id, name, args in step.calls])

    async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        step = take_step(messages)
        if not step.calls:
            yield step.text
            return
        for index, (id, name, args) in enumerate(step.calls):
            yield {index: DeltaToolCall(name=name, json_args=json.dumps(args), tool_call_id=id)}

    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    kinds = scenario.kinds | ({"mystery": "agent"} if scenario.setup == "code mode" else {})
    capability = VerdiktCapability(scenario.open_governance(), kinds=kinds, max_refusals=2)
    if scenario.setup in HANDLED:
        capability.attended = True
    others: list[Any] = [Rewriter(scenario.rewrite)] if scenario.rewrite else []
    others += [HandleDeferredToolCalls(HANDLED[scenario.setup])] if scenario.setup in HANDLED else []
    if scenario.setup == "wrapping rewriter":
        others = [WrappingRewriter("drop everything")]
    others += [CodeMode()] if scenario.setup == "code mode" else []
    others += [RawFunction(sh)] if scenario.setup == "raw function" else []
    others += [Twice()] if scenario.setup == "twice" else []
    options: dict[str, Any] = {"tools": [sh, mystery]}
    output_types: list[Any] = [str]
    if scenario.setup == "own question":
        options = {"tools": [Tool(sh, requires_approval=True)]}
    if scenario.setup == "output function":
        output_types.append(sh)
    if scenario.setup == "text function":
        output_types = [TextOutput(sh)]
    if scenario.setup == "subagent":
        options = {"tools": [build_delegate(scenario, FunctionModel(respond), capability, sh)]}
    if scenario.setup == "mcp":
        options = {"toolsets": [RemoteTools(FunctionToolset([sh]))]}
    agent: Any = Agent(
        FunctionModel(respond, stream_function=stream),
        capabilities=[capability, *others],
        output_type=[*output_types, DeferredToolRequests] if scenario.attended else output_types,
        retries={"output": 3},
        **options,
    )
    agent.verdikt = capability
    return agent


def build_results(scenario: Scenario, agent: Any) -> DeferredToolResults:
    """Return the answers of a person."""
    words: dict[Any, Any] = {True: True, False: ToolDenied("no way")}
    answers = {
        call_id: words[answer] if isinstance(answer, bool) else ToolApproved(override_args=answer)
        for call_id, answer in (scenario.answers or {}).items()
    }
    results = DeferredToolResults(approvals=answers)
    if scenario.mode == "async":
        # As a web application does it, which knows who answered; otherwise the run records the answer by itself.
        agent.verdikt.record_answers(results, session_id=scenario.session, by="ann")
    return results


def build_arguments(scenario: Scenario, agent: Any) -> dict[str, Any]:
    """Return the arguments of a run."""
    if scenario.answers is None:
        return {"user_prompt": scenario.prompt, "conversation_id": scenario.session}
    history = ModelMessagesTypeAdapter.validate_json(scenario.state)
    results = build_results(scenario, agent)
    return {"message_history": history, "deferred_tool_results": results, "conversation_id": scenario.session}


def play(scenario: Scenario, observation: Observation) -> Any:
    """Run or resume the agent."""
    agent = build_agent(scenario, observation)
    if scenario.mode == "sync":
        return record(observation, agent.run_sync(**build_arguments(scenario, agent)))
    return play_async(scenario, observation, agent)


async def play_async(scenario: Scenario, observation: Observation, agent: Any) -> None:
    """Run or resume the agent in an event loop."""
    arguments = build_arguments(scenario, agent)
    if scenario.mode == "async":
        record(observation, await agent.run(**arguments))
        return
    async with agent.run_stream_events(**arguments) as events:
        async for event in events:
            if event.event_kind == "agent_run_result":
                record(observation, event.result)


def record(observation: Observation, result: Any) -> None:
    """Take over what a run left behind."""
    if isinstance(result.output, DeferredToolRequests):
        observation.pending = [call.tool_call_id for call in result.output.approvals]
        observation.state = result.all_messages_json().decode()
    else:
        observation.final = str(result.output)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                observation.seen[part.tool_call_id] = part.model_response_str()


if __name__ == "__main__":
    serve(play, version("pydantic-ai-slim"))
