"""`govern` on every shape of callable: what the policy refuses leaves no side effect."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.errors import BlockedError
from verdikt.govern import Governance
from verdikt.integrations import ToolKind, govern
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import ActionKind
from verdikt.model.entry import EntryKind
from verdikt.policy import parse_policy

POLICY = """
profile: none
rules:
  - {name: no_drops, command: drop, verdict: block, reason: it loses data, fix: archive it}
  - {name: deploys, command: deploy, verdict: ask, reason: it goes live, fix: wait for a release}
"""
REFUSAL = "Blocked by policy (no_drops): it loses data. Instead: archive it"
KINDS = {"sh": ActionKind.BASH}


@pytest.fixture
def governance(tmp_path: Path) -> Governance:
    """Return governance by three rules."""
    store = close_after_test(FileStore(tmp_path / "data", FakeClock(), load_projections(), durable=False))
    return Governance(parse_policy(POLICY), store, world_factory=lambda cwd: FakeWorld(), clock=FakeClock())


RAN: list[str] = []


@pytest.fixture(autouse=True)
def _forget_runs() -> None:
    RAN.clear()


def run_sync(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return f"ran {command}"


async def run_async(command: str) -> str:
    """Run a command."""
    return run_sync(command)


def run_in_two_steps(command: str) -> Any:
    """Return a coroutine that runs a command."""
    return run_async(command)


def run_generator(command: str) -> Iterator[str]:
    """Run a command step by step."""
    RAN.append(command)
    yield "ran"
    yield command


async def run_async_generator(command: str) -> AsyncIterator[str]:
    """Run a command step by step."""
    for value in run_generator(command):
        yield value


class Shell:
    """A tool with methods, and a callable object."""

    def run(self, command: str) -> str:
        """Run a command."""
        return run_sync(command)

    async def run_later(self, command: str) -> str:
        """Run a command."""
        return run_sync(command)

    def __call__(self, command: str) -> str:
        """Run a command."""
        return run_sync(command)


async def _collect(values: AsyncIterator[str]) -> str:
    return " ".join([value async for value in values])


def _finish(result: Any) -> Any:
    """Return what a call gives, whatever its colour."""
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    if inspect.isasyncgen(result):
        return asyncio.run(_collect(result))
    return " ".join(result) if inspect.isgenerator(result) else result


SHAPES: dict[str, Callable[..., Any]] = {
    "function": run_sync,
    "coroutine": run_async,
    "generator": run_generator,
    "async generator": run_async_generator,
    "bound method": Shell().run,
    "async bound method": Shell().run_later,
    "callable object": Shell(),
    "partial": partial(run_sync),
    "partial of a coroutine": partial(run_async),
    "function that returns a coroutine": run_in_two_steps,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_pass_runs_once_and_changes_nothing(governance: Governance, shape: str) -> None:
    """What passes runs as before, with its outcome in the log."""
    governed = govern(SHAPES[shape], governance=governance, kinds=KINDS, name="sh", session_id="s1")

    assert _finish(governed(command="ls")) == "ran ls"

    assert RAN == ["ls"]
    kinds = [entry.kind for entry in governance.store.read_entries("s1")]
    assert kinds == [EntryKind.DECISION, EntryKind.TOOL_CALL]


@pytest.mark.parametrize("shape", SHAPES)
def test_block_leaves_no_side_effect(governance: Governance, shape: str) -> None:
    """A refused call raises with reason and fix, or returns them, and the function does not run."""
    governed = govern(SHAPES[shape], governance=governance, kinds=KINDS, name="sh")
    with pytest.raises(BlockedError, match=r"Blocked by policy \(no_drops\): it loses data. Instead: archive it"):
        _finish(governed("drop all"))

    returning = govern(SHAPES[shape], governance=governance, kinds=KINDS, name="sh", refuse="return")
    assert _finish(returning("drop all")) == REFUSAL
    assert RAN == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("answer", "runs"),
    [(True, True), (False, False), (None, False), ("yes", False), (1, False), (OSError, False)],
)
def test_ask_runs_only_after_a_plain_true(governance: Governance, shape: str, answer: Any, runs: bool) -> None:
    """No answer, a text or a failing callback is no yes."""
    questions = []

    def ask(question: dict[str, Any]) -> Any:
        questions.append(question)
        if answer is OSError:
            raise OSError("no terminal")
        return answer

    governed = govern(
        SHAPES[shape], governance=governance, kinds=KINDS, name="sh", ask=ask, refuse="return", session_id="s1"
    )
    _finish(governed("deploy now"))

    assert bool(RAN) is runs
    assert (questions[0]["tool"], questions[0]["args"], questions[0]["reason"]) == (
        "sh",
        {"command": "deploy now"},
        "it goes live",
    )
    answers = [entry.body["approved"] for entry in governance.store.read_entries("s1") if entry.kind == "answer"]
    assert answers == [runs]


@pytest.mark.parametrize("shape", SHAPES)
def test_ask_without_a_person_is_a_block(governance: Governance, shape: str) -> None:
    """Where no callback is given, the posture is autonomous."""
    with pytest.raises(BlockedError, match="none is there to answer"):
        _finish(govern(SHAPES[shape], governance=governance, kinds=KINDS, name="sh")("deploy now"))
    assert RAN == []


def test_async_answer_counts_in_async_tools_only(governance: Governance) -> None:
    """A coroutine that a plain function cannot await is not a yes."""

    async def ask(question: dict[str, Any]) -> bool:
        return True

    fields: dict[str, Any] = {"governance": governance, "kinds": KINDS, "name": "sh", "ask": ask, "refuse": "return"}
    assert _finish(govern(run_async, **fields)("deploy now")) == "ran deploy now"
    RAN.clear()
    govern(run_sync, **fields)("deploy now")
    assert RAN == []


def test_methods_of_a_class_are_governed_by_decorators(governance: Governance) -> None:
    """Decorated methods get their object, which is no part of the recorded arguments."""

    class Tools:
        @govern(governance=governance, kinds={"run": "bash"})
        def run(self, command: str) -> str:
            return run_sync(command)

        @govern(governance=governance, kinds={"check": "bash"})
        @staticmethod
        def check(command: str) -> str:
            return run_sync(command)

        @govern(governance=governance, kinds={"make": "bash"}, session_id=lambda: "s1")
        @classmethod
        def make(cls, command: str) -> str:
            return run_sync(command)

    assert [Tools().run("ls"), Tools.check("ls"), Tools.make("ls")] == ["ran ls"] * 3
    for call in (Tools().run, Tools.check, Tools.make):
        with pytest.raises(BlockedError):
            call("drop all")
    assert RAN == ["ls"] * 3
    decision = next(iter(governance.store.read_entries("s1")))
    assert decision.body["receipt"]["action"]["payload"] == {"command": "ls"}


def answer_words() -> Any:
    """Yield what was sent, and the message of what was thrown."""
    word = "ready"
    while True:
        try:
            word = yield word
        except ValueError as error:
            word = f"caught {error}"
        if word is None:
            return


async def answer_words_later() -> Any:
    """Yield what was sent, and the message of what was thrown."""
    words = answer_words()
    word = next(words)
    while True:
        try:
            sent = yield word
        except ValueError as error:
            word = words.throw(error)
        else:
            try:
                word = words.send(sent)
            except StopIteration:
                return


async def _talk_later(values: Any) -> list[Any]:
    said = [await anext(values), await values.asend("hello"), await values.athrow(ValueError("oops"))]
    return said if await anext(values, None) is None else []


def _talk(values: Any) -> list[Any]:
    said = [next(values), values.send("hello"), values.throw(ValueError("oops"))]
    return said if next(values, None) is None else []


@pytest.mark.parametrize("function", [answer_words, answer_words_later])
def test_generator_gets_what_is_sent_and_thrown(governance: Governance, function: Any) -> None:
    """A generator that talks with its caller goes on doing so, and its end is a success in the log."""
    values = govern(function, governance=governance, kinds={function.__name__: "agent"}, session_id="s1")()

    said = asyncio.run(_talk_later(values)) if inspect.isasyncgen(values) else _talk(values)

    assert said == ["ready", "hello", "caught oops"]
    assert [entry.body.get("success") for entry in governance.store.read_entries("s1")][1:] == [True]


def test_wrapper_looks_like_the_function(governance: Governance) -> None:
    """SDKs build a tool's schema from name, docstring, signature and annotations."""
    governed = govern(run_async, governance=governance)

    assert (governed.__name__, governed.__doc__) == ("run_async", "Run a command.")
    assert inspect.signature(governed) == inspect.signature(run_async)
    assert inspect.iscoroutinefunction(governed)


