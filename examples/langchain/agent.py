"""LangChain: `python -m examples.langchain.agent`, then `… --approve` or `… --reject` in another process."""

import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from examples.scene import SCRIPT, SESSION, TASK, WORKSPACE, open_governance, run_shell, show_question
from verdikt.integrations.langchain import VerdiktMiddleware


class ScriptedModel(BaseChatModel):
    """Says the steps of the script, one for each message it has said before; takes the place of a real model."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        """Ignore the tools."""
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        said = sum(message.type == "ai" for message in messages)
        step = SCRIPT[min(said, len(SCRIPT) - 1)]
        calls = [{"id": f"call-{said}", "name": "sh", "args": {"command": step.command}}] if step.command else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=step.text, tool_calls=calls))])


@tool
def sh(command: str) -> str:
    """Run a shell command in the project."""
    return run_shell(command)


def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    governance = open_governance(is_new=not arguments)
    has_key = bool(os.environ.get("OPENAI_API_KEY"))  # needs langchain-openai as well
    model = init_chat_model("openai:gpt-5") if has_key else ScriptedModel()
    config: Any = {"configurable": {"thread_id": SESSION}}
    with governance, SqliteSaver.from_conn_string(str(WORKSPACE / "checkpoints.db")) as saver:
        middleware = [VerdiktMiddleware(governance, kinds={"sh": "bash"})]
        agent = create_agent(model, [sh], middleware=middleware, checkpointer=saver)
        if arguments:
            answer = {"type": "approve" if arguments == ["--approve"] else "reject", "by": "ann"}
            result = agent.invoke(Command(resume=answer), config)
        else:
            result = agent.invoke({"messages": [("user", TASK)]}, config)
        for message in result["messages"]:
            print(f"{message.type}: {message.text or message.tool_calls}")
        for interrupt in agent.get_state(config).interrupts:
            show_question(interrupt.value["args"], interrupt.value["reason"])


if __name__ == "__main__":
    main(sys.argv[1:])
