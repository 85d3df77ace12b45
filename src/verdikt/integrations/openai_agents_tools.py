"""The tools of an OpenAI Agents agent, decided before they run: one way for each family of tools that the SDK has.

Function tools have guardrails. Shell, patch and custom tools have none, so their executors decide. Of the tools that
the provider runs, only MCP servers ask here before a call.
"""

from __future__ import annotations

import copy
import dataclasses
import shlex
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any

from verdikt.integrations.ruling import Ruling
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.integrations.tool_kinds import ToolKind, is_same_call
from verdikt.integrations.tool_outcome import append_context, outcome_from_result
from verdikt.model.action import ActionKind, Outcome

if TYPE_CHECKING:
    from verdikt.model.action import Action

_agents = import_sdk("agents", "openai-agents")

CHANNEL = "openai_agents.run_state"
"""Over which a person's answer comes."""

# `needs_approval` gets no session, and tracing may be off, so the session travels in a variable of our own.
_SESSION_ID: ContextVar[str] = ContextVar("verdikt_session_id", default="")

_GATE_ATTRIBUTE = "_verdikt_gate"
"""Where a tool holds the gate that decides its calls."""

_SHELL_KIND = ToolKind(ActionKind.BASH)

_COMPUTER_ACTIONS = "screenshot click double_click scroll type wait move keypress drag".split()

_MAX_RULINGS = 4096
"""Number of calls between approval and execution that are remembered; an older one is decided again."""


@contextmanager
def use_session(session_id: str) -> Iterator[None]:
    """Record the calls of runs in this block under a session id."""
    token = _SESSION_ID.set(session_id)
    try:
        yield
    finally:
        _SESSION_ID.reset(token)


@dataclasses.dataclass(slots=True)
class _DecidedCall:
    """A ruling, and whether it has been used: it lets one execution through."""

    ruling: Ruling
    is_used: bool


