"""AG2: `python -m examples.ag2.agent`, or with `--approve` to say yes where a person is asked."""

import asyncio
import json
import os
import sys
from typing import Any

from ag2 import Agent
from ag2.config import OpenAIConfig
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig

from examples.scene import SCRIPT, SESSION, TASK, open_governance, run_shell
from verdikt import Turn
from verdikt.integrations import govern


def build_config() -> Any:
    """Return a real model if there is a key, and the script otherwise."""
    if os.environ.get("OPENAI_API_KEY"):
        return OpenAIConfig(model="gpt-5")
    return TestConfig(
        *(
            ToolCallEvent("sh", id=f"call-{number}", arguments=json.dumps({"command": step.command}))
            if step.command
            else step.text
            for number, step in enumerate(SCRIPT)
        )
    )


def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


async def main(arguments: list[str]) -> None:
    """Run the agent."""

    def ask(question: dict[str, Any]) -> bool:
        print(f"waiting for a person: {question['args']}: {question['reason']}")
        return arguments == ["--approve"]

    def show(command: str) -> str:
        result = governed_sh(command)
        print(f"{command}: {result}")
        return result

    with open_governance(is_new=True) as governance:
        # As a result: AG2 shows the model a traceback with file paths when a tool raises.
        governed_sh = govern(
            sh, governance=governance, kinds={"sh": "bash"}, session_id=SESSION, ask=ask, refuse="return"
        )
        show.__name__, show.__doc__ = "sh", sh.__doc__
        agent = Agent("releaser", config=build_config(), tools=[show])
        reply = await agent.ask(TASK)
        # `govern` has no place for the end of a turn, so the program asks: a refusal is the next message.
        while not (end := await governance.astop(Turn(session_id=SESSION, message=str(reply.body)))).allowed:
            print(f"{reply.body} (refused: {end.reason})")
            reply = await reply.ask(end.reason)
        print(reply.body)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
