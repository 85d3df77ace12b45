"""The engine: what it counts and records, and that it always returns a verdict."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any as Anything

import pytest

from tests.fakes import FakeWorld
from tests.graphs import ACTION, ScriptedGuard
from verdikt.graph.combinator import All, Any, Not, When
from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.graph.engine import MAX_HISTORY, RISK_DECAY_FACTOR, PolicyEngine
from verdikt.graph.rule import Rule, RuleSet
from verdikt.graph.session_store import InMemorySessionStore
from verdikt.graph.tracer import CollectingTracer, StdoutTracer
from verdikt.guards import BudgetGuard
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.effect import Effect, EffectClass, Effects
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.verdict import Verdict


class ContextRecorder:
    """A guard that stores the context it got."""

    name = "sees"

    def __init__(self, risk: float = 0.0) -> None:
        self.risk = risk
        self.contexts: list[GovernanceContext] = []

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Passes."""
        self.contexts.append(ctx)
        ctx.add_risk(self.risk)
        return Verdict.pass_(guard=self.name)


def test_counts_are_separate_for_each_session() -> None:
    """Sessions do not share counts, and an earlier result does not change."""
    engine = PolicyEngine(ScriptedGuard("block"))
    first = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    second = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    other = engine.evaluate(Action(kind=ActionKind.READ, session_id="b"))

    assert [r.context.session.action_count for r in (first, second, other)] == [1, 2, 1]
    assert [r.context.session.block_count for r in (first, second, other)] == [1, 2, 1]
    assert second.context.session.consecutive_blocks == 2


def test_consecutive_blocks_are_reset_by_an_action_that_is_not_blocked() -> None:
    """An ask is not a block."""
    guard = ScriptedGuard("block")
    engine = PolicyEngine(guard)
    engine.evaluate(ACTION)
    guard.word = "ask"
    session = engine.evaluate(ACTION).context.session

    assert (session.block_count, session.consecutive_blocks) == (1, 0)


def test_history_is_bounded_and_holds_no_command() -> None:
    """It lists the newest actions, oldest first, without anything that may hold secrets."""
    engine = PolicyEngine(ScriptedGuard("pass"))
    for number in range(MAX_HISTORY + 5):
        action = Action(kind=ActionKind.BASH, payload={"command": "echo $TOKEN"}, call_id=str(number))
        result = engine.evaluate(action)
    history = result.context.session.history

    assert [entry["call_id"] for entry in history] == [str(number) for number in range(5, MAX_HISTORY + 5)]
    assert "TOKEN" not in str(history)
    assert history[-1] == {
        "kind": "bash",
        "tool": "",
        "path": "",
        "call_id": str(MAX_HISTORY + 4),
        "verdict": "pass",
        "guard": "pass",
        "success": None,
    }


def test_outcome_is_recorded_with_its_action() -> None:
    """The outcome belongs to the newest evaluation without one; an action that was not evaluated is recorded too."""
    tracer = CollectingTracer()
    engine = PolicyEngine(ScriptedGuard("pass"), tracer=tracer)
    first = Action(kind=ActionKind.READ, payload={"path": "a"})
    second = Action(kind=ActionKind.READ, payload={"path": "b"})
    for action in (first, second, first):
        engine.evaluate(action)
    engine.post_action(first, Outcome(success=False))
    engine.post_action(first, Outcome(success=True))
    engine.post_action(first, Outcome(success=True))
    history = engine.evaluate(second).context.session.history

    assert [(entry["path"], entry["success"]) for entry in history] == [
        ("a", True),
        ("b", None),
        ("a", False),
        ("a", True),
        ("b", None),
    ]
    assert [outcome.success for _, outcome in tracer.outcomes] == [False, True, True]


def test_risk_accumulates_within_bounds_and_decays() -> None:
    """An evaluation begins with what is left of the session's risk."""
    guard = ContextRecorder(0.5)
    engine = PolicyEngine(All(guard, guard, guard))
    assert engine.evaluate(ACTION).context.risk_score == 1.0
    guard.risk = 0.0
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR**2


@pytest.mark.parametrize("amount", [-0.1, float("nan")])
def test_risk_cannot_be_lowered_by_a_guard(amount: float) -> None:
    """A guard that tries to lower it fails, which blocks."""
    result = PolicyEngine(ContextRecorder(amount)).evaluate(ACTION)

    assert result.reason == f"guard `sees` failed: ValueError: expected a risk of 0 or more, found {amount}"


