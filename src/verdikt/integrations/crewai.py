"""CrewAI: `install` decides every tool call of every crew in this process.

    install()

CrewAI runs a tool when a hook fails, and anything in the process can clear its registry of hooks or change the
arguments behind ours. So the tools themselves look for the decision as well: a call without one is decided where it
runs. CrewAI has no place to wait for a person: `ask` puts the question while the call waits, and without it an ask is a
block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from verdikt.integrations.permit import CURRENT_PERMIT, Permit, take_permit
from verdikt.integrations.person_callback import AskPerson, decide_with_callback
from verdikt.integrations.ruling import Ruling
from verdikt.integrations.sdk_import import import_sdk
from verdikt.integrations.tool_governor import MAX_REFUSALS, ToolGovernor
from verdikt.integrations.tool_outcome import append_context, outcome_from_result
from verdikt.model.action import ActionKind

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.integrations.tool_kinds import ToolKinds

_EXTRA = "crewai"
_hooks = import_sdk("crewai.hooks.dispatch", _EXTRA)
_base_tool = import_sdk("crewai.tools.base_tool", _EXTRA)
_structured_tool = import_sdk("crewai.tools.structured_tool", _EXTRA)
_sanitize_name = import_sdk("crewai.utilities.string_utils", _EXTRA).sanitize_tool_name

_DELEGATION_TOOLS = ("delegate_work_to_coworker", "ask_question_to_coworker")
"""CrewAI's own tools that start another agent, whose calls are decided like all others."""

# The crew that runs in this task or thread, for calls that reach a tool without a hook.
_SESSION_ID: ContextVar[str] = ContextVar("verdikt_crew_session", default="")

_active: CrewGovernor | None = None


def install(
    governance: Governance | None = None,
    *,
    kinds: ToolKinds | None = None,
    session_id: str | Callable[[], str] = "",
    ask: AskPerson | None = None,
    by: str = "",
    max_refusals: int = MAX_REFUSALS,
) -> CrewGovernor:
    """Govern all crews of this process from now on; a second call replaces the first.

    The session in the log is `session_id`, or else the crew's id. `ask` is called with the question when a person must
    decide, `by` is who answers there.
    """
    global _active  # noqa: PLW0603 - CrewAI's registry of hooks is global, and so are its tools
    if _active is not None:
        _active.uninstall()
    names = {_sanitize_name(name): kind for name, kind in (kinds or {}).items()}
    names = dict.fromkeys(_DELEGATION_TOOLS, ActionKind.AGENT) | names
    governor = ToolGovernor(governance, names, host="crewai", max_refusals=max_refusals)
    _active = CrewGovernor(governor, session_id, ask, by)
    _gate_tools()
    _active.register_hooks()
    return _active


class CrewGovernor:
    """What `install` has installed; `uninstall` takes it away."""

    def __init__(
        self, governor: ToolGovernor, session_id: str | Callable[[], str], ask: AskPerson | None, by: str
    ) -> None:
        self.governor = governor
        self.session_id = session_id
        self.ask = ask
        self.by = by
        points = _hooks.InterceptionPoint
        self._registrations = (
            (points.EXECUTION_START, self._begin_turn),
            (points.PRE_TOOL_CALL, self._check_call),
            (points.POST_TOOL_CALL, self._show_outcome),
        )

    def register_hooks(self) -> None:
        """Register the hooks that are not registered: anything in the process can clear them."""
        for point, hook in self._registrations:
            if hook not in _hooks.get_global_hook_list(point):
                _hooks.register(point, hook)

    def uninstall(self) -> None:
        """Stop to govern: crews of this process run as without verdikt."""
        global _active  # noqa: PLW0603
        for point, hook in self._registrations:
            _hooks.unregister(point, hook)
        if _active is self:
            _active = None

    def decide(self, tool: str, arguments: object) -> Ruling:
        """Decide a call, with a question to a person if need be."""
        action = self.governor.build_action(
            tool, arguments, call_id=uuid4().hex, session_id=_SESSION_ID.get() or self._get_own_session_id()
        )
        return decide_with_callback(self.governor, action, self.ask, by=self.by)

    def _get_own_session_id(self) -> str:
        return str(self.session_id() if callable(self.session_id) else self.session_id)

    def _enter_session(self, context: Any) -> str:
        crew_id = str(getattr(context.crew, "id", "") or "")
        session_id = self._get_own_session_id() or crew_id
        _SESSION_ID.set(session_id)
        return session_id

    def _begin_turn(self, context: Any) -> None:
        """Record the request; have the end of the last task checked."""
        session_id = self._enter_session(context)
        tasks = list(getattr(context.crew, "tasks", None) or ())
        text = "\n".join(str(task.description) for task in tasks)
        inputs = f"\n{context.inputs}" if context.inputs else ""
        self.governor.begin_turn(text + inputs, session_id=session_id)
        if tasks:
            _add_guardrail(tasks[-1], _EndCheck(self.governor, session_id, tasks[-1].guardrail_max_retries))

    def _check_call(self, context: Any) -> None:
        """Raise `HookAborted` for a call that may not run: no other answer and no other exception stops it."""
        try:
            self._enter_session(context)
            ruling = self.decide(context.tool_name, context.tool_input)
            CURRENT_PERMIT.set(Permit(context.tool_name, context.tool_input, ruling))
        except Exception as error:
            # CrewAI ignores it and runs the tool; what is no `Exception`, such as Ctrl-C, ends the crew by itself.
            raise _hooks.HookAborted(reason=f"no decision could be made: {type(error).__name__}") from error
        if not ruling.may_run:
            raise _hooks.HookAborted(reason=ruling.text)

    def _show_outcome(self, context: Any) -> str | None:
        """Return the refusal instead of CrewAI's fixed sentence, or the result with what the policy has to say."""
        permit = CURRENT_PERMIT.get()
        if permit is None or permit.ruling.action.tool != context.tool_name:
            return None
        if not permit.ruling.may_run:
            return permit.ruling.text
        notes = permit.ruling.join_notes(*permit.notes)
        return append_context(context.tool_result, notes) if notes else None


