"""Plays scenarios on Google ADK."""

from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import BaseModel

from tests.sdks.drivers.protocol import Observation, Scenario, serve
from verdikt.integrations.google_adk import VerdiktPlugin

CONFIRMATION = "adk_request_confirmation"
USER = "ann"


class ScriptedModel(BaseLlm):
    """Says the next step of a scenario."""

    scenario: Any
    observation: Any

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """Say the next step; in a stream, first the half of a text."""
        for content in llm_request.contents:
            for part in content.parts:
                if part.text and content.role == "user":
                    self.observation.texts.append(part.text)
                if part.function_response and part.function_response.name == "verdikt_not_finished":
                    self.observation.texts.append(str(part.function_response.response))
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        if stream and step.text:
            half = types.Content(role="model", parts=[types.Part(text=step.text[: len(step.text) // 2])])
            yield LlmResponse(content=half, partial=True)
        parts = [types.Part(text=step.text)] if step.text else []
        parts += [types.Part(function_call=build_call(*call)) for call in step.calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts), partial=False)


def build_call(call_id: str, name: str, args: dict[str, Any]) -> types.FunctionCall:
    """Return a call of a tool; the hand-off has a name of its own in the table."""
    if name == "transfer_to_second":
        return types.FunctionCall(id=call_id, name="transfer_to_agent", args={"agent_name": "second"})
    return types.FunctionCall(id=call_id, name=name, args=args)


class Command(BaseModel):
    """What the agent that is used as a shell takes."""

    command: str


class Request(BaseModel):
    """What the agent that is used as a tool takes."""

    text: str


class RemoteTools(BaseToolset):
    """Tools that an MCP server would list: a toolset instead of functions of the agent."""

    def __init__(self, tools: list[Any]) -> None:
        super().__init__()
        self.tools = [FunctionTool(tool) for tool in tools]

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        """Return the tools."""
        return self.tools

    async def close(self) -> None:
        """Close nothing."""


class Rewriter(BasePlugin):
    """Another plugin, which changes the command after ours has decided."""

    def __init__(self, command: str) -> None:
        super().__init__(name="rewriter")
        self.command = command

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        """Change the command."""
        tool_args["command"] = self.command


class RawFunction(BasePlugin):
    """An earlier plugin that calls the function itself, past every later plugin."""

    def __init__(self) -> None:
        super().__init__(name="raw_function")

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        """Call the function, and give its result in place of a call."""
        return {"result": tool.func(**tool_args)}


def build_agent(scenario: Scenario, observation: Observation) -> LlmAgent:
    """Return the agent of a scenario."""
    model = ScriptedModel(model="scripted", scenario=scenario, observation=observation)

    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    def rewrite(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["command"] = scenario.rewrite

    tools: list[Any] = [sh, mystery]
    options: dict[str, Any] = {}
    if scenario.setup == "mcp":
        tools = [RemoteTools([sh])]
    elif scenario.setup == "subagent":
        tools = [AgentTool(LlmAgent(name="sh", model=model, tools=[sh], input_schema=Command))]
    elif scenario.setup in ("agent tool", "agent tool without plugins"):
        inner = LlmAgent(name="mystery", model=model, tools=[sh], input_schema=Request)
        tools = [AgentTool(inner, include_plugins=scenario.setup == "agent tool")]
    elif scenario.setup == "handoff":
        options["sub_agents"] = [LlmAgent(name="second", model=model, tools=[sh])]
    elif scenario.setup == "code executor":
        options["code_executor"] = UnsafeLocalCodeExecutor()
    elif scenario.setup == "own question":
        tools = [FunctionTool(sh, require_confirmation=True)]
    if scenario.rewrite and scenario.setup != "plugin":
        options["before_tool_callback"] = rewrite  # runs after all plugins
    return LlmAgent(name="first", model=model, tools=tools, **options)


def build_workflow(scenario: Scenario) -> Workflow:
    """Return a graph without a model, whose one tool gets the first command of the scenario."""

    def choose(node_input: str) -> dict[str, Any]:
        return scenario.steps[0].calls[0][2]

    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    return Workflow(name="graph", edges=[(START, choose, FunctionTool(sh))])


def build_runner(scenario: Scenario, observation: Observation) -> Runner:
    """Return the runner of a scenario, with sessions that another process can open."""
    plugin = VerdiktPlugin(scenario.open_governance(), kinds=scenario.kinds, attended=scenario.attended, max_refusals=2)
    earlier = [RawFunction()] if scenario.setup == "raw function" else []
    plugins = [*earlier, plugin, *([Rewriter(scenario.rewrite)] if scenario.setup == "plugin" else [])]
    is_graph = scenario.setup == "tool node"
    root = build_workflow(scenario) if is_graph else build_agent(scenario, observation)
    app = App(name="scene", root_agent=root, plugins=plugins)
    service = SqliteSessionService(str(scenario.place / "sessions.db"))
    artifacts = InMemoryArtifactService()
    return Runner(app=app, session_service=service, artifact_service=artifacts, auto_create_session=True)


def build_message(scenario: Scenario, questions: dict[str, str]) -> types.Content:
    """Return the prompt, or the answers to the open questions."""
    if scenario.answers is None:
        return types.Content(role="user", parts=[types.Part(text=scenario.prompt)])
    parts = []
    for call_id, answer in scenario.answers.items():
        response = {"confirmed": answer, "payload": {"by": USER}} if isinstance(answer, bool) else answer
        reply = types.FunctionResponse(name=CONFIRMATION, id=questions[call_id], response=response)
        parts.append(types.Part(function_response=reply))
    return types.Content(role="user", parts=parts)


def find_questions(events: list[Any]) -> dict[str, str]:
    """Return the questions without an answer: call id → id of the question."""
    questions: dict[str, str] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.name == CONFIRMATION:
                questions[call.args["originalFunctionCall"]["id"]] = call.id
        answered = {response.id for response in event.get_function_responses() if event.author == "user"}
        questions = {call_id: question for call_id, question in questions.items() if question not in answered}
    return questions


async def read_events(runner: Runner, scenario: Scenario) -> list[Any]:
    """Return the events of the session so far."""
    session = await runner.session_service.get_session(app_name="scene", user_id=USER, session_id=scenario.session)
    return list(session.events) if session else []


async def play(scenario: Scenario, observation: Observation) -> None:
    """Run or resume the agent."""
    runner = build_runner(scenario, observation)
    questions = find_questions(await read_events(runner, scenario))
    arguments: dict[str, Any] = {"user_id": USER, "session_id": scenario.session}
    arguments["new_message"] = build_message(scenario, questions)
    try:
        if scenario.mode == "sync":
            for _ in runner.run(**arguments):
                pass
        else:
            mode = StreamingMode.SSE if scenario.mode == "stream" else StreamingMode.NONE
            async for _ in runner.run_async(**arguments, run_config=RunConfig(streaming_mode=mode)):
                pass
    finally:
        record(observation, await read_events(runner, scenario))
        await runner.close()


def record(observation: Observation, events: list[Any]) -> None:
    """Take over what the session holds after a run."""
    observation.pending = list(find_questions(events))
    for event in events:
        for response in event.get_function_responses():
            observation.seen[str(response.id)] = " ".join(map(str, (response.response or {}).values()))
        if event.output:
            observation.texts.append(str(event.output))
        if event.author != "user" and event.content and event.content.parts and event.content.parts[-1].text:
            observation.final = event.content.parts[-1].text


if __name__ == "__main__":
    serve(play, version("google-adk"))
