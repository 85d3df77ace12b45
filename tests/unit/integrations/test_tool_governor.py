"""What all adapters share: a ruling always comes, refusals are counted, and a missing SDK is named with its extra."""

import asyncio
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.govern import Governance
from verdikt.integrations.ruling import render_refusal
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.integrations.tool_kinds import ToolKind, to_payload
from verdikt.integrations.tool_outcome import append_context, outcome_from_result
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Answer
from verdikt.model.posture import Posture
from verdikt.model.verdict import Verdict, VerdictKind
from verdikt.policy import parse_policy

POLICY = """
profile: none
rules:
  - {name: no_drops, command: drop, verdict: block, reason: it loses data., fix: archive it}
  - {name: deploys, command: deploy, verdict: ask, reason: it goes live, fix: wait for a release}
"""


@pytest.fixture
def governor(tmp_path: Path) -> ToolGovernor:
    """Return a governor with a shell tool."""
    store = close_after_test(FileStore(tmp_path / "data", FakeClock(), load_projections(), durable=False))
    governance = Governance(parse_policy(POLICY), store, world_factory=lambda cwd: FakeWorld(), clock=FakeClock())
    governor = ToolGovernor(governance, {"sh": "bash"}, host="test", max_refusals=2)
    close_after_test(governor._threads)  # a governor that an exception still refers to would end them too late
    return governor


def test_refusal_has_one_form_everywhere(governor: ToolGovernor) -> None:
    """Guard, reason and fix, with one full stop."""
    ruling = governor.decide(governor.build_action("sh", {"command": "drop it"}), can_ask=True)

    assert ruling.text == "Blocked by policy (no_drops): it loses data. Instead: archive it"
    assert render_refusal(Verdict.pass_(guard="x")).startswith("Blocked by policy (x): no reason was given. Instead: ")


def test_decision_that_hangs_is_a_block(governor: ToolGovernor, monkeypatch: pytest.MonkeyPatch) -> None:
    """An async adapter waits for a while, and then refuses."""
    monkeypatch.setattr(governor, "timeout_seconds", 0.05)
    monkeypatch.setattr(governor.governance, "before", lambda action, posture=None: time.sleep(0.5))

    ruling = asyncio.run(governor.adecide(governor.build_action("sh", {"command": "ls"}), can_ask=True))

    assert not ruling.may_run
    assert "TimeoutError" in ruling.text


def test_cancelled_decision_is_no_permission(governor: ToolGovernor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is cancelled while it waits gets no ruling, also when its time is up at the same moment."""
    is_deciding, may_end = Event(), Event()

    def wait(action: Action, posture: Posture | None = None) -> None:
        is_deciding.set()
        may_end.wait(10)

    async def cancel() -> object:
        task = asyncio.create_task(governor.adecide(governor.build_action("sh", {"command": "ls"}), can_ask=True))
        await asyncio.to_thread(is_deciding.wait, 10)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        may_end.set()
        return outcome

    monkeypatch.setattr(governor.governance, "before", wait)

    assert isinstance(asyncio.run(cancel()), asyncio.CancelledError)


@pytest.mark.parametrize("name", ["code", "code_action", "snippet"])
def test_code_tool_is_read_by_its_only_text(governor: ToolGovernor, name: str) -> None:
    """Code under any name is classified; without a text to classify the tool is unknown."""
    governor.kinds["python"] = ToolKind(ActionKind.EXECUTE_CODE)
    action = governor.build_action("python", {name: "print(1)"})

    assert (action.kind, action.payload["code"]) == (ActionKind.EXECUTE_CODE, "print(1)")
    assert governor.build_action("python", {name: 1}).kind is ActionKind.OTHER


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("bash", {"command": "dropdb", "args": ["prod"]}),  # the rest of the command line
        ("bash", {"command": "ls", "line": "drop it"}),  # the tool's own `line`, and a `command` that the model made up
        ("bash", {"command": "ls", "request": {"line": "drop it"}}),
        ("read", {"path": "readme.md", "document": "secret.txt"}),
        ("write", {"path": "readme.md", "new_path": "secret.txt"}),
        ("write", {"paths": ["secret.txt"], "content": "text"}),
        ("execute_code", {"code": "print(1)", "setup": "drop()"}),
    ],
)
def test_argument_that_could_be_meant_instead_makes_the_tool_unknown(
    governor: ToolGovernor, kind: str, arguments: dict[str, object]
) -> None:
    """What is classified must be what the tool uses; `ToolKind` with the argument's name says which one that is."""
    governor.kinds["tool"] = ToolKind(ActionKind(kind))
    assert governor.build_action("tool", arguments).kind is ActionKind.OTHER

    governor.kinds["tool"] = ToolKind(ActionKind(kind), argument=next(iter(arguments)))
    assert governor.build_action("tool", arguments).kind is ActionKind(kind)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("bash", {"command": "ls", "description": "list files", "cwd": "src", "timeout": 3, "background": True}),
        ("bash", {"cmd": ["ls", "-l"], "justification": "to see"}),
        ("read", {"path": "readme.md", "offset": 3, "pattern": "install"}),
        ("write", {"file_path": "readme.md", "old_string": "a", "new_string": "b", "edits": [{"old": "a"}]}),
        ("execute_code", {"code": "print(1)", "language": "python"}),
    ],
)
def test_argument_that_only_describes_a_call_changes_nothing(
    governor: ToolGovernor, kind: str, arguments: dict[str, object]
) -> None:
    """A working directory, a reason or the content of a file is neither command nor path."""
    governor.kinds["tool"] = ToolKind(ActionKind(kind))

    assert governor.build_action("tool", arguments).kind is ActionKind(kind)


