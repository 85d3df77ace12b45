"""Pydantic AI: `python -m examples.pydantic_ai.agent`, then `… --approve` or `… --reject` in another process."""

import os
import sys
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from examples.scene import SCRIPT, SESSION, STATE, TASK, open_governance, run_shell, show_question
from verdikt.integrations.pydantic_ai import VerdiktCapability


def respond(messages: list[Any], info: Any) -> ModelResponse:
    """Say the next step of the script."""
    said = sum(isinstance(message, ModelResponse) for message in messages)
    step = SCRIPT[min(said, len(SCRIPT) - 1)]
    if step.text:
        return ModelResponse(parts=[TextPart(step.text)])
    return ModelResponse(parts=[ToolCallPart("sh", {"command": step.command}, tool_call_id=f"call-{said}")])


def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    with open_governance(is_new=not arguments) as governance:
        capability = VerdiktCapability(governance, kinds={"sh": "bash"})
        agent: Any = Agent(
            "openai:gpt-5" if os.environ.get("OPENAI_API_KEY") else FunctionModel(respond),
            tools=[sh],
            capabilities=[capability],
            output_type=[str, DeferredToolRequests],
            retries={"output": 3},  # a refused end costs one of them
        )
        if arguments:
            history = ModelMessagesTypeAdapter.validate_json(STATE.read_bytes())
            waiting = history[-1].parts[-1].tool_call_id
            answer: Any = True if arguments == ["--approve"] else ToolDenied("not today")
            results = DeferredToolResults(approvals={waiting: answer})
            capability.record_answers(results, session_id=SESSION, by="ann")
            result = agent.run_sync(message_history=history, deferred_tool_results=results, conversation_id=SESSION)
        else:
            result = agent.run_sync(TASK, conversation_id=SESSION)
        for message in result.all_messages():
            for part in message.parts:
                print(f"{part.part_kind}: {getattr(part, 'content', '') or getattr(part, 'args', '')}")
        if isinstance(result.output, DeferredToolRequests):
            STATE.write_bytes(result.all_messages_json())
            for call in result.output.approvals:
                show_question(call.args, result.output.metadata[call.tool_call_id]["reason"])


if __name__ == "__main__":
    main(sys.argv[1:])
