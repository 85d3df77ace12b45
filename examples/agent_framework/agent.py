"""Microsoft Agent Framework: `python -m examples.agent_framework.agent`, then `… --approve` or `… --reject`."""

import asyncio
import json
import os
import sys
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

from examples.scene import SCRIPT, SESSION, STATE, TASK, open_governance, run_shell, show_question
from verdikt.integrations.agent_framework import VerdiktMiddleware


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[type-arg]
    """Says the steps of the script, one for each message it has said before; takes the place of a real model."""

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        said = sum(message.role == "assistant" for message in messages)
        step = SCRIPT[min(said, len(SCRIPT) - 1)]
        content = Content.from_text(step.text)
        if step.command:
            arguments = {"command": step.command}
            content = Content.from_function_call(call_id=f"call-{said}", name="sh", arguments=arguments)
        return ChatResponse(messages=[Message(role="assistant", contents=[content])])


@tool
def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def build_client() -> Any:
    """Return a real client if there is a key, and the script otherwise."""
    if os.environ.get("OPENAI_API_KEY"):
        from agent_framework.openai import OpenAIChatClient  # needs agent-framework-openai as well

        return OpenAIChatClient(model="gpt-5")
    return ScriptedClient()


async def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    with open_governance(is_new=not arguments) as governance:
        middleware = VerdiktMiddleware(governance, kinds={"sh": "bash"})
        agent = Agent(client=build_client(), tools=[sh], middleware=[middleware])
        session, task = AgentSession(session_id=SESSION), TASK
        if arguments:
            stored = json.loads(STATE.read_text())
            session = AgentSession.from_dict(stored["session"])
            requests = [Content.from_dict(request) for request in stored["requests"]]
            approved = arguments == ["--approve"]
            answers = [request.to_function_approval_response(approved=approved) for request in requests]
            middleware.record_answers(answers, session_id=SESSION, by="ann")
            task = Message(role="user", contents=answers)
        result = await agent.run(task, session=session)
        for message in session.state["in_memory"]["messages"]:
            for content in message.contents:
                if content.text or content.arguments or content.result:
                    print(f"{content.type}: {content.text or content.arguments or content.result}")
        requests = result.user_input_requests
        if requests:
            stored = {"session": session.to_dict(), "requests": [request.to_dict() for request in requests]}
            STATE.write_text(json.dumps(stored))
        for request in requests:
            show_question(request.function_call.arguments, request.additional_properties["reason"])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