@pytest.mark.parametrize("failure", [RuntimeError, None, "pass", object()])
@pytest.mark.parametrize("shape", ["function", "coroutine", "generator", "async generator"])
def test_governance_that_fails_blocks(
    governance: Governance, monkeypatch: pytest.MonkeyPatch, failure: object, shape: str
) -> None:
    """A governance that raises, or returns rubbish, is no permission."""

    def before(action: object, *, posture: object = None) -> object:
        if failure is RuntimeError:
            raise RuntimeError("broken")
        return failure

    monkeypatch.setattr(governance, "before", before)
    with pytest.raises(BlockedError, match="no decision could be made"):
        _finish(govern(SHAPES[shape], governance=governance, kinds=KINDS, name="sh")("ls"))
    assert RAN == []


def test_failure_of_after_is_invisible(governance: Governance, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool has run: its result reaches the caller."""

    def after(action: object, outcome: object) -> object:
        raise RuntimeError("disk full")

    monkeypatch.setattr(governance, "after", after)
    assert govern(run_sync, governance=governance, kinds={"run_sync": "bash"})("ls") == "ran ls"


def test_error_of_the_function_is_recorded_and_raised(governance: Governance) -> None:
    """The caller sees the function's own exception."""

    def fail(command: str) -> None:
        raise ValueError("no such file")

    with pytest.raises(ValueError, match="no such file"):
        govern(fail, governance=governance, kinds={"fail": "bash"}, session_id="s1")("ls")
    assert list(governance.store.read_entries("s1"))[-1].body["success"] is False


@pytest.mark.parametrize(
    ("kinds", "arguments", "verdict"),
    [
        ({"sh": "bash"}, {"line": "drop all"}, "block"),
        ({"sh": "bash"}, {"input": "drop all"}, "block"),
        ({"sh": "bash"}, {"chars": "drop all"}, "block"),
        ({"sh": ToolKind(ActionKind.BASH, argument="line")}, {"line": "drop all", "command": "ls"}, "block"),
        ({"sh": "bash"}, {"command": "ls", "cmd": "drop all"}, "unknown"),
        ({"sh": "bash"}, {"first": "ls", "second": "drop all"}, "unknown"),
        ({"sh": "bash"}, {}, "unknown"),
        ({}, {"command": "ls"}, "unknown"),
        ({"other": "bash"}, {"command": "ls"}, "unknown"),
        ({"sh": "bash"}, {"command": "ls"}, "runs"),
    ],
)
def test_argument_that_decides_is_the_one_that_runs(
    governance: Governance, kinds: dict[str, Any], arguments: dict[str, str], verdict: str
) -> None:
    """A shell tool whose command cannot be told from its arguments is an unknown tool, never a harmless one."""

    def sh(**words: str) -> None:
        RAN.append("ran")

    governed = govern(sh, governance=governance, kinds=kinds)
    if verdict == "runs":
        governed(**arguments)
    else:
        with pytest.raises(BlockedError, match="no_drops" if verdict == "block" else "unknown_tool"):
            governed(**arguments)
    assert (["ran"] if verdict == "runs" else []) == RAN


def test_keyword_does_not_take_the_place_of_a_positional_argument(governance: Governance) -> None:
    """A function may have both: what is decided is the command, and not a keyword of that name."""

    def sh(command: str, /, **options: str) -> None:
        RAN.append(command)

    governed = govern(sh, governance=governance, kinds={"sh": ToolKind(ActionKind.BASH, argument="command")})
    with pytest.raises(BlockedError, match="no_drops"):
        governed("drop all", command="ls")
    assert RAN == []


def test_kind_that_does_not_exist_is_refused(governance: Governance) -> None:
    """A misspelt kind is found when the tool is governed, not when it runs."""
    with pytest.raises(ValueError, match="'bahs' is not a valid ActionKind"):
        govern(run_sync, governance=governance, kinds={"run_sync": "bahs"})
