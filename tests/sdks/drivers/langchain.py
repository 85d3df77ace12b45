"""Plays scenarios on LangChain agents, and on a plain LangGraph tool node."""

import gc
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime, create_react_agent, tools_condition
from langgraph.types import Command, interrupt

from tests.sdks.drivers.protocol import Observation, Scenario, serve
from verdikt.integrations.langchain import VerdiktMiddleware, governed_tool_node


class ScriptedModel(BaseChatModel):
    """Says the next step of a scenario."""

    scenario: Any
    observation: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        """Ignore the tools: the script knows them."""
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        self.observation.texts.extend(m.text for m in messages if m.type == "human")
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        calls = [{"id": id, "name": name, "args": args} for id, name, args in step.calls]
        message = AIMessage(content=step.text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Rewriter(AgentMiddleware):
    """Another extension, which changes the command."""

    def __init__(self, command: str) -> None:
        super().__init__()
        self.command = command

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Change the command."""
        return handler(request.override(tool_call={**request.tool_call, "args": {"command": self.command}}))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Change the command."""
        return await handler(request.override(tool_call={**request.tool_call, "args": {"command": self.command}}))


class Bypass(AgentMiddleware):
    """An outer extension that calls the tool itself, past everything inside it."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the tool."""
        return request.tool.invoke({**request.tool_call, "type": "tool_call"})

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the tool."""
        return await request.tool.ainvoke({**request.tool_call, "type": "tool_call"})


class RawFunction(AgentMiddleware):
    """An outer extension that takes the function out of the tool and calls it."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the function."""
        text = request.tool.func(**request.tool_call["args"])
        return ToolMessage(text, tool_call_id=request.tool_call["id"], name=request.tool_call["name"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the function."""
        return self.wrap_tool_call(request, handler)


class Retry(AgentMiddleware):
    """An outer extension that tries each call three times."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the tool three times."""
        return [handler(request) for _ in range(3)][-1]


class Twice(AgentMiddleware):
    """An extension that runs each call twice."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the call twice."""
        handler(request)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the call twice."""
        await handler(request)
        return await handler(request)


def build_tools(scenario: Scenario) -> list[Any]:
    """Return the tools of a scenario."""

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    @tool("sh")
    def ask_colour(command: str) -> str:
        """Run a command in a colour that the tool asks for itself."""
        return scenario.run_command(f"{command} {interrupt({'tool_call_id': 'own'})}")

    @tool
    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    if scenario.setup == "mcp":
        return [build_remote_tool(scenario)]
    return [ask_colour if scenario.setup == "asking tool" else sh, mystery]


def build_remote_tool(scenario: Scenario) -> Any:
    """Return a tool as `langchain-mcp-adapters` makes it: a JSON schema, a runtime that is injected.

    Those are async only, and LangChain refuses to invoke them otherwise; for the other modes there is a plain function.
    """

    def call_tool(runtime: ToolRuntime, **arguments: Any) -> tuple[str, Any]:
        return scenario.run_command(arguments["command"]), None

    async def call_tool_async(runtime: ToolRuntime, **arguments: Any) -> tuple[str, Any]:
        return call_tool(runtime, **arguments)

    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    return StructuredTool(
        name="sh",
        description="Run a command.",
        args_schema=schema,
        func=None if scenario.mode == "async" else call_tool,
        coroutine=call_tool_async,
        response_format="content_and_artifact",
    )


def build_agent(scenario: Scenario, observation: Observation, checkpointer: Any) -> Any:
    """Return the agent of a scenario."""
    governance = scenario.open_governance()
    model = ScriptedModel(scenario=scenario, observation=observation)
    tools = build_tools(scenario)
    if scenario.setup == "tool node":
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", governed_tool_node(tools, governance, kinds=scenario.kinds))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(checkpointer=checkpointer)
    if scenario.setup == "prebuilt agent":
        node = governed_tool_node(tools, governance, kinds=scenario.kinds)
        return create_react_agent(model, node, checkpointer=checkpointer)
    if scenario.setup == "tool of a past agent":
        VerdiktMiddleware(governance, kinds=scenario.kinds).gate.close_tools(tools)
        gc.collect()  # of that agent nothing is left but the class of its tools
    outer = {
        "bypass": [Bypass()],
        "tool of a past agent": [Bypass()],
        "raw function": [RawFunction()],
        "retry": [Retry()],
    }.get(scenario.setup, [])
    outer += [Rewriter(scenario.rewrite)] if scenario.rewrite else []
    middleware = VerdiktMiddleware(governance, kinds=scenario.kinds, max_refusals=2)
    if scenario.setup == "subagent":
        tools = [build_subagent(scenario, model, middleware, tools[0])]
    inner = [Rewriter("drop everything")] if scenario.setup == "inner rewriter" else []
    inner += [Twice()] if scenario.setup == "twice" else []
    return create_agent(model, tools, middleware=[*outer, middleware, *inner], checkpointer=checkpointer)


def build_subagent(scenario: Scenario, model: Any, middleware: Any, inner: Any) -> Any:
    """Return an agent as a tool; it has the middleware too, because LangChain does not pass it on."""
    agent = create_agent(model, [inner], middleware=[middleware])

    @tool
    def sh(command: str) -> str:
        """Let another agent run a command."""
        result = agent.invoke({"messages": [("user", command)]})
        return str(result["messages"][-1].text)

    return sh


@contextmanager
def open_saver(scenario: Scenario) -> Any:
    """Open the checkpoints of the scene."""
    if not scenario.attended:
        yield None
        return
    with SqliteSaver.from_conn_string(str(scenario.place / "checkpoints.db")) as saver:
        yield saver


@asynccontextmanager
async def open_async_saver(scenario: Scenario) -> Any:
    """Open the checkpoints of the scene."""
    if not scenario.attended:
        yield None
        return
    async with AsyncSqliteSaver.from_conn_string(str(scenario.place / "checkpoints.db")) as saver:
        yield saver


def build_input(scenario: Scenario, interrupts: Any) -> Any:
    """Return the prompt, or the answers to the open questions."""
    if scenario.answers is None:
        return {"messages": [("user", scenario.prompt)]}
    words = {True: {"type": "approve", "by": "ann"}, False: {"type": "reject", "message": "no way", "by": "ann"}}
    answers = {}
    for question in interrupts:
        answer = scenario.answers[question.value["tool_call_id"]]
        answers[question.id] = words[answer] if isinstance(answer, bool) else answer
    return Command(resume=answers)


def record(observation: Observation, state: Any) -> None:
    """Take over what the graph holds after a run."""
    messages = state.values.get("messages", [])
    observation.seen = {m.tool_call_id: str(m.content) for m in messages if m.type == "tool"}
    observation.final = messages[-1].text if messages and messages[-1].type == "ai" else ""
    observation.pending = [interrupt.value["tool_call_id"] for interrupt in state.interrupts]


def play(scenario: Scenario, observation: Observation) -> Any:
    """Run or resume the agent."""
    if scenario.mode == "async":
        return play_async(scenario, observation)
    config = {"configurable": {"thread_id": scenario.session}}
    with open_saver(scenario) as saver:
        agent = build_agent(scenario, observation, saver)
        interrupts = agent.get_state(config).interrupts if scenario.answers is not None else ()
        value = build_input(scenario, interrupts)
        if scenario.mode == "stream":
            result = list(agent.stream(value, config, stream_mode="values"))[-1]
        else:
            result = agent.invoke(value, config)
        finish(observation, agent.get_state(config) if saver else None, result)
    return None


async def play_async(scenario: Scenario, observation: Observation) -> None:
    """Run or resume the agent in an event loop."""
    config = {"configurable": {"thread_id": scenario.session}}
    async with open_async_saver(scenario) as saver:
        agent = build_agent(scenario, observation, saver)
        interrupts = (await agent.aget_state(config)).interrupts if scenario.answers is not None else ()
        result = await agent.ainvoke(build_input(scenario, interrupts), config)
        finish(observation, await agent.aget_state(config) if saver else None, result)


def finish(observation: Observation, state: Any, result: Any) -> None:
    """Take over the state of the thread, or of a run without one."""
    if state is not None:
        record(observation, state)
        return
    messages = result["messages"]
    observation.seen = {m.tool_call_id: str(m.content) for m in messages if m.type == "tool"}
    observation.final = messages[-1].text


if __name__ == "__main__":
    serve(play, version("langchain"))
