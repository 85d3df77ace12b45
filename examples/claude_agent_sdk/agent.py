"""Claude Agent SDK: `python -m examples.claude_agent_sdk.agent`, then `… --approve` or `… --reject`.

Without a key the model is the script, served on loopback.
"""

import asyncio
import os
import sys
from contextlib import nullcontext
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from examples.claude_agent_sdk.scripted_model import serve_script
from examples.scene import SESSION, STATE, TASK, WORKSPACE, open_governance, run_shell, show_question
from verdikt.integrations.claude_agent_sdk import governed


@tool("sh", "Run a shell command in the project.", {"command": str})
async def sh(arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a shell command in the project."""
    return {"content": [{"type": "text", "text": run_shell(arguments["command"])}]}


async def main(arguments: list[str]) -> None:
    """Run the agent, or resume it with an answer."""
    governance = open_governance(is_new=not arguments)
    if arguments:
        # Any program can do this, a web application for example; the run below finds the answer in the log.
        approved = arguments == ["--approve"]
        governance.record_answer(SESSION, STATE.read_text(), approved=approved, by="ann", channel="terminal")
    has_key = bool(os.environ.get("ANTHROPIC_API_KEY"))
    with governance, nullcontext({}) if has_key else serve_script() as env:
        options = ClaudeAgentOptions(
            mcp_servers={"ops": create_sdk_mcp_server("ops", tools=[sh])},
            allowed_tools=["mcp__ops__sh"],
            tools=[],
            cwd=str(WORKSPACE),
            setting_sources=[],
            env=env,
            **({"resume": SESSION} if arguments else {"session_id": SESSION}),
        )
        options = governed(options, governance, kinds={"mcp__ops__sh": "bash"}, defer=True)
        async for message in query(prompt="" if arguments else TASK, options=options):
            for block in getattr(message, "content", None) or ():
                content = getattr(block, "text", None) or getattr(block, "input", None) or getattr(block, "content", "")
                print(f"{type(message).__name__}: {content}")
            if isinstance(message, ResultMessage) and message.deferred_tool_use is not None:
                call = message.deferred_tool_use
                STATE.write_text(call.id)
                ask = governance.read_ask(SESSION, call.id)
                show_question(call.input, ask.reason if ask else "")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
