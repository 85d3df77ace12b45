"""CrewAI: `python -m examples.crewai.agent`, or with `--approve` or `--reject` to answer where a person is asked.

CrewAI cannot wait for an answer from another process, so the question is put while the call waits.
"""

import json
import os
import sys
from typing import Any

from crewai import LLM, Agent, BaseLLM, Crew, Task
from crewai.events import crewai_event_bus
from crewai.events.types.llm_guardrail_events import LLMGuardrailCompletedEvent
from crewai.hooks import register_after_tool_call_hook
from crewai.tools import tool

from examples.scene import SCRIPT, SESSION, TASK, open_governance, run_shell
from verdikt.integrations.crewai import install


class ScriptedModel(BaseLLM):
    """Says the steps of the script; takes the place of a real model."""

    steps_taken: int = 0

    def supports_function_calling(self) -> bool:
        """Say that it calls tools by itself."""
        return True

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        """Return the next step."""
        number, self.steps_taken = self.steps_taken, self.steps_taken + 1
        step = SCRIPT[min(number, len(SCRIPT) - 1)]
        if step.text:
            return step.text
        function = {"name": "sh", "arguments": json.dumps({"command": step.command})}
        return [{"id": f"call-{number}", "type": "function", "function": function}]


def show_result(context: Any) -> None:
    """Print what the model sees as the result of a call."""
    print(f"{context.tool_input}: {context.tool_result}")


@crewai_event_bus.on(LLMGuardrailCompletedEvent)
def show_refusal(source: Any, event: Any) -> None:
    """Print why the crew may not end yet."""
    if not event.success:
        print(f"refused: {event.error}")


@tool
def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def build_model() -> Any:
    """Return a real model if there is a key, and the script otherwise."""
    return LLM(model="openai/gpt-5") if os.environ.get("OPENAI_API_KEY") else ScriptedModel(model="scripted")


def main(arguments: list[str]) -> None:
    """Run the crew."""

    def ask(question: dict[str, Any]) -> bool:
        print(f"waiting for a person: {question['args']}: {question['reason']}")
        return arguments == ["--approve"]

    with open_governance(is_new=True) as governance:
        install(governance, kinds={"sh": "bash"}, session_id=SESSION, ask=ask, by="ann")
        register_after_tool_call_hook(show_result)
        agent = Agent(role="releaser", goal=TASK, backstory="a careful engineer", llm=build_model(), tools=[sh])
        task = Task(description=TASK, expected_output="a short report", agent=agent)
        print(Crew(agents=[agent], tasks=[task]).kickoff().raw)


if __name__ == "__main__":
    main(sys.argv[1:])