class AgentToolGate:
    """Decides the calls of tools, in the two places at which the SDK asks: for an approval, and before the call."""

    def __init__(self, governor: ToolGovernor, session_id: str, *, attended: bool) -> None:
        self.governor = governor
        self.session_id = session_id
        self.attended = attended
        self._decided: OrderedDict[tuple[str, str], _DecidedCall] = OrderedDict()
        self._lock = Lock()

    def gates_executor(self, tool: Any) -> bool:
        """Return whether a tool decides its calls in its own executor, after the SDK has announced them."""
        return self._gates(tool) and not isinstance(tool, _agents.FunctionTool)

    def get_session_id(self) -> str:
        """Return the session of the current run."""
        return _SESSION_ID.get() or self.session_id or "default"

    def wrap_tool(self, tool: Any) -> Any:
        """Return a tool that is decided before it runs; tools that the provider runs are returned as they are."""
        if self._gates(tool):
            return tool
        if isinstance(tool, _agents.FunctionTool):
            gated = self._wrap_function(tool)
        elif isinstance(tool, _agents.HostedMCPTool):
            gated = self._wrap_hosted_server(tool)
        elif isinstance(tool, _agents.ShellTool | _agents.LocalShellTool):
            gated = self._wrap_shell(tool)
        elif isinstance(tool, _agents.ApplyPatchTool):
            gated = self._wrap_patch(tool)
        elif isinstance(tool, _agents.CustomTool):
            gated = self._wrap_custom(tool)
        elif isinstance(tool, _agents.ComputerTool):
            gated = self._wrap_computer(tool)
        else:
            return tool
        if gated is not tool:
            setattr(gated, _GATE_ATTRIBUTE, self)
        return gated

    def _gates(self, tool: Any) -> bool:
        return getattr(tool, _GATE_ATTRIBUTE, None) is self

    def find_ruling(self, call_id: str) -> Ruling | None:
        """Return the last ruling about a call of this session, whether or not it has run."""
        with self._lock:
            decided = self._decided.get((self.get_session_id(), call_id))
        return decided.ruling if decided is not None else None

    async def decide(self, tool: str, arguments: object, call_id: str, *, is_used: bool = False) -> Ruling:
        """Decide a call, and remember the ruling for the second place at which the SDK asks about it.

        `is_used` says that it is the second one: the next execution is decided again.
        """
        action = self.build_action(tool, arguments, call_id)
        ruling = await self.governor.adecide(action, can_ask=self.attended)
        with self._lock:
            self._decided[action.session_id, call_id] = _DecidedCall(ruling, is_used)
            while len(self._decided) > _MAX_RULINGS:
                self._decided.popitem(last=False)
        return ruling

    async def decide_execution(self, tool: str, arguments: object, call_id: str, context: Any) -> Ruling:
        """Return the ruling that counts, right before the call: with the person's answer, if there was a question."""
        ruling = self._use_ruling(tool, arguments, call_id)
        if ruling is None:
            ruling = await self.decide(tool, arguments, call_id, is_used=True)
        if not ruling.needs_answer:
            return ruling
        # `always_approve` approves calls that no person has seen: only an answer to the question about this one counts.
        if not ruling.was_asked or context.is_tool_approved(tool, call_id) is not True:
            return ruling
        return await self.governor.adecide_answered(ruling.action, approved=True, channel=CHANNEL)

    def _use_ruling(self, tool: str, arguments: object, call_id: str) -> Ruling | None:
        """Return the remembered ruling of this very call, once; None when it has to be decided."""
        with self._lock:
            decided = self._decided.get((self.get_session_id(), call_id))
            if decided is None or decided.is_used:
                return None
            decided.is_used = True
        ruling = decided.ruling
        # Time has passed since a question, and the answer is not in the ruling.
        is_standing = not ruling.needs_answer and is_same_call(self.governor.kinds, ruling.action, tool, arguments)
        return ruling if is_standing else None

    def build_action(self, tool: str, arguments: object, call_id: str) -> Action:
        """Return a call as an action."""
        return self.governor.build_action(tool, arguments, call_id=call_id, session_id=self.get_session_id())

    def _wrap_function(self, tool: Any) -> Any:
        async def check_input(data: Any) -> Any:
            context = data.context
            ruling = await self.decide_execution(
                tool.name, context.tool_arguments or "{}", context.tool_call_id, context
            )
            output = _agents.ToolGuardrailFunctionOutput
            return output.allow() if ruling.may_run else output.reject_content(ruling.text)

        async def record_output(data: Any) -> Any:
            output = _agents.ToolGuardrailFunctionOutput
            context = data.context
            ruling = self.find_ruling(context.tool_call_id)
            if ruling is None:
                return output.allow()
            text = await self.governor.areport(ruling.action, outcome_from_result(data.output))
            notes = ruling.join_notes(text)
            # The only way to append to a result is to replace it.
            return output.reject_content(f"{data.output}\n\n{notes}") if notes else output.allow()

        return _copy_tool(
            tool,
            needs_approval=self._build_approval(tool, lambda arguments: arguments),
            tool_input_guardrails=[
                *(tool.tool_input_guardrails or []),
                _agents.ToolInputGuardrail(guardrail_function=check_input, name="verdikt"),
            ],
            tool_output_guardrails=[
                _agents.ToolOutputGuardrail(guardrail_function=record_output, name="verdikt"),
                *(tool.tool_output_guardrails or []),
            ],
        )

    def _wrap_shell(self, tool: Any) -> Any:
        if tool.executor is None:
            return tool  # the provider's container

        async def run(request: Any) -> Any:
            arguments = {"command": _read_commands(request.data.action)}
            context, call_id = request.ctx_wrapper, str(request.data.call_id)
            return await self._execute(tool.name, arguments, call_id, context, lambda: tool.executor(request))

        self.governor.kinds.setdefault(tool.name, _SHELL_KIND)
        if isinstance(tool, _agents.LocalShellTool):
            return _copy_tool(tool, executor=run)  # it cannot pause, so an ask is refused
        needs_approval = self._build_approval(tool, lambda action: {"command": _read_commands(action)})
        return _copy_tool(tool, executor=run, needs_approval=needs_approval)

    def _wrap_patch(self, tool: Any) -> Any:
        """Return a patch tool whose editor decides. An editor is not told the call, so an ask cannot wait: a block."""
        return _copy_tool(tool, editor=_GovernedEditor(tool.editor, self, tool.name))

    def _wrap_custom(self, tool: Any) -> Any:
        async def run(context: Any, text: str) -> Any:
            call_id = context.tool_call_id
            return await self._execute(
                tool.name, {"input": text}, call_id, context, lambda: tool.on_invoke_tool(context, text)
            )

        needs_approval = self._build_approval(tool, lambda text: {"input": text})
        return _copy_tool(tool, on_invoke_tool=run, runtime_needs_approval=lambda: needs_approval)

    def _wrap_computer(self, tool: Any) -> Any:
        """Return a computer each of whose actions is decided. It has no place for a text: a refusal ends the run."""
        source = tool.computer
        if isinstance(source, _agents.ComputerProvider):
            computer = dataclasses.replace(source, create=self._wrap_factory(source.create, tool.name))
        elif callable(source):
            computer = self._wrap_factory(source, tool.name)
        else:
            computer = self._close_computer(source, tool.name)
        return dataclasses.replace(tool, computer=computer)

    def _wrap_factory(self, create: Callable[..., Any], tool: str) -> Callable[..., Any]:
        async def create_governed(**options: Any) -> Any:
            computer = create(**options)
            return self._close_computer(await computer if isawaitable(computer) else computer, tool)

        return create_governed

    def _close_computer(self, computer: Any, tool: str) -> Any:
        """Gate the actions of a computer in place: the program disposes of this very object."""
        if not self._gates(computer):
            for name in _COMPUTER_ACTIONS:
                setattr(computer, name, self._decide_first(getattr(computer, name), tool, name))
            setattr(computer, _GATE_ATTRIBUTE, self)
        return computer

    def _decide_first(self, act: Callable[..., Any], tool: str, name: str) -> Callable[..., Any]:
        @wraps(act)
        async def act_governed(*args: Any, **options: Any) -> Any:
            action = self.build_action(tool, {"action": name, "arguments": args, **options}, "")
            ruling = await self.governor.adecide(action, can_ask=False)
            if not ruling.may_run:
                raise ruling.build_error()
            with self.governor.report_errors(action):
                result = act(*args, **options)
                result = await result if isawaitable(result) else result
            # Not the result, which is a picture.
            await self.governor.areport(action, Outcome(success=True))
            return result

        return act_governed

    def build_hosted_action(self, call: Any, session_id: str = "") -> Action:
        """Return a call of an MCP server that the provider makes as an action; `call` is its request or its result."""
        call_id = read_field(call, "approval_request_id") or read_field(call, "id")
        tool = f"mcp__{read_field(call, 'server_label')}__{read_field(call, 'name')}"
        session_id = session_id or self.get_session_id()
        return self.governor.build_action(
            tool, read_field(call, "arguments") or "{}", call_id=call_id, session_id=session_id
        )

    def _wrap_hosted_server(self, tool: Any) -> Any:
        """Return an MCP server of the provider whose calls are decided when the provider asks, which it then must.

        A server without a function of the program for that pauses the run at each call; there a person's answer is
        decided, in `answer_interruption`.
        """
        setting, own = tool.tool_config.get("require_approval"), tool.on_approval_request
        if own is None and setting != "never":
            return tool

        async def answer(request: Any) -> dict[str, Any]:
            action = self.build_hosted_action(request.data)
            ruling = await self.governor.adecide(action, can_ask=own is not None)
            if own is not None and (ruling.needs_answer or (ruling.may_run and setting != "never")):
                result = own(request)
                result = await result if isawaitable(result) else result
                is_approved = result["approve"] is True
                if not ruling.needs_answer:
                    return result if not is_approved else {"approve": True}
                ruling = await self.governor.adecide_answered(
                    action, approved=is_approved, channel="openai_agents.on_approval_request"
                )
            return {"approve": True} if ruling.may_run else {"approve": False, "reason": ruling.text}

        config = tool.tool_config if setting != "never" else {**tool.tool_config, "require_approval": "always"}
        return _copy_tool(tool, tool_config=config, on_approval_request=answer)

    def _build_approval(self, tool: Any, read_arguments: Callable[[Any], Any]) -> Callable[..., Awaitable[bool]]:
        """Return what the SDK asks whether a call waits for a person: first ours, then the tool's own setting."""
        # A custom tool may adapt its setting: that of a sandbox takes operations of a patch, where the SDK has a text.
        setting = getattr(tool, "runtime_needs_approval", lambda: tool.needs_approval)

        async def needs_approval(context: Any, given: Any, call_id: str) -> bool:
            ruling = await self.decide(tool.name, read_arguments(given), call_id)
            # What is blocked must not reach a person: it is refused with its reason when it would run.
            if ruling.needs_answer or not ruling.may_run:
                return ruling.needs_answer
            return await _evaluate_setting(setting(), context, given, call_id)

        return needs_approval

    async def _execute(
        self, tool: str, arguments: dict[str, Any], call_id: str, context: Any, run: Callable[[], Any]
    ) -> Any:
        """Run a call that may run, and record its outcome; return the refusal otherwise."""
        ruling = await self.decide_execution(tool, arguments, call_id, context)
        if not ruling.may_run:
            return ruling.text
        with self.governor.report_errors(ruling.action):
            result = run()
            result = await result if isawaitable(result) else result
        text = await self.governor.areport(ruling.action, outcome_from_result(result))
        return append_context(result, ruling.join_notes(text))