class _EndCheck:
    """A guardrail of the last task: an unproven end is sent back to work."""

    def __init__(self, governor: ToolGovernor, session_id: str, max_retries: int) -> None:
        self.governor = governor
        self.session_id = session_id
        self.retries_left = max_retries

    def check_end(self, output: Any) -> tuple[bool, Any]:
        """Return whether the task may end, with the output or the reason why not."""
        # One refusal more than the task has retries would end the crew with an error.
        if self.retries_left <= 0:
            return True, output
        reason = self.governor.refuse_stop(str(output.raw), session_id=self.session_id)
        self.retries_left -= 1
        return (False, reason) if reason else (True, output)


def _add_guardrail(task: Any, check: _EndCheck) -> None:
    """Put the check behind the guardrails of a task, in place of that of an earlier run."""
    own = task._guardrails or ([task._guardrail] if task._guardrail is not None else [])
    others = [guardrail for guardrail in own if not isinstance(getattr(guardrail, "__self__", None), _EndCheck)]
    # A method, not an object that can be called: CrewAI reads the guardrail's source for its events.
    task._guardrails = [*others, check.check_end]
    task._guardrail = None


def _gate_tools() -> None:
    """Let the methods by which CrewAI executes tools ask for the decision; once per process."""
    for cls, name, read_arguments in (
        (_base_tool.BaseTool, "run", _read_call),
        (_base_tool.BaseTool, "arun", _read_call),
        (_base_tool.Tool, "run", _read_call),
        (_base_tool.Tool, "arun", _read_call),
        (_structured_tool.CrewStructuredTool, "invoke", _read_input),
        (_structured_tool.CrewStructuredTool, "ainvoke", _read_input),
    ):
        method = cls.__dict__[name]
        if not hasattr(method, "verdikt_is_gated"):
            setattr(cls, name, _gate_method(method, read_arguments))


def _gate_method(method: Any, read_arguments: Callable[..., Any]) -> Any:
    """Return a method that runs only what was decided; one that returns an awaitable records its outcome later."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        crews = _active
        if crews is None:
            return method(self, *args, **kwargs)
        permit = _require_permit(crews, _sanitize_name(self.name), read_arguments(self, args, kwargs))
        with crews.governor.report_errors(permit.ruling.action):
            result = method(self, *args, **kwargs)
        if isawaitable(result):
            return _finish_awaitable(crews, permit, result)
        _note_result(crews, permit, result)
        return result

    run.verdikt_is_gated = True  # type: ignore[attr-defined]
    return run


async def _finish_awaitable(crews: CrewGovernor, permit: Permit, pending: Any) -> Any:
    with crews.governor.report_errors(permit.ruling.action):
        result = await pending
    _note_result(crews, permit, result)
    return result


def _require_permit(crews: CrewGovernor, tool: str, arguments: Any) -> Permit:
    """Return the permit of an execution, from the hook or from a decision made here; raise when it may not run."""
    permit = take_permit(tool, arguments)
    if permit is not None:
        return permit
    crews.register_hooks()
    ruling = crews.decide(tool, arguments)
    permit = Permit(tool, arguments, ruling)
    CURRENT_PERMIT.set(permit)
    if not permit.take(tool, arguments):
        raise ruling.build_error()
    return permit


def _note_result(crews: CrewGovernor, permit: Permit, result: Any) -> None:
    text = crews.governor.report(permit.ruling.action, outcome_from_result(result))
    permit.notes.extend([text] if text else [])


def _read_call(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments of `run`: by name, as the model gave them; positional ones get their names."""
    names = list(tool.args_schema.model_fields) if args else []
    return dict(zip(names, args, strict=False)) | kwargs if len(args) <= len(names) else {"args": list(args), **kwargs}


def _read_input(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments of `invoke`."""
    return args[0] if args else kwargs.get("input")