def test_answer_to_no_question_runs_nothing(governor: ToolGovernor) -> None:
    """A yes for a call that was never asked about is not a permission, even if the policy would let it pass."""
    action = governor.build_action("sh", {"command": "ls"}, call_id="c1")

    assert not governor.decide_answered(action, approved=True).may_run
    assert not asyncio.run(governor.adecide_answered(action, approved=True)).may_run


def test_call_without_an_id_cannot_be_approved(governor: ToolGovernor) -> None:
    """A question needs an id under which it stands; without one the answer finds nothing."""
    action = governor.build_action("sh", {"command": "deploy"})
    assert governor.decide(action, can_ask=True).needs_answer

    assert not governor.decide_answered(action, approved=True).may_run


@pytest.mark.parametrize(
    "arguments", [None, "", "[1, 2]", 7, object(), {"command": object()}, {1: 2}, {"n": float("nan")}]
)
def test_arguments_of_any_shape_get_a_ruling(governor: ToolGovernor, arguments: object) -> None:
    """What cannot be read as a shell command is not let through as one."""
    assert not governor.decide(governor.build_action("sh", arguments), can_ask=False).may_run


def test_arguments_that_break_their_reader_are_a_block(governor: ToolGovernor) -> None:
    """An object that raises while it is read is refused."""

    class Hostile:
        def model_dump(self, mode: str) -> Any:
            raise RuntimeError("no")

    assert not governor.decide(governor.build_action("sh", {"command": Hostile()}), can_ask=False).may_run


def test_payload_is_plain_data() -> None:
    """Dataclasses, sets, tuples and bytes can be recorded."""

    @dataclass
    class Point:
        x: int

    assert to_payload({"p": Point(1), "s": {2}, "t": (3,), "b": b"\xff"}) == {
        "p": {"x": 1},
        "s": [2],
        "t": [3],
        "b": "\\xff",
    }


