"""Plays scenarios on LlamaIndex, with governed functions as tools."""

from importlib.metadata import version
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import TextBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool

from tests.sdks.drivers.governed_functions import build_functions
from tests.sdks.drivers.protocol import Observation, Scenario, serve


async def play(scenario: Scenario, observation: Observation) -> None:
    """Run the agent."""

    def respond(messages: Any, **options: Any) -> ChatMessage:
        for message in messages:
            if message.role == "tool":
                observation.seen[message.additional_kwargs["tool_call_id"]] = str(message.content)
            elif message.role == "user":
                observation.texts.append(str(message.content))
        step = scenario.steps[observation.turns]
        observation.turns += 1
        calls = [ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=args) for id, name, args in step.calls]
        return ChatMessage(role="assistant", blocks=calls or [TextBlock(text=step.text)])

    # An exception of a tool reaches the model as the tool's result.
    tools = [FunctionTool.from_defaults(function) for function in build_functions(scenario, refuse="raise")]
    model = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
    agent = FunctionAgent(tools=tools, llm=model, streaming=scenario.mode == "stream")
    handler = agent.run(scenario.prompt)
    async for _ in handler.stream_events():
        pass
    observation.final = str(await handler)


if __name__ == "__main__":
    serve(play, version("llama-index-core"))
