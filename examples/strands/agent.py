"""Strands: `python -m examples.strands.agent`, then `… --approve` or `… --reject` in another process."""

import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager

from examples.scene import SCRIPT, SESSION, STATE, TASK, WORKSPACE, open_governance, run_shell, show_question
from verdikt.integrations.strands import VerdiktHandler


class ScriptedModel(Model):
    """Says the steps of the script, one for each message it has said before; takes the place of a real model."""

    def update_config(self, **model_config: Any) -> None:
        """Ignore the configuration."""

    def get_config(self) -> Any:
        """Return no configuration."""
        return {}

    def structured_output(self, output_model: Any, prompt: Any, system_prompt: Any = None, **kwargs: Any) -> Any:
        """Say that the script has none."""
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Say the next step of the script."""
        said = sum(message["role"] == "assistant" for message in messages)
        step = SCRIPT[min(said, len(SCRIPT) - 1)]
        start: Any = {"toolUse": {"toolUseId": f"call-{said}", "name": "sh"}} if step.command else {}
        delta: Any = {"toolUse": {"input": json.dumps({"command": step.command})}} if step.command else {}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta or {"text": step.text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if step.command else "end_turn"}}


@tool
def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def build_model() -> Model:
    """Return a real model if there is a key, or else the script."""
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedModel()
    from strands.models.openai import OpenAIModel  # needs strands-agents[openai]

    return OpenAIModel(model_id="gpt-5")


def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    with open_governance(is_new=not arguments) as governance:
        agent = Agent(
            model=build_model(),
            tools=[sh],
            interventions=[VerdiktHandler(governance, kinds={"sh": "bash"})],
            session_manager=FileSessionManager(SESSION, storage_dir=str(WORKSPACE / "sessions")),
            callback_handler=None,
        )
        prompt: Any = TASK
        if arguments:
            answer = {"approved": arguments == ["--approve"], "by": "ann"}
            questions = json.loads(STATE.read_text())
            prompt = [{"interruptResponse": {"interruptId": id, "response": answer}} for id in questions]
        result = agent(prompt)
        for message in agent.messages:
            for block in message["content"]:
                print(f"{message['role']}: {block.get('text') or block.get('toolUse') or block.get('toolResult')}")
        if result.stop_reason == "interrupt":
            STATE.write_text(json.dumps([question.id for question in result.interrupts]))
            for question in result.interrupts:
                show_question(question.reason["args"], question.reason["reason"])


if __name__ == "__main__":
    main(sys.argv[1:])
