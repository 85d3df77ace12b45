"""Pipeline and enforcer: guards in order of layers, and refusals that raise or exit."""

import asyncio

import pytest

from tests.graphs import ACTION, ScriptedGuard
from verdikt.enforcement import Enforcer
from verdikt.engine import PolicyEngine
from verdikt.errors import BlockedError, PolicyError
from verdikt.graph.combinator import Escalate
from verdikt.graph.pipeline import Pipeline
from verdikt.guards import AuditGuard, BashSafetyGuard, BudgetGuard
from verdikt.model.action import Action, ActionKind


def test_a_pipeline_runs_in_the_order_of_layers_and_stops_at_a_block() -> None:
    """OBSERVE guards see every action all the same."""
    audit, intent = AuditGuard(), ScriptedGuard("pass", "intent")
    pipeline = Pipeline([audit, intent, BudgetGuard(max_tasks=9), BashSafetyGuard()])
    result = PolicyEngine(pipeline).evaluate(Action(kind=ActionKind.BASH, payload={"command": "rm -rf /"}))

    assert [entry.node for entry in result.trace] == ["pipeline", "bash_safety", "audit"]
    assert (intent.call_count, len(audit.records)) == (0, 1)
    assert [child.name for child in pipeline.children] == ["bash_safety", "budget", "intent", "audit"]
    assert pipeline.evaluate(ACTION).passed


def test_a_pipeline_hides_no_red_line_from_escalate() -> None:
    """Under `Escalate` it goes on to the end."""
    assert (
        not PolicyEngine(Escalate(Pipeline([ScriptedGuard("block"), ScriptedGuard("red")]), ScriptedGuard("pass")))
        .evaluate(ACTION)
        .passed
    )


def test_pipeline_without_guards_is_refused() -> None:
    """An empty pipeline would pass everything, so it cannot be built."""
    with pytest.raises(PolicyError, match=r"^`pipeline` needs at least one guard$"):
        Pipeline([])


def test_block_raises_an_error_with_reason_and_fix() -> None:
    """The error has guard, reason and fix, in its message and as attributes."""
    with pytest.raises(BlockedError) as caught:
        Enforcer(ScriptedGuard("block", "boss")).enforce(ACTION)

    assert str(caught.value) == "boss: boss says so\nfix: ask boss nicely"
    assert (caught.value.guard, caught.value.reason, caught.value.fix) == ("boss", "boss says so", "ask boss nicely")


@pytest.mark.parametrize(("answer", "goes_on"), [(True, True), (False, False), (None, False), ("yes", False)])
def test_a_person_may_agree_to_an_ask(answer: object, goes_on: bool) -> None:
    """And only a plain yes counts; no user is asked about a block."""
    enforcer = Enforcer(ScriptedGuard("ask"), ask=lambda result: answer)  # type: ignore[arg-type, return-value]
    if goes_on:
        assert not enforcer.enforce(ACTION).passed
    else:
        with pytest.raises(BlockedError):
            enforcer.enforce(ACTION)
    with pytest.raises(BlockedError):
        Enforcer(ScriptedGuard("block"), ask=lambda result: True).enforce(ACTION)


def test_ask_without_a_callback_raises() -> None:
    """An ask is a block when there is no callback that could answer it."""
    with pytest.raises(BlockedError):
        Enforcer(ScriptedGuard("ask")).enforce(ACTION)


def test_decorated_function_runs_only_if_its_action_passes() -> None:
    """The arguments by name are the payload, and the outcome is recorded."""
    enforcer = Enforcer(BashSafetyGuard())
    ran: list[str] = []

    @enforcer.tool(ActionKind.BASH, command="line")
    def shell(line: str, *, fail: bool = False) -> str:
        """Run a command."""
        ran.append(line)
        if fail:
            raise OSError("no shell")
        return line.upper()

    assert shell("ls") == "LS"
    with pytest.raises(BlockedError):
        shell("rm -rf /")
    with pytest.raises(OSError, match="no shell"):
        shell("ls", fail=True)
    with pytest.raises(TypeError):
        shell()  # type: ignore[call-arg]
    history = enforcer.engine.evaluate(ACTION).context.session.history

    assert ran == ["ls", "ls"]
    assert (shell.__name__, shell.__doc__) == ("shell", "Run a command.")
    assert [(entry["tool"], entry["verdict"], entry["success"]) for entry in history[:3]] == [
        ("shell", "pass", True),
        ("shell", "block", None),
        ("shell", "pass", False),
    ]


def test_decorated_coroutine_runs_only_if_its_action_passes() -> None:
    """A coroutine function is governed when it is awaited."""
    enforcer = Enforcer(BashSafetyGuard())

    @enforcer.tool(ActionKind.BASH)
    async def shell(command: str) -> str:
        return command.upper()

    async def session() -> str:
        with pytest.raises(BlockedError):
            await shell("rm -rf /")
        return await shell("ls")

    assert asyncio.run(session()) == "LS"
    assert [entry["success"] for entry in enforcer.engine.evaluate(ACTION).context.session.history[:2]] == [None, True]


def test_tool_without_parentheses_is_a_decorator() -> None:
    """`@enforcer.tool` governs a function under its own name, like `@enforcer.tool()`."""
    enforcer = Enforcer(ScriptedGuard("block"))

    @enforcer.tool
    def plain(text: str) -> str:
        return text

    with pytest.raises(BlockedError):
        plain("a")
    with pytest.raises(TypeError, match="expected an ActionKind or a function, found `str`"):
        enforcer.tool("bash")  # type: ignore[call-overload]
    assert Enforcer(ScriptedGuard("pass")).tool(plain.__wrapped__)("b") == "b"  # type: ignore[attr-defined]
