"""Plays scenarios on OpenAI Agents."""

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    AsyncComputer,
    ComputerTool,
    CustomTool,
    HostedMCPTool,
    LocalShellTool,
    RunConfig,
    Runner,
    RunState,
    ShellTool,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
)
from agents.mcp import MCPServer
from agents.sandbox import Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent, Tool
from openai.types.responses import (
    ResponseApplyPatchToolCall,
    ResponseComputerToolCall,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
)
from openai.types.responses.response_output_item import (
    LocalShellCall,
    LocalShellCallAction,
    McpApprovalRequest,
    McpCall,
)

from tests.sdks.drivers.protocol import Observation, Scenario, Step, serve
from verdikt.integrations.openai_agents import answer_interruption, governed, run_governed, use_session
from verdikt.integrations.openai_agents_tools import AgentToolGate


def build_output(step: Step) -> list[Any]:
    """Return a step as output items."""
    if not step.calls:
        return [assistant_message(step.text)]
    return [build_call(call_id, name, arguments) for call_id, name, arguments in step.calls]


def build_call(call_id: str, name: str, arguments: dict[str, Any]) -> Any:
    """Return a call of a function tool or of a shell tool."""
    if name == "shell":
        fields = {"id": call_id, "call_id": call_id, "type": "shell_call", "status": "completed"}
        return ResponseFunctionShellToolCall.model_validate(fields | {"action": {"commands": [arguments["command"]]}})
    if name == "local_shell":
        action = LocalShellCallAction(command=arguments["command"].split(), env={}, type="exec")
        return LocalShellCall(id=call_id, call_id=call_id, action=action, status="completed", type="local_shell_call")
    if name == "computer":
        fields = {"id": call_id, "call_id": call_id, "type": "computer_call", "status": "completed"}
        action = {"type": "type", "text": arguments["command"]}
        return ResponseComputerToolCall.model_validate(fields | {"pending_safety_checks": [], "action": action})
    if name == "custom":
        fields = {"id": call_id, "call_id": call_id, "type": "custom_tool_call", "name": "sh"}
        return ResponseCustomToolCall.model_validate(fields | {"input": arguments["command"]})
    if name == "sandbox_patch":
        text = f"*** Begin Patch\n*** Add File: {arguments['command']}\n+text\n*** End Patch"
        fields = {"id": call_id, "call_id": call_id, "type": "custom_tool_call", "name": "apply_patch"}
        return ResponseCustomToolCall.model_validate(fields | {"input": text})
    if name == "exec_command":
        return function_call(name, {"cmd": arguments["command"]}, call_id=call_id)
    if name == "hosted":
        fields = {"id": call_id, "type": "mcp_approval_request", "server_label": "remote", "name": "sh"}
        return McpApprovalRequest.model_validate(fields | {"arguments": json.dumps(arguments)})
    if name == "patch":
        operation = {"type": "create_file", "path": arguments["command"], "diff": "+text"}
        fields = {"id": call_id, "call_id": call_id, "type": "apply_patch_call", "status": "completed"}
        return ResponseApplyPatchToolCall.model_validate(fields | {"operation": operation})
    return function_call(name, arguments, call_id=call_id)


def play_provider(scenario: Scenario, observation: Observation, items: list[Any], step: Step) -> list[Any]:
    """Return a step with the calls of an MCP server that the provider itself makes, and note what it was answered."""
    answers = [item for item in items if item.get("type") == "mcp_approval_response"]
    observation.seen |= {str(answer["approval_request_id"]): str(answer.get("reason")) for answer in answers}
    calls = run_approved_calls(scenario, items, step)
    own = Step([call for call in step.calls if call[1] != "unasked"], step.text)
    return [*calls, *(build_output(own) if own.calls or own.text else [])]


def run_approved_calls(scenario: Scenario, items: list[Any], step: Step) -> list[Any]:
    """Play the provider: return the calls of its MCP server that this input approves, with their results.

    A call that it was not told to ask about it runs as soon as the model makes it.
    """
    requests = {item["id"]: item for item in items if item.get("type") == "mcp_approval_request"}
    answers = [item for item in items if item.get("type") == "mcp_approval_response"]
    done = {item.get("approval_request_id") for item in items if item.get("type") == "mcp_call"}
    calls = []
    for answer in answers:
        request = requests[answer["approval_request_id"]]
        if answer["approve"] and request["id"] not in done:
            calls.append(build_hosted_call(scenario, f"m-{request['id']}", request["id"], request["arguments"]))
    for call_id, name, arguments in step.calls:
        if name == "unasked":
            calls.append(build_hosted_call(scenario, call_id, None, json.dumps(arguments)))
    return calls


