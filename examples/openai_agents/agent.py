"""OpenAI Agents: `python -m examples.openai_agents.agent`, then `… --approve` or `… --reject` in another process."""

import asyncio
import os
import sys
from typing import Any

from agents import Agent, RunState, function_tool, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from examples.scene import SCRIPT, SESSION, STATE, TASK, open_governance, run_shell, show_question
from verdikt.integrations.openai_agents import answer_interruption, governed, run_governed


@function_tool
def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def build_model() -> Any:
    """Return a real model if there is a key, and the script otherwise."""
    if os.environ.get("OPENAI_API_KEY"):
        return "gpt-5"
    set_tracing_disabled(True)

    def respond(call: Any) -> list[Any]:
        items = call.input if isinstance(call.input, list) else []
        said = sum(item.get("type") == "function_call" or item.get("role") == "assistant" for item in items)
        step = SCRIPT[min(said, len(SCRIPT) - 1)]
        if step.text:
            return [assistant_message(step.text)]
        return [function_call("sh", {"command": step.command}, call_id=f"call-{said}")]

    return ScriptedModel([ModelStep.respond(respond)] * 10)


async def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    with open_governance(is_new=not arguments) as governance:
        plain = Agent(name="releaser", model=build_model(), tools=[sh])
        agent = governed(plain, governance, kinds={"sh": "bash"}, session_id=SESSION)
        task: Any = TASK
        if arguments:
            task = await RunState.from_string(agent, STATE.read_text())
            for item in task.get_interruptions():
                answer_interruption(task, item, approved=arguments == ["--approve"], agent=agent, by="ann")
        result = await run_governed(agent, task, session_id=SESSION)
        for item in result.to_input_list():
            text = item.get("output") or item.get("arguments") or item.get("content")
            print(text if isinstance(text, str) else " ".join(part["text"] for part in text))
        for item in result.interruptions:
            STATE.write_text(result.to_state().to_string())
            ask = governance.read_ask(SESSION, item.raw_item.call_id)
            show_question(item.raw_item.arguments, ask.reason if ask else "")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
