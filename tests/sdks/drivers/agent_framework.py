"""Plays scenarios on the Microsoft Agent Framework."""

import json
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionMiddleware,
    MCPStdioTool,
    Message,
    ResponseStream,
    tool,
)

from tests.sdks.drivers.protocol import Observation, Scenario, Step, serve
from verdikt.integrations.agent_framework import VerdiktMiddleware


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[type-arg]
    """Says the next step of a scenario, with the layers of a real client around it."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        super().__init__()
        self.scenario = scenario
        self.observation = observation

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        for message in messages:
            for content in message.contents:
                if content.type == "function_result":
                    self.observation.seen[content.call_id] = str(content.result)
            if message.role == "user":
                self.observation.texts.append(message.text)
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        return self._stream(step) if stream else self._respond(step)

    async def _respond(self, step: Step) -> ChatResponse:
        return ChatResponse(messages=[Message(role="assistant", contents=build_contents(step))])

    def _stream(self, step: Step) -> Any:
        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            for content in build_contents(step):
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def build_contents(step: Step) -> list[Any]:
    """Return a step as contents of a message."""
    calls = [Content.from_function_call(call_id=id, name=name, arguments=args) for id, name, args in step.calls]
    return calls or [Content.from_text(step.text)]


class Rewriter(FunctionMiddleware):
    """Another extension, which changes the command."""

    def __init__(self, command: str) -> None:
        self.command = command

    async def process(self, context: Any, call_next: Any) -> None:
        """Change the command."""
        context.arguments = {"command": self.command}
        await call_next()


class Retry(FunctionMiddleware):
    """An extension that makes each call twice."""

    async def process(self, context: Any, call_next: Any) -> None:
        """Make the call twice."""
        await call_next()
        await call_next()


class RawFunction(FunctionMiddleware):
    """An outer extension that calls the function itself, past everything inside it."""

    async def process(self, context: Any, call_next: Any) -> None:
        """Call the function."""
        context.result = context.function.func(**context.arguments)


def build_agent(scenario: Scenario, observation: Observation) -> Any:
    """Return the agent of a scenario."""

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    @tool
    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    client = ScriptedClient(scenario, observation)
    middleware = VerdiktMiddleware(
        scenario.open_governance(), kinds=scenario.kinds, session_id=scenario.session, by="ann", max_refusals=2
    )
    tools: list[Any] = [sh, mystery]
    if scenario.setup == "own question":
        tools = [tool(sh.func, approval_mode="always_require")]
    if scenario.setup == "subagent":
        # The framework does not pass middleware on, so the inner agent has it too.
        inner = Agent(client=client, name="inner", tools=[sh], middleware=[middleware])
        tools = [inner.as_tool(name="sh", arg_name="command")]
    if scenario.setup == "mcp":
        tools = [MCPStdioTool("remote", **scenario.mcp_server)]
    outer: list[Any] = [Rewriter(scenario.rewrite)] if scenario.rewrite else []
    outer += [Retry()] if scenario.setup == "retry" else []
    outer += [RawFunction()] if scenario.setup == "raw function" else []
    inside: list[Any] = [Rewriter("drop everything")] if scenario.setup == "inner rewriter" else []
    inside += [Retry()] if scenario.setup == "twice" else []
    agent = Agent(client=client, name="ops", tools=tools, middleware=[*outer, middleware, *inside])
    return agent, middleware


async def play(scenario: Scenario, observation: Observation) -> None:
    """Run or resume the agent."""
    agent, middleware = build_agent(scenario, observation)
    session = AgentSession(session_id=scenario.session) if scenario.attended else None
    value: Any = scenario.prompt
    if scenario.answers is not None:
        state = json.loads(scenario.state)
        session = AgentSession.from_dict(state["session"])
        requests = [Content.from_dict(request) for request in state["requests"]]
        responses = [
            request.to_function_approval_response(approved=scenario.answers[request.function_call.call_id])
            for request in requests
        ]
        if scenario.mode == "async":
            # As a web application does it, which knows who answered; otherwise the run records the answer by itself.
            middleware.record_answers(responses, session_id=scenario.session, by="ann")
        value = Message(role="user", contents=responses)
    if scenario.mode == "stream":
        stream = agent.run(value, session=session, stream=True)
        async for _ in stream:
            pass
        result = await stream.get_final_response()
    else:
        result = await agent.run(value, session=session)
    for server in agent.mcp_tools:
        await server.close()
    record(observation, result, session)


def record(observation: Observation, result: Any, session: Any) -> None:
    """Take over what a run left behind."""
    requests = result.user_input_requests
    observation.pending = [request.function_call.call_id for request in requests]
    observation.final = result.messages[-1].text if result.messages else ""
    for message in result.messages:
        for content in message.contents:
            if content.type == "function_result":
                observation.seen[content.call_id] = str(content.result)
    if requests:
        stored = {"session": session.to_dict(), "requests": [request.to_dict() for request in requests]}
        observation.state = json.dumps(stored)


if __name__ == "__main__":
    serve(play, version("agent-framework-core"))
