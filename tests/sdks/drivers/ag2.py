"""Plays scenarios on AG2, with governed functions as tools."""

import json
from importlib.metadata import version
from typing import Any

from ag2 import Agent
from ag2.config import LLMClient
from ag2.events import ModelMessage, ModelRequest, ModelResponse, ToolCallEvent, ToolCallsEvent, ToolResultsEvent
from ag2.testing import TestConfig

from tests.sdks.drivers.governed_functions import build_functions
from tests.sdks.drivers.protocol import Observation, Scenario, serve


class ScriptedClient(LLMClient):
    """Says the next step of a scenario."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        self.scenario = scenario
        self.observation = observation

    async def __call__(self, messages: Any, context: Any, **options: Any) -> ModelResponse:
        """Return the next step, and note what the model was told."""
        for event in messages:
            if isinstance(event, ToolResultsEvent):
                for result in event.results:
                    self.observation.seen[result.parent_id] = "\n".join(part.content for part in result.result.parts)
            elif isinstance(event, ModelRequest):
                self.observation.texts.append(str(event))
        step = self.scenario.steps[self.observation.turns]
        self.observation.turns += 1
        if not step.calls:
            message = ModelMessage(step.text)
            await context.send(message)
            return ModelResponse(message)
        calls = [ToolCallEvent(name, id=id, arguments=json.dumps(arguments)) for id, name, arguments in step.calls]
        return ModelResponse(tool_calls=ToolCallsEvent(calls))


class ScriptedConfig(TestConfig):
    """AG2's own test configuration, with a client that also notes what it is sent."""

    def __init__(self, scenario: Scenario, observation: Observation) -> None:
        super().__init__()
        self.client = ScriptedClient(scenario, observation)

    def create(self) -> Any:
        """Return the client."""
        return self.client


async def play(scenario: Scenario, observation: Observation) -> None:
    """Run the agent."""
    # A traceback with file paths would reach the model if a refusal were raised.
    tools = build_functions(scenario, refuse="return")
    agent = Agent("ops", config=ScriptedConfig(scenario, observation), tools=tools)
    reply = await agent.ask(scenario.prompt)
    observation.final = str(reply.body or "")


if __name__ == "__main__":
    serve(play, version("ag2"))
