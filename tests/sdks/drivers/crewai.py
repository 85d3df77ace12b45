"""Plays scenarios on CrewAI, with native tool calls and with the text format of models that have none."""

import json
import os
from importlib.metadata import version
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks import clear_all_tool_call_hooks, register_before_tool_call_hook
from crewai.mcp import MCPServerStdio
from crewai.tools import BaseTool, tool
from crewai.utilities.string_utils import sanitize_tool_name

from tests.sdks.drivers.protocol import Observation, Scenario, Step, serve
from verdikt.integrations.crewai import install


class ScriptedModel(BaseLLM):
    """Says the next step of a scenario."""

    scenario: Any = None
    observation: Any = None
    is_native: bool = True
    shell_tool: str = "sh"  # the name that CrewAI has given to the tool of that name

    def supports_function_calling(self) -> bool:
        """Return whether the model calls tools by itself."""
        return self.is_native

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        """Return the next step, and note what the model was told."""
        for message in messages if isinstance(messages, list) else []:
            content = str(message.get("content") or "")
            if message.get("role") == "tool":
                self.observation.seen[message["tool_call_id"]] = content
            elif message.get("role") == "user":
                self.observation.texts.append(content)
            elif "\nObservation:" in content:
                self._note_observation(content)
        step = self.scenario.steps[self.observation.turns]
        if not self.is_native and len(step.calls) > 1:
            # In the text format a model makes one call at a time.
            remaining = step.calls[1:]
            self.scenario.steps[self.observation.turns] = step = Step(calls=step.calls[:1])
            self.scenario.steps.insert(self.observation.turns + 1, Step(calls=remaining))
        self.observation.turns += 1
        return self._render(step)

    async def acall(self, messages: Any, *args: Any, **options: Any) -> Any:
        """Return the next step."""
        return self.call(messages, *args, **options)

    def _note_observation(self, content: str) -> None:
        calls = [call for step in self.scenario.steps for call in step.calls]
        for call_id, name, arguments in calls:
            if f"Action: {self._get_tool_name(name)}\nAction Input: {json.dumps(arguments)}" in content:
                self.observation.seen[call_id] = content.partition("\nObservation:")[2]

    def _get_tool_name(self, name: str) -> str:
        return self.shell_tool if name == "sh" else name

    def _render(self, step: Step) -> Any:
        step = Step([build_delegation(*call) if call[1] == "delegate" else call for call in step.calls], step.text)
        if self.is_native and step.calls:
            return [
                {
                    "id": id,
                    "type": "function",
                    "function": {"name": self._get_tool_name(name), "arguments": json.dumps(arguments)},
                }
                for id, name, arguments in step.calls
            ]
        if step.calls:
            _, name, arguments = step.calls[0]
            return f"Thought: I act\nAction: {self._get_tool_name(name)}\nAction Input: {json.dumps(arguments)}"
        return step.text if self.is_native else f"Thought: I am done\nFinal Answer: {step.text}"


def build_delegation(call_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return a call of CrewAI's own tool that lets another agent of the crew work."""
    work = {"task": arguments["command"], "context": "-", "coworker": "helper"}
    return call_id, "delegate_work_to_coworker", work


def build_crew(scenario: Scenario, observation: Observation) -> Crew:
    """Return the crew of a scenario."""

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        if scenario.setup == "clearing tool":
            clear_all_tool_call_hooks()
        return scenario.run_command(command)

    @tool
    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    class RunShell(BaseTool):
        """A tool as a class, as MCP tools are, with a name that the model sees in another form."""

        name: str = "Run Shell"
        description: str = "Run a command."

        def _run(self, command: str) -> str:
            return scenario.run_command(command)

    model = ScriptedModel(model="scripted", is_native=scenario.mode != "react")
    model.scenario, model.observation = scenario, observation
    options: dict[str, Any] = {"tools": [sh, mystery, RunShell()]}
    if scenario.setup == "mcp":
        model.shell_tool = get_mcp_tool_name(scenario)
        options = {"mcps": [MCPServerStdio(**scenario.mcp_server)]}
    agents = [Agent(role="ops", goal="do it", backstory="-", llm=model, cache=False, **options)]
    if scenario.setup == "coworker":
        helper = Agent(role="helper", goal="do it", backstory="-", llm=model, cache=False, **options)
        agents = [Agent(role="ops", goal="do it", backstory="-", llm=model, allow_delegation=True), helper]
    task = Task(description=scenario.prompt, expected_output="done", agent=agents[0])
    return Crew(agents=agents, tasks=[task], cache=False)


def get_mcp_tool_name(scenario: Scenario) -> str:
    """Return the name that CrewAI gives to the tool of an MCP server: after the command that starts it."""
    server = scenario.mcp_server
    return str(sanitize_tool_name("_".join([server["command"], *server["args"], "sh"])))


def rewrite(command: str) -> Any:
    """Return another hook, which changes the command."""

    def change(context: Any) -> None:
        context.tool_input["command"] = command

    return change


def play(scenario: Scenario, observation: Observation) -> Any:
    """Run the crew."""
    installed = install(
        scenario.open_governance(),
        kinds=scenario.kinds | {"Run Shell": "bash", get_mcp_tool_name(scenario): "bash"},
        session_id=scenario.session,
        ask=scenario.answer_question if scenario.inline else None,
        by="ann",
        max_refusals=2,
    )
    if scenario.rewrite:
        register_before_tool_call_hook(rewrite(scenario.rewrite))  # behind ours
    if scenario.setup == "cleared hooks":
        clear_all_tool_call_hooks()
    crew = build_crew(scenario, observation)
    if scenario.mode == "async":
        return play_async(crew, observation, installed)
    try:
        if scenario.setup == "direct run":
            for step in scenario.steps:
                for _, _, arguments in step.calls:
                    observation.texts.append(run_directly(crew.agents[0].tools[0], arguments))
        else:
            observation.final = crew.kickoff().raw
    finally:
        clear_all_tool_call_hooks()
        installed.uninstall()
    return None


async def play_async(crew: Crew, observation: Observation, installed: Any) -> None:
    """Run the crew in an event loop."""
    try:
        observation.final = (await crew.akickoff()).raw
    finally:
        clear_all_tool_call_hooks()
        installed.uninstall()


def run_directly(tool: Any, arguments: dict[str, Any]) -> str:
    """Run a tool as code of a flow does."""
    try:
        return str(tool.run(**arguments))
    except Exception as error:
        return str(error)


if __name__ == "__main__":
    serve(play, version("crewai"))