def test_annotations_last_for_one_evaluation() -> None:
    """Guards of one evaluation share them; the next begins without."""
    seen = []

    class AnnotatingGuard:
        name = "writes"

        def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
            seen.append(dict(ctx.annotations))
            ctx.annotations["note"] = "hello"
            return Verdict.pass_(guard=self.name)

    engine = PolicyEngine(All(AnnotatingGuard(), AnnotatingGuard()))
    engine.evaluate(ACTION)
    engine.evaluate(ACTION)

    assert seen == [{}, {"note": "hello"}] * 2


def test_guard_gets_effects_facts_posture_and_time() -> None:
    """As passed in; unknown effects are not mistaken for none."""
    guard = ContextRecorder()
    effects = Effects((Effect(cls=EffectClass.READ, what="fs.read"),))
    facts = Facts(FakeWorld(now=7.0))
    calls = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        calls.append((action, facts))
        return effects

    PolicyEngine(guard).evaluate(ACTION)
    PolicyEngine(guard).evaluate(ACTION, effects=Effects(), facts=facts, posture=Posture.LOCKED)
    PolicyEngine(guard, classify=classify).evaluate(ACTION, facts=facts, now=8.0)
    PolicyEngine(guard, classify=classify).evaluate(ACTION, effects=Effects())
    alone, passed, classified, overruled = guard.contexts

    assert (alone.classified, alone.effects, alone.facts, alone.now) == (False, Effects(), None, 0.0)
    assert (passed.classified, passed.facts, passed.posture, passed.now) == (True, facts, Posture.LOCKED, 7.0)
    assert (classified.classified, classified.effects, classified.now) == (True, effects, 8.0)
    assert (overruled.classified, overruled.effects) == (True, Effects())
    assert calls == [(ACTION, facts)]


def test_classifier_that_fails_blocks() -> None:
    """An action whose effects cannot be determined does not happen."""

    def classify(action: Action, facts: Facts | None) -> Effects:
        raise LookupError("no table")

    result = PolicyEngine(ContextRecorder(), classify=classify).evaluate(ACTION)

    assert result.reason == "the action could not be evaluated: LookupError: no table"
    assert result.verdict.error


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (ScriptedGuard("pass"), False),
        (ContextRecorder(), True),
        (All(ScriptedGuard("pass"), Any(Not(ContextRecorder()))), True),
        (When(lambda a: True, ScriptedGuard("pass")), False),
        (When(lambda a, ctx: True, ScriptedGuard("pass")), True),
        (BudgetGuard(max_tasks=1), False),
        (BudgetGuard(max_seconds=1), True),
        (RuleSet(Rule.from_data({"name": "r", "tool": "x", "verdict": "block", "reason": "r", "fix": "f"})), False),
        (RuleSet(Rule.from_data({"name": "r", "zone": "home", "verdict": "block", "reason": "r", "fix": "f"})), True),
        (
            RuleSet(
                Rule.from_data(
                    {
                        "name": "r",
                        "tool": "x",
                        "unless": {"zone": "temp"},
                        "verdict": "block",
                        "reason": "r",
                        "fix": "f",
                    }
                )
            ),
            True,
        ),
    ],
)
def test_facts_and_effects_are_computed_only_if_the_graph_reads_them(root: Anything, expected: bool) -> None:
    """A policy that compares names does not pay for an analysis."""
    calls: list[str] = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        calls.append("classify")
        return Effects()

    def observe(action: Action) -> Facts:
        calls.append("observe")
        return Facts(FakeWorld(now=7.0))

    result = PolicyEngine(root, classify=classify, observe=observe).evaluate(ACTION)

    assert calls == (["observe", "classify"] if expected else [])
    assert result.context.now == (7.0 if expected else 0.0)


class FailingStore:
    """A store that fails on entry or on exit."""

    def __init__(self, when: str) -> None:
        self.when = when

    @contextmanager
    def open(self, session_id: str) -> Iterator[SessionState]:
        """Fails before or after."""
        if self.when == "open":
            raise OSError("no disk")
        yield SessionState(session_id)
        raise OSError("disk full")


@pytest.mark.parametrize(("when", "text"), [("open", "no disk"), ("close", "disk full")])
def test_store_that_fails_blocks(when: str, text: str) -> None:
    """An action that cannot be counted does not happen."""
    result = PolicyEngine(ScriptedGuard("pass"), session_store=FailingStore(when)).evaluate(ACTION)

    assert not result.passed
    assert result.reason == f"the action could not be evaluated: OSError: {text}"


def test_store_that_fails_keeps_a_block_and_its_red_line() -> None:
    """The failure does not replace the policy's own block."""
    result = PolicyEngine(ScriptedGuard("red"), session_store=FailingStore("close")).evaluate(ACTION)

    assert (result.reason, result.verdict.red_line) == ("red says so", True)