class _GovernedEditor:
    """An editor of patches that changes a file only if the call was decided."""

    def __init__(self, editor: Any, gate: AgentToolGate, tool: str) -> None:
        self.editor = editor
        self.gate = gate
        self.tool = tool

    def create_file(self, operation: Any) -> Any:
        """Create a file."""
        return self._edit(self.editor.create_file, operation)

    def update_file(self, operation: Any) -> Any:
        """Change a file."""
        return self._edit(self.editor.update_file, operation)

    def delete_file(self, operation: Any) -> Any:
        """Delete a file."""
        return self._edit(self.editor.delete_file, operation)

    async def _edit(self, edit: Callable[[Any], Any], operation: Any) -> Any:
        governor = self.gate.governor
        actions = [
            dataclasses.replace(self.gate.build_action(f"{self.tool}.{operation.type}", payload, ""), kind=kind)
            for kind, payload in _describe_operation(operation)
        ]
        for action in actions:
            ruling = await governor.adecide(action, can_ask=False)
            if not ruling.may_run:
                raise ruling.build_error()  # the SDK shows the text to the model as the tool's output
        with ExitStack() as reports:
            for action in actions:
                reports.enter_context(governor.report_errors(action))
            result = edit(operation)
            result = await result if isawaitable(result) else result
        for action in actions:
            await governor.areport(action, outcome_from_result(result))
        return result


