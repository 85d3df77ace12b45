"""Measures one adapter in the environment of its SDK; started by `benchmarks/sdks.py`, which prints the ratios."""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from verdikt import Action, ActionKind, Governance

BATCHES = 25
WARM_BATCHES = 5
BATCH = 24
KINDS = {"sh": "bash"}
COMMANDS = ("git status", "ls -la src", "pytest -q", "cat README.md", "grep -rn main src", "python -m build")

Decide = Callable[[str, str], Awaitable[None]]
"""Lets the adapter decide one command with a call id."""


def build_python(governance: Governance) -> Decide:
    """Return the hook of `govern`: the whole call of an empty function."""
    from verdikt.integrations.tool_governor import ToolGovernor

    governor = ToolGovernor(governance, KINDS, host="python")

    async def decide(command: str, call_id: str) -> None:
        action = governor.build_action("sh", {"command": command}, call_id=call_id, session_id="a")
        assert (await governor.adecide(action, can_ask=True)).may_run

    return decide


def build_langchain(governance: Governance) -> Decide:
    """Return the middleware up to the moment at which the tool would run."""
    from verdikt.integrations.langchain import VerdiktMiddleware

    middleware = VerdiktMiddleware(governance, kinds=KINDS, session_id="a")
    runtime = SimpleNamespace(config={"configurable": {"thread_id": "a"}})

    async def decide(command: str, call_id: str) -> None:
        call = {"name": "sh", "args": {"command": command}, "id": call_id}
        assert (await middleware.settle_call_async(call, runtime))[0].may_run

    return decide


def build_openai_agents(governance: Governance) -> Decide:
    """Return approval function and guardrail, as the SDK calls them."""
    from agents import Agent, function_tool

    from verdikt.integrations.openai_agents import governed

    @function_tool
    def sh(command: str) -> str:
        """Run a command."""
        return command

    tool = governed(Agent(name="a", tools=[sh]), governance, kinds=KINDS, session_id="a").tools[0]
    guardrail = tool.tool_input_guardrails[-1]

    async def decide(command: str, call_id: str) -> None:
        arguments = {"command": command}
        assert not await tool.needs_approval(None, arguments, call_id)
        context = SimpleNamespace(tool_arguments=json.dumps(arguments), tool_call_id=call_id)
        output = await guardrail.run(SimpleNamespace(context=context))
        assert output.behavior["type"] == "allow"

    return decide


def build_pydantic_ai(governance: Governance) -> Decide:
    """Return the capability's hook before a tool."""
    from verdikt.integrations.pydantic_ai import VerdiktCapability

    capability = VerdiktCapability(governance, kinds=KINDS, attended=True)
    context = SimpleNamespace(conversation_id="a", run_id="a", tool_call_approved=False, agent=None)

    async def decide(command: str, call_id: str) -> None:
        call = SimpleNamespace(tool_name="sh", tool_call_id=call_id)
        await capability.before_tool_execute(context, call=call, tool_def=None, args={"command": command})

    return decide


def build_claude_agent_sdk(governance: Governance) -> Decide:
    """Return the callback for `PreToolUse`."""
    from verdikt.integrations.claude_agent_sdk import governed

    options = governed(None, governance, kinds=KINDS)
    callback = options.hooks["PreToolUse"][0].hooks[0]

    async def decide(command: str, call_id: str) -> None:
        payload = {"hook_event_name": "PreToolUse", "session_id": "a", "cwd": os.getcwd(), "tool_name": "Bash"}
        payload |= {"tool_input": {"command": command}, "tool_use_id": call_id}
        assert "deny" not in str(await callback(payload, call_id, None))

    return decide


def build_google_adk(governance: Governance) -> Decide:
    """Return the plugin's callback before a tool, and the check behind the agent's own callbacks."""
    from google.adk.agents import LlmAgent
    from google.adk.tools.function_tool import FunctionTool

    from verdikt.integrations.google_adk import VerdiktPlugin

    def sh(command: str) -> str:
        """Run a command."""
        return command

    plugin, tool = VerdiktPlugin(governance, kinds=KINDS), FunctionTool(sh)
    session, agent = SimpleNamespace(id="a"), LlmAgent(name="a", tools=[tool])
    invocation = SimpleNamespace(agent=agent, session=session, live_request_queue=None)

    async def decide(command: str, call_id: str) -> None:
        arguments = {"command": command}
        context: Any = SimpleNamespace(function_call_id=call_id, session=session, agent_name="a")
        context.tool_confirmation, context.get_invocation_context = None, lambda: invocation
        assert await plugin.before_tool_callback(tool=tool, tool_args=arguments, tool_context=context) is None
        assert await plugin.check_final_arguments(tool, arguments, context) is None

    return decide


