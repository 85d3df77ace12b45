"""Plays scenarios on smolagents, with governed functions as tools and a governed executor for code."""

from importlib.metadata import version
from typing import Any

from smolagents import CodeAgent, LogLevel, Model, ToolCallingAgent, tool
from smolagents.local_python_executor import CodeOutput, LocalPythonExecutor
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from tests.sdks.drivers.governed_functions import build_functions, build_options
from tests.sdks.drivers.protocol import Observation, Scenario, serve
from verdikt.integrations import govern


class ScriptedModel(Model):
    """Says the next step of a scenario; a text is the final answer."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        super().__init__(model_id="scripted")
        self.scenario = scenario
        self.observation = observation

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        """Return the next step, and note what the model was told."""
        self.observation.texts.extend(str(message.content) for message in messages)
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        if self.scenario.setup == "code agent":
            code = "\n".join(arguments["command"] for _, _, arguments in step.calls)
            code = code or f"final_answer({step.text!r})"
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: I act\n<code>\n{code}\n</code>")
        calls = step.calls or [("end", "final_answer", {"answer": step.text})]
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            tool_calls=[
                ChatMessageToolCall(
                    id=id, type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments)
                )
                for id, name, arguments in calls
            ],
        )


def build_executor(scenario: Scenario) -> LocalPythonExecutor:
    """Return an executor that runs only code that the policy lets through."""

    class GovernedExecutor(LocalPythonExecutor):
        @govern(name="python", **build_options(scenario))
        def __call__(self, code_action: str) -> CodeOutput:
            return super().__call__(code_action)

    return GovernedExecutor(additional_authorized_imports=[])


def build_agent(scenario: Scenario, observation: Observation) -> Any:
    """Return the agent of a scenario."""
    model = ScriptedModel(scenario, observation)
    options = {"model": model, "verbosity_level": LogLevel.OFF, "max_steps": 6}
    if scenario.setup == "code agent":

        @tool
        def note(text: str) -> str:
            """Write something down, without asking.

            Args:
                text: What to write down.
            """
            return scenario.run_command(text)

        return CodeAgent(tools=[note], executor=build_executor(scenario), **options)
    tools = [tool(function) for function in build_functions(scenario, refuse="return")]
    return ToolCallingAgent(tools=tools, **options)


def play(scenario: Scenario, observation: Observation) -> None:
    """Run the agent."""
    agent = build_agent(scenario, observation)
    if scenario.mode == "stream":
        steps = list(agent.run(scenario.prompt, stream=True))
        observation.final = str(steps[-1].output)
    else:
        observation.final = str(agent.run(scenario.prompt))
    observe_results(scenario, observation, agent)


def observe_results(scenario: Scenario, observation: Observation, agent: Any) -> None:
    """Take over what the model saw: the results of a step are one text, in no order."""
    for step in agent.memory.steps:
        for call in getattr(step, "tool_calls", None) or ():
            observation.seen[call.id] = f"{step.observations or ''}{step.error or ''}"


if __name__ == "__main__":
    serve(play, version("smolagents"))
