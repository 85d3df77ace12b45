"""LlamaIndex: `python -m examples.llama_index.agent`, or with `--approve` to say yes where a person is asked."""

import asyncio
import os
import sys
from importlib import import_module
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import TextBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool

from examples.scene import SCRIPT, SESSION, TASK, open_governance, run_shell
from verdikt import Turn
from verdikt.integrations import govern


def respond(messages: Any, **options: Any) -> ChatMessage:
    """Say the next step of the script."""
    said = sum(message.role == "assistant" for message in messages)
    step = SCRIPT[min(said, len(SCRIPT) - 1)]
    call = ToolCallBlock(tool_call_id=f"call-{said}", tool_name="sh", tool_kwargs={"command": step.command})
    return ChatMessage(role="assistant", blocks=[call] if step.command else [TextBlock(text=step.text)])


def build_model() -> Any:
    """Return a real model if there is a key, and the script otherwise."""
    if os.environ.get("OPENAI_API_KEY"):
        return import_module("llama_index.llms.openai").OpenAI(model="gpt-5")  # needs llama-index-llms-openai
    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


async def sh(command: str) -> str:
    """Run a shell command in the project."""
    return await asyncio.to_thread(run_shell, command)


async def main(arguments: list[str]) -> None:
    """Run the agent."""

    async def ask(question: dict[str, Any]) -> bool:
        print(f"waiting for a person: {question['args']}: {question['reason']}")
        return arguments == ["--approve"]

    with open_governance(is_new=True) as governance:
        governed_sh = govern(sh, governance=governance, kinds={"sh": "bash"}, session_id=SESSION, ask=ask)
        agent = FunctionAgent(tools=[FunctionTool.from_defaults(governed_sh)], llm=build_model(), streaming=False)
        memory, task = ChatMemoryBuffer.from_defaults(token_limit=100_000), TASK
        while task:
            run = agent.run(task, memory=memory)
            async for event in run.stream_events():
                if isinstance(event, ToolCallResult):
                    print(f"{event.tool_kwargs['command']}: {event.tool_output}")
            # `govern` has no place for the end of a turn, so the program asks: a refusal is the next task.
            end = await governance.astop(Turn(session_id=SESSION, message=str(await run)))
            task = "" if end.allowed else end.reason
            if task:
                print(f"{await run} (refused: {task})")
        print(await run)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
