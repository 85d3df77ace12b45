"""Google ADK: `python -m examples.google_adk.agent`, then `… --approve` or `… --reject` in another process."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from examples.scene import SCRIPT, SESSION, TASK, WORKSPACE, open_governance, run_shell, show_question
from verdikt import Governance
from verdikt.integrations.google_adk import VerdiktPlugin

CONFIRMATION = "adk_request_confirmation"


class ScriptedModel(BaseLlm):
    """Says the steps of the script, one for each message it has said before; takes the place of a real model."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """Say the next step of the script."""
        said = sum(content.role == "model" for content in llm_request.contents)
        step = SCRIPT[min(said, len(SCRIPT) - 1)]
        part = types.Part(text=step.text)
        if step.command:
            part = types.Part(function_call=types.FunctionCall(name="sh", args={"command": step.command}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


async def find_question(runner: Runner) -> str:
    """Return the id of the question that waits in the session."""
    session = await runner.session_service.get_session(app_name="release", user_id="ann", session_id=SESSION)
    calls = [call for event in session.events for call in event.get_function_calls()]
    return str(next(call.id for call in reversed(calls) if call.name == CONFIRMATION))


async def run(governance: Governance, arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    model: Any = "gemini-3.5-flash" if os.environ.get("GOOGLE_API_KEY") else ScriptedModel(model="scripted")
    app = App(
        name="release",
        root_agent=LlmAgent(name="releaser", model=model, tools=[sh]),
        plugins=[VerdiktPlugin(governance, kinds={"sh": "bash"})],
    )
    sessions = SqliteSessionService(str(WORKSPACE / "sessions.db"))
    runner = Runner(app=app, session_service=sessions, auto_create_session=True)
    part = types.Part(text=TASK)
    if arguments:
        answer = {"confirmed": arguments == ["--approve"], "payload": {"by": "ann"}}
        reply = types.FunctionResponse(name=CONFIRMATION, id=await find_question(runner), response=answer)
        part = types.Part(function_response=reply)
    message = types.Content(role="user", parts=[part])
    async for event in runner.run_async(user_id="ann", session_id=SESSION, new_message=message):
        print_event(event)
    await runner.close()


def print_event(event: Any) -> None:
    """Print what the agent said, did and waits for."""
    for part in event.content.parts if event.content else ():
        if part.text:
            print(f"{event.author}: {part.text}")
        elif part.function_response:
            print(f"{part.function_response.name}: {part.function_response.response}")
        elif part.function_call and part.function_call.name == CONFIRMATION:
            question = part.function_call.args["toolConfirmation"]["payload"]
            show_question(question["args"], question["reason"])
        elif part.function_call:
            print(f"{event.author}: {part.function_call.name} {part.function_call.args}")


def main(arguments: list[str]) -> None:
    """Run the agent in the example's project."""
    with open_governance(is_new=not arguments) as governance:
        asyncio.run(run(governance, arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