def build_strands(governance: Governance) -> Decide:
    """Return the handler's method before a tool, and the check of the middleware."""
    from strands import Agent, tool

    from verdikt.integrations.strands import VerdiktHandler

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        return command

    handler, agent = VerdiktHandler(governance, kinds=KINDS, session_id="a"), Agent(tools=[sh], callback_handler=None)

    async def run_nothing(context: Any) -> AsyncIterator[Any]:
        yield context

    async def decide(command: str, call_id: str) -> None:
        use = {"toolUseId": call_id, "name": "sh", "input": {"command": command}}
        state = {"event_loop_cycle_id": "1"}
        event = SimpleNamespace(agent=agent, selected_tool=sh, tool_use=use, invocation_state=state)
        assert (await handler.before_tool_call(event)).type == "proceed"
        context = SimpleNamespace(agent=agent, tool=sh, tool_use=use)
        assert [item async for item in handler.run_checked(context, run_nothing)] == [context]

    return decide


def build_agent_framework(governance: Governance) -> Decide:
    """Return the function middleware up to the moment at which the function would run."""
    from agent_framework import tool

    from verdikt.integrations.agent_framework import VerdiktMiddleware

    @tool
    def sh(command: str) -> str:
        """Run a command."""
        return command

    middleware = VerdiktMiddleware(governance, kinds=KINDS, session_id="a", attended=True)
    process = middleware._middleware[-1].process

    async def record_nothing(action: Any, outcome: Any) -> str:
        return ""

    middleware.governor.areport = record_nothing  # type: ignore[method-assign]

    async def decide(command: str, call_id: str) -> None:
        context: Any = SimpleNamespace(function=sh, arguments={"command": command}, session=None)
        context.metadata, context.result = {"call_id": call_id}, None

        async def call_next() -> None:
            context.result = "ran"

        await process(context, call_next)
        assert context.result == "ran"

    return decide


def build_crewai(governance: Governance) -> Decide:
    """Return the hook before a tool call."""
    from verdikt.integrations.crewai import install

    installed = install(governance, kinds=KINDS, session_id="a")

    async def decide(command: str, call_id: str) -> None:
        installed._check_call(SimpleNamespace(tool_name="sh", tool_input={"command": command}, crew=None))

    return decide


BUILDERS: dict[str, Callable[[Governance], Decide]] = {
    "python": build_python,
    "langchain": build_langchain,
    "openai_agents": build_openai_agents,
    "pydantic_ai": build_pydantic_ai,
    "claude_agent_sdk": build_claude_agent_sdk,
    "google_adk": build_google_adk,
    "strands": build_strands,
    "agent_framework": build_agent_framework,
    "crewai": build_crewai,
}


async def measure(sdk: str, governance: Governance) -> dict[str, float]:
    """Return the ratios of the adapter's medians to those of a bare decision, each the median over all batches.

    In batches: a program decides always in a thread or never, and its caches stay with that thread. Batches that are
    compared follow each other, so that a machine that is busy for a while slows both.
    """
    decide = BUILDERS[sdk](governance)
    for number in range(WARM_BATCHES):
        await measure_batch(governance, decide, f"warm-{number}")
    batches = [await measure_batch(governance, decide, str(number)) for number in range(BATCHES)]
    return {
        f"{bare}{kind}": statistics.median(medians[f"adapter{kind}"] / medians[f"{bare}{kind}"] for medians in batches)
        for bare in ("bare", "bare async")
        for kind in ("", " cpu")
    }


async def measure_batch(governance: Governance, decide: Decide, label: str) -> dict[str, float]:
    """Return the median seconds of each way to decide."""

    def build_action(command: str, call_id: str, session_id: str) -> Action:
        payload = {"command": command}
        return Action(
            kind=ActionKind.BASH, tool="sh", payload=payload, session_id=session_id, cwd=os.getcwd(), call_id=call_id
        )

    async def decide_bare(command: str, call_id: str) -> None:
        governance.before(build_action(command, call_id, "b"))

    async def decide_bare_async(command: str, call_id: str) -> None:
        await governance.abefore(build_action(command, call_id, "c"))

    ways = {"bare": decide_bare, "adapter": decide, "bare async": decide_bare_async}
    times: dict[str, list[float]] = {f"{name}{kind}": [] for name in ways for kind in ("", " cpu")}
    for name, run in ways.items():
        for number in range(BATCH):
            started = time.perf_counter(), time.process_time()
            await run(COMMANDS[number % len(COMMANDS)], f"{name}-{label}-{number}")
            times[name].append(time.perf_counter() - started[0])
            times[f"{name} cpu"].append(time.process_time() - started[1])
    return {name: statistics.median(values) for name, values in times.items()}


def main(sdk: str) -> None:
    """Measure one adapter over a new log, and print the ratios as JSON."""
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        Path("governance.yaml").write_text("profile: standard\n", encoding="utf-8")
        env: dict[str, Any] = {"VERDIKT_HOME": f"{directory}/data", "HOME": directory}
        with Governance.load("governance.yaml", env=env) as governance:
            print(json.dumps(asyncio.run(measure(sdk, governance))))
        os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1])