def build_hosted_call(scenario: Scenario, id: str, request_id: str | None, arguments: str) -> Any:
    """Return a call that the provider has made."""
    output = scenario.run_command(json.loads(arguments)["command"])
    fields = {"id": id, "type": "mcp_call", "server_label": "remote", "name": "sh", "output": output}
    return McpCall.model_validate(fields | {"arguments": arguments, "approval_request_id": request_id})


class Editor:
    """An editor that only writes down which file it would make."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    def create_file(self, operation: Any) -> str:
        """Write down the file."""
        return self.scenario.run_command(operation.path)

    update_file = delete_file = create_file


class Screen(AsyncComputer):
    """A computer that only writes down what it would type."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    async def type(self, text: str) -> None:
        """Write down the text."""
        self.scenario.run_command(text)

    async def screenshot(self) -> str:
        """Return no picture."""
        return ""

    async def _do_nothing(self, *arguments: Any) -> None:
        """Move no mouse."""

    click = double_click = scroll = wait = move = keypress = drag = _do_nothing


class Server(MCPServer):
    """An MCP server in this process, with one tool."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.scenario = scenario

    @property
    def name(self) -> str:
        """The server's name."""
        return "ops"

    async def connect(self) -> None:
        """Do nothing: the server is here."""

    async def cleanup(self) -> None:
        """Do nothing."""

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Tool]:
        """Return the shell tool."""
        schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        return [Tool.model_validate({"name": "sh", "description": "Run a command.", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, meta: Any = None) -> CallToolResult:
        """Run a command."""
        text = self.scenario.run_command((arguments or {})["command"])
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def list_prompts(self) -> Any:
        """Return nothing."""

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Return nothing."""


def build_agent(scenario: Scenario, observation: Observation) -> Any:
    """Return the governed agent of a scenario."""

    @function_tool
    def sh(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    @tool_input_guardrail
    async def rewrite(data: Any) -> Any:
        data.context.tool_arguments = json.dumps({"command": scenario.rewrite})
        return ToolGuardrailFunctionOutput.allow()

    @function_tool
    def mystery(text: str) -> str:
        """Do something."""
        return scenario.run_command(f"mystery {text}")

    def respond(call: Any) -> list[Any]:
        items = call.input if isinstance(call.input, list) else [{"role": "user", "content": call.input}]
        observation.texts.extend(str(item["content"]) for item in items if item.get("role") == "user")
        step = scenario.steps[observation.turns]
        observation.turns += 1
        return play_provider(scenario, observation, items, step) if is_hosted else build_output(step)

    is_hosted = scenario.setup.startswith("hosted server")
    model = ScriptedModel([ModelStep.respond(respond)] * 20)
    tools: list[Any] = [sh, mystery]
    options: dict[str, Any] = {}
    if (own_tool := build_own_tool(scenario)) is not None:
        tools = [own_tool]
    elif scenario.setup == "mcp":
        tools, options = [], {"mcp_servers": [Server(scenario)]}
    elif scenario.setup == "subagent":
        inner = Agent(name="inner", model=model, tools=[sh])
        tools = [
            governed(inner, scenario.open_governance(), kinds=scenario.kinds).as_tool(
                "sh", "Let an agent run a command."
            )
        ]
    elif scenario.setup == "handoff":
        options = {"handoffs": [Agent(name="second", model=model, tools=[sh])]}
        tools = []
    if scenario.setup == "own question":
        tools = [dataclasses.replace(sh, needs_approval=True)]
    if scenario.rewrite:
        tools = [dataclasses.replace(sh, tool_input_guardrails=[rewrite])]
    cls = Agent
    if scenario.setup == "sandbox":
        cls, tools, options = SandboxAgent, [], {"default_manifest": Manifest(root=str(scenario.place))}
    with forget_families(scenario):
        agent = governed(
            cls(name="ops", model=model, tools=tools, **options),
            scenario.open_governance(),
            kinds=scenario.kinds | {"mcp__remote__sh": "bash", "exec_command": "bash", "late": "bash"},
            session_id=scenario.session,
            attended=scenario.attended,
        )
    agent._verdikt_governor.governor.max_refusals = 2
    if scenario.setup == "twice":
        # As an SDK would that tries a call again behind the approval.
        agent.tools[0].tool_input_guardrails *= 2
    return change_agent(scenario, agent, model)


def build_own_tool(scenario: Scenario) -> Any:
    """Return the tool of the SDK's own that a setup names, or None."""

    async def run_custom(context: Any, text: str) -> str:
        return scenario.run_command(text)

    if scenario.setup.startswith("hosted server"):
        return HostedMCPTool(build_server_settings(scenario), answer_in_line(scenario) if scenario.inline else None)
    tools: dict[str, Callable[[], Any]] = {
        "shell": lambda: ShellTool(executor=build_executor(scenario)),
        "local shell": lambda: LocalShellTool(executor=build_executor(scenario)),
        "custom": lambda: CustomTool(name="sh", description="Run a command.", on_invoke_tool=run_custom),
        "computer": lambda: ComputerTool(computer=Screen(scenario)),
        "computer of a factory": lambda: ComputerTool(computer=lambda run_context: Screen(scenario)),
        "unknown family": lambda: ComputerTool(computer=Screen(scenario)),
        "patch": lambda: ApplyPatchTool(editor=Editor(scenario)),
    }
    build = tools.get(scenario.setup)
    return build() if build is not None else None


@contextmanager
def forget_families(scenario: Scenario) -> Iterator[None]:
    """Let the adapter know no family of tools, as if all of them came with a later version of the SDK."""
    original = AgentToolGate.wrap_tool
    if scenario.setup == "unknown family":
        AgentToolGate.wrap_tool = lambda self, tool: tool  # type: ignore[method-assign]
    try:
        yield
    finally:
        AgentToolGate.wrap_tool = original  # type: ignore[method-assign]


def change_agent(scenario: Scenario, agent: Any, model: Any) -> Any:
    """Return a governed agent with what a program adds to it later."""

    @function_tool
    def late(command: str) -> str:
        """Run a command."""
        return scenario.run_command(command)

    if scenario.setup == "clone":
        return agent.clone(tools=[*agent.tools, late])
    if scenario.setup == "late tool":
        agent.tools.append(late)
    elif scenario.setup == "late shell":
        agent.tools.append(ShellTool(executor=build_executor(scenario)))
    elif scenario.setup == "late handoff":
        agent.handoffs.append(Agent(name="second", model=model, tools=[dataclasses.replace(late, name="sh")]))
    return agent


def build_executor(scenario: Scenario) -> Any:
    """Return the executor of a shell tool."""

    def execute(request: Any) -> str:
        action = request.data.action
        commands = getattr(action, "commands", None) or [" ".join(action.command)]
        return "\n".join(map(scenario.run_command, commands))

    return execute


def build_server_settings(scenario: Scenario) -> Any:
    """Return how an MCP server of the provider is configured."""
    setting = "always" if scenario.setup.endswith("that asks") else "never"
    return {"type": "mcp", "server_label": "remote", "server_url": "http://127.0.0.1:9", "require_approval": setting}


def answer_in_line(scenario: Scenario) -> Any:
    """Return a function of the program that answers requests of such a server."""

    def answer(request: Any) -> Any:
        return {"approve": scenario.inline[request.data.id], "reason": "no way"}

    return answer


def get_call_id(item: Any) -> str:
    """Return the call that an interruption is about."""
    raw = item.raw_item
    fields = raw if isinstance(raw, dict) else raw.model_dump()
    return str(fields.get("call_id") or fields["id"])


async def resume(scenario: Scenario, agent: Any) -> Any:
    """Return the run state with the answers."""
    state = await RunState.from_string(agent, scenario.state)
    for item in state.get_interruptions():
        answer = (scenario.answers or {})[get_call_id(item)]
        if scenario.setup == "always approve":
            state.approve(item, always_approve=True)
        elif scenario.mode == "sync":
            # As a program does it that does not know our function: the run itself records the answer.
            state.approve(item) if answer else state.reject(item)
        else:
            answer_interruption(state, item, approved=answer, agent=agent, by="ann", session_id=scenario.session)
    return state


async def play(scenario: Scenario, observation: Observation) -> None:
    """Run or resume the agent."""
    agent = build_agent(scenario, observation)
    value = scenario.prompt if scenario.answers is None else await resume(scenario, agent)
    options: Any = {}
    if scenario.setup == "sandbox":
        options["run_config"] = RunConfig(sandbox=SandboxRunConfig(client=UnixLocalSandboxClient()))
    if scenario.mode == "async":
        result = await run_governed(agent, value, session_id=scenario.session, **options)
    elif scenario.mode == "stream":
        with use_session(scenario.session):
            result = Runner.run_streamed(agent, value, **options)
            async for _ in result.stream_events():
                pass
    else:
        result = await asyncio.to_thread(run_sync, agent, value, scenario, options)
    observation.final = str(result.final_output or "")
    observation.pending = [get_call_id(item) for item in result.interruptions]
    if result.interruptions:
        observation.state = result.to_state().to_string()
    for item in result.to_input_list():
        if str(item.get("type", "")).endswith("_output"):
            output = item["output"]
            observation.seen[item.get("call_id", "")] = output if isinstance(output, str) else json.dumps(output)


def run_sync(agent: Any, value: Any, scenario: Scenario, options: Any) -> Any:
    """Run the agent without an event loop of our own."""
    if scenario.answers is not None or scenario.setup.startswith("hosted"):
        return asyncio.run(run_governed(agent, value, session_id=scenario.session, **options))
    with use_session(scenario.session):
        return Runner.run_sync(agent, value, **options)


if __name__ == "__main__":
    serve(play, version("openai-agents"))