class FailingTracer:
    """A tracer that fails."""

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Fails."""
        raise OSError("pipe closed")

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Fails."""
        raise OSError("pipe closed")


@pytest.mark.parametrize("word", ["pass", "block"])
def test_tracer_that_fails_changes_no_verdict(word: str) -> None:
    """The failure is annotated, and the outcome is recorded."""
    engine = PolicyEngine(ScriptedGuard(word), tracer=FailingTracer())
    result = engine.evaluate(ACTION)
    engine.post_action(ACTION, Outcome(success=True))

    assert result.verdict.kind.word == word
    assert result.context.annotations["tracer_error"] == "OSError: pipe closed"
    assert engine.evaluate(ACTION).context.session.history[0]["success"] is True


def test_stdout_tracer_prints_an_indented_tree() -> None:
    """Each line has a node and its verdict; text that no stream can encode is escaped."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    engine = PolicyEngine(All(ScriptedGuard("warn", "odd \udcff"), name="root"), tracer=StdoutTracer(stream))
    engine.evaluate(Action(kind=ActionKind.BASH, tool="Bash"))
    engine.post_action(Action(kind=ActionKind.BASH, tool="Bash"), Outcome(success=False))
    stream.seek(0)

    assert stream.read() == (
        "bash Bash\n  root → warn: odd \\udcff says so\n    odd \\udcff → warn: odd \\udcff says so\nbash Bash failed\n"
    )


def test_result_is_true_only_if_the_action_may_proceed() -> None:
    """`if engine.evaluate(action)` means what it says."""
    assert [bool(PolicyEngine(ScriptedGuard(word)).evaluate(ACTION)) for word in ("pass", "warn", "ask", "block")] == [
        True,
        True,
        False,
        False,
    ]


def test_counts_of_many_threads_are_complete() -> None:
    """Eight threads share one session."""
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=InMemorySessionStore())
    threads = [threading.Thread(target=lambda: [engine.evaluate(ACTION) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.evaluate(ACTION).context.session.action_count == 401


def nest_lists(depth: int) -> Anything:
    """Return a list in a list in a list, to this depth."""
    value: Anything = "rm -rf /"
    for _ in range(depth):
        value = [value]
    return value


ODD_PAYLOADS: dict[str, Anything] = {
    "none": None,
    "list": [1, 2],
    "text": "rm -rf /",
    "number": 7,
    "deep": {"command": nest_lists(1000), "file_path": nest_lists(1000)},
    "ten megabytes": {"command": "x" * 10_000_000, "file_path": "y/" * 5_000_000, "code": "a = 1\n" * 10_000},
    "NUL": {"command": "ls \0", "file_path": "a\0b", "code": "a = '\0'"},
    "lone surrogate": {"command": "ls \udcff\ud800", "file_path": "\ud800/../x", "code": "a = '\udcff'"},
    "wrong types": {"command": 7, "file_path": {"a": 1}, "path": True, "code": b"x", "paths": 3, "language": []},
    "keys of every kind": {1: 2, None: 3, "command": "ls"},
}


@pytest.mark.parametrize("payload", ODD_PAYLOADS.values(), ids=ODD_PAYLOADS.keys())
@pytest.mark.parametrize("kind", list(ActionKind))
def test_any_payload_gets_a_verdict(kind: ActionKind, payload: Anything, every_guard: list[Anything]) -> None:
    """Wrong shapes, ten megabytes, NUL, lone surrogates and a thousand levels are evaluated."""
    facts = Facts(FakeWorld())
    engine = PolicyEngine(All(*every_guard), tracer=StdoutTracer(io.StringIO()))
    for given in (None, facts):
        result = engine.evaluate(Action(kind=kind, payload=payload), facts=given)
        assert not result.verdict.error, result.reason
    engine.post_action(Action(kind=kind, payload=payload), Outcome(success=True))


@pytest.mark.parametrize("field", ["kind", "tool", "session_id", "cwd", "task_type", "call_id"])
@pytest.mark.parametrize("value", [None, 7, [], "\ud800", "x" * 1_000_000])
def test_any_field_value_gets_a_verdict(field: str, value: Anything, every_guard: list[Anything]) -> None:
    """A host may put anything into a field."""
    fields: dict[str, Anything] = {"kind": ActionKind.WRITE, "payload": {"file_path": "a"}, field: value}

    assert PolicyEngine(All(*every_guard)).evaluate(Action(**fields)).verdict
