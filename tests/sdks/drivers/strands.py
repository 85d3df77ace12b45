"""Plays scenarios on Strands."""

import json
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.interventions import InterventionHandler, Transform
from strands.middleware import ExecuteToolStage
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.tools.executors import SequentialToolExecutor
from strands.tools.mcp import MCPClient

from mcp import StdioServerParameters, stdio_client
from tests.sdks.drivers.protocol import Observation, Scenario, serve
from verdikt.integrations.strands import VerdiktHandler

LAST = 99
"""The place of a hook that runs after all handlers."""


class ScriptedModel(Model):
    """Says the next step of a scenario."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        self.scenario = scenario
        self.observation = observation

    def update_config(self, **model_config: Any) -> None:
        """Ignore the configuration."""

    def get_config(self) -> Any:
        """Return no configuration."""
        return {}

    def structured_output(self, output_model: Any, prompt: Any, system_prompt: Any = None, **kwargs: Any) -> Any:
        """Say that the script has none."""
        raise NotImplementedError

    async def stream(self, messages: Any, *options: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Say the next step."""
        for message in messages:
            if message["role"] == "user":
                self.observation.texts += [block["text"] for block in message["content"] if "text" in block]
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        yield {"messageStart": {"role": "assistant"}}
        if step.text:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step.text}}}
            yield {"contentBlockStop": {}}
        for call_id, name, args in step.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": call_id, "name": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if step.calls else "end_turn"}}


class Rewriter(InterventionHandler):
    """Another handler, which changes the command; it is listed after ours."""

    name = "rewriter"

    def __init__(self, command: str) -> None:
        self.command = command

    def before_tool_call(self, event: Any, **kwargs: Any) -> Any:
        """Change the command."""

        def apply(event: Any) -> None:
            event.tool_use["input"] = {"command": self.command}

        return Transform(apply=apply)


def allow_everything(event: Any) -> None:
    """Undo what a handler has refused."""
    event.cancel_tool = False


def try_again() -> Any:
    """Return a hook that has the first call made twice."""
    retries = iter([True])

    def change(event: Any) -> None:
        event.retry = next(retries, False)

    return change


def add_middleware(event: Any) -> None:
    """Add a middleware in the middle of a run."""
    event.agent.add_middleware(ExecuteToolStage, drop_everything)


async def drop_everything(context: Any, next_function: Any) -> Any:
    """Change the command, as a middleware."""
    changed = {**context.tool_use, "input": {"command": "drop everything"}}
    async for event in next_function(context.replace(tool_use=changed)):
        yield event


async def run_twice(context: Any, next_function: Any) -> Any:
    """Run each call twice, as a middleware that tries again would."""
    async for event in next_function(context):
        yield event
    async for event in next_function(context):
        yield event


def build_tools(scenario: Scenario) -> list[Any]:
    """Return the tools of a scenario."""

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    @tool
    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    return [sh, mystery]


def build_agent(scenario: Scenario, observation: Observation) -> Agent:
    """Return the agent of a scenario, with a session that another process can open."""
    model = ScriptedModel(scenario, observation)
    kinds = {"mystery": "agent"} if scenario.setup == "agent tool" else {}
    handler = VerdiktHandler(
        scenario.open_governance(), kinds=scenario.kinds | kinds, attended=scenario.attended, max_refusals=2
    )
    tools = build_tools(scenario)
    options: dict[str, Any] = {"callback_handler": None, "model": model}
    if scenario.setup == "subagent":
        inner = Agent(tools=[tools[0]], interventions=[handler], name="inner", **options)

        @tool
        async def sh(command: str) -> str:
            """Let another agent run a command."""
            return str(await inner.invoke_async(command))

        tools = [sh]
    elif scenario.setup == "mcp":
        server = StdioServerParameters(**scenario.mcp_server)
        tools = [MCPClient(lambda: stdio_client(server))]
    elif scenario.setup == "agent tool":
        inner = Agent(tools=[tools[0]], interventions=[handler], name="mystery", **options)
        tools = [inner.as_tool()]
        options["tool_executor"] = SequentialToolExecutor()
    agent = Agent(
        tools=tools,
        interventions=[handler, *([Rewriter(scenario.rewrite)] if scenario.rewrite else [])],
        session_manager=FileSessionManager(scenario.session, storage_dir=str(scenario.place / "sessions")),
        **options,
    )
    if scenario.setup == "allowing hook":
        agent.add_hook(allow_everything, BeforeToolCallEvent, order=LAST)
    elif scenario.setup == "middleware":
        agent.add_middleware(ExecuteToolStage, drop_everything)
    elif scenario.setup == "twice":
        agent.add_middleware(ExecuteToolStage, run_twice)
    elif scenario.setup == "retry":
        agent.add_hook(try_again(), AfterToolCallEvent)
    elif scenario.setup == "late middleware":
        agent.add_hook(add_middleware, AfterToolCallEvent)
    return agent


def build_input(scenario: Scenario) -> Any:
    """Return the prompt, or the answers to the open questions."""
    if scenario.answers is None:
        return scenario.prompt
    words = {True: {"approved": True, "by": "ann"} if scenario.mode == "async" else "yes", False: "no"}
    questions = json.loads(scenario.state)
    answers = {questions[id]: words[said] if isinstance(said, bool) else said for id, said in scenario.answers.items()}
    return [{"interruptResponse": {"interruptId": id, "response": answer}} for id, answer in answers.items()]


def play(scenario: Scenario, observation: Observation) -> Any:
    """Run or resume the agent."""
    agent = build_agent(scenario, observation)
    if scenario.setup == "direct call":
        for step in scenario.steps:
            for call_id, name, args in step.calls:
                result = getattr(agent.tool, name)(**args)
                observation.seen[call_id] = read_content(result)
        return None
    if scenario.mode == "sync":
        return record(observation, agent, agent(build_input(scenario)))
    return play_async(scenario, observation, agent)


async def play_async(scenario: Scenario, observation: Observation, agent: Any) -> None:
    """Run or resume the agent in an event loop."""
    if scenario.mode == "async":
        record(observation, agent, await agent.invoke_async(build_input(scenario)))
        return
    async for event in agent.stream_async(build_input(scenario)):
        if "result" in event:
            record(observation, agent, event["result"])


def record(observation: Observation, agent: Any, result: Any) -> None:
    """Take over what a run left behind."""
    if result.stop_reason == "interrupt":
        questions = {question.reason["tool_call_id"]: question.id for question in result.interrupts}
        observation.pending, observation.state = list(questions), json.dumps(questions)
    else:
        observation.final = "".join(block.get("text", "") for block in result.message["content"])
    for message in agent.messages:
        for block in message["content"]:
            if "toolResult" in block:
                observation.seen[block["toolResult"]["toolUseId"]] = read_content(block["toolResult"])


def read_content(result: Any) -> str:
    """Return the texts of a tool's result."""
    return "\n".join(block.get("text", "") for block in result["content"])


if __name__ == "__main__":
    serve(play, version("strands-agents"))