def read_field(item: Any, name: str) -> Any:
    """Return a field of an item of the SDK, which is an object or a mapping."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _copy_tool(tool: Any, **changes: Any) -> Any:
    """Return a copy with other fields; tools of a sandbox have constructors of their own, so `replace` cannot do it."""
    copied = copy.copy(tool)
    for name, value in changes.items():
        setattr(copied, name, value)
    return copied


async def _evaluate_setting(setting: Any, *arguments: Any) -> bool:
    """Return what the tool's own `needs_approval` says; everything but a plain False pauses."""
    value = setting(*arguments) if callable(setting) else setting
    return (await value if isawaitable(value) else value) is not False


def _read_commands(action: Any) -> str:
    """Return the commands of a shell call as one script, in the order in which they run."""
    commands = getattr(action, "commands", None)
    if commands is not None:
        return "\n".join(commands)
    command = getattr(action, "command", "")
    return command if isinstance(command, str) else shlex.join(map(str, command))


def _describe_operation(operation: Any) -> Iterator[tuple[ActionKind, dict[str, Any]]]:
    """Yield what an operation of a patch does: a deletion is classified like `rm`, a move also writes its new path."""
    if operation.type == "delete_file":
        yield ActionKind.BASH, {"command": shlex.join(["rm", "--", str(operation.path)])}
        return
    for path in (operation.path, getattr(operation, "move_to", None)):
        if path is not None:
            yield ActionKind.WRITE, {"path": str(path), "content": str(operation.diff or "")}