def test_end_is_refused_at_most_so_often(governor: ToolGovernor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter has a counter of its own, by session, which a new prompt resets."""
    monkeypatch.setattr(governor.governance, "stop", lambda turn: Answer(allowed=False, reason="not yet"))

    reasons = [governor.refuse_stop("done", session_id="a") for _ in range(4)]
    assert reasons == ["not yet", "not yet", "", "not yet"]
    assert governor.refuse_stop("done", session_id="b") == "not yet"
    governor.begin_turn("go on", session_id="a")
    assert asyncio.run(governor.arefuse_stop("done", session_id="a")) == "not yet"


def test_many_threads_and_tasks_decide_at_once(governor: ToolGovernor) -> None:
    """Each gets its own ruling, and the log has every decision."""

    def decide(number: int) -> bool:
        command = "drop it" if number % 2 else "ls"
        return governor.decide(
            governor.build_action("sh", {"command": command}, call_id=f"c{number}"), can_ask=True
        ).may_run

    async def decide_all() -> list[bool]:
        actions = [governor.build_action("sh", {"command": "ls"}, call_id=f"t{n}") for n in range(20)]
        rulings = await asyncio.gather(*(governor.adecide(action, can_ask=True) for action in actions))
        return [ruling.may_run for ruling in rulings]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(decide, range(40))) == [True, False] * 20
    assert asyncio.run(decide_all()) == [True] * 20
    assert len(list(governor.governance.store.read_entries("default"))) == 60


def test_outcome_takes_over_an_exit_status() -> None:
    """A completed process says by itself whether it failed."""
    completed = subprocess.CompletedProcess([], 3, stdout="out", stderr="err")
    outcome = outcome_from_result(completed)

    assert (outcome.success, outcome.exit_code, outcome.output) == (False, 3, "outerr")
    assert outcome_from_result({"exit_code": 0}).success
    assert append_context({"a": 1}, "note") == {"a": 1}
    assert append_context("text", "") == "text"


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("langchain", "langchain"),
        ("openai_agents", "openai-agents"),
        ("pydantic_ai", "pydantic-ai"),
        ("claude_agent_sdk", "claude-agent-sdk"),
        ("agent_framework", "agent-framework"),
        ("crewai", "crewai"),
        ("google_adk", "google-adk"),
        ("strands", "strands"),
    ],
)
def test_missing_sdk_is_named_with_its_extra(module: str, extra: str) -> None:
    """The environment of this test has no SDK, as that of most users."""
    code = f"import verdikt.integrations.{module}"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert completed.returncode == 1
    assert f"pip install 'verdikt-runtime[{extra}]'" in completed.stderr.splitlines()[-1]


def test_question_has_what_a_person_needs(governor: ToolGovernor) -> None:
    """Tool, guard and fix are in it, and nothing runs before the answer."""
    ruling = governor.decide(governor.build_action("sh", {"command": "deploy"}, call_id="c1"), can_ask=True)

    assert ruling.verdict.kind is VerdictKind.ASK
    assert not ruling.may_run
    assert {key: ruling.question[key] for key in ("type", "tool_call_id", "tool", "guard", "fix")} == {
        "type": "verdikt.ask",
        "tool_call_id": "c1",
        "tool": "sh",
        "guard": "deploys",
        "fix": "wait for a release",
    }


def read_outcomes(governor: ToolGovernor) -> list[bool]:
    """Return whether each recorded call succeeded."""
    entries = governor.governance.store.reader.read_intact_entries("default")
    return [entry.body["success"] for entry in entries if entry.kind is EntryKind.TOOL_CALL]


@pytest.mark.parametrize("error", [ValueError("it failed"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_call_that_raises_is_recorded_as_failed(governor: ToolGovernor, error: BaseException) -> None:
    """Whatever ends a call, the log has its outcome, and the error goes on."""
    action = governor.build_action("sh", {"command": "ls"})

    with pytest.raises(type(error)), governor.report_errors(action):
        raise error

    assert read_outcomes(governor) == [False]


def test_call_that_waits_for_a_person_is_not_recorded_as_failed(governor: ToolGovernor) -> None:
    """An SDK pauses a call with an exception of its own: it has not ended."""
    action = governor.build_action("sh", {"command": "ls"})

    with pytest.raises(TimeoutError), governor.report_errors(action, unless=(TimeoutError,)):
        raise TimeoutError

    assert read_outcomes(governor) == []


def test_record_of_an_outcome_that_hangs_does_not_hold_the_agent(
    governor: ToolGovernor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moments after a call and at a prompt have the time limit of a decision, and end open."""
    may_end = Event()
    monkeypatch.setattr(governor, "timeout_seconds", 0.05)
    for moment in ("after", "prompt"):
        monkeypatch.setattr(governor.governance, moment, lambda *arguments: may_end.wait(10))
    action = governor.build_action("sh", {"command": "ls"})

    async def record() -> list[str]:
        texts = [
            await governor.areport(action, Outcome(success=True)),
            await governor.abegin_turn("go", session_id="s"),
        ]
        may_end.set()
        return texts

    assert asyncio.run(record()) == ["", ""]
