"""The engine: what is counted, what is kept, and that it always answers."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any as Anything

import pytest

from tests.fakes import FakeWorld
from tests.graphs import ACTION, Says
from verdikt.engine import MAX_HISTORY, RISK_DECAY_FACTOR, PolicyEngine
from verdikt.graph.combinator import All, Any, Not, When
from verdikt.graph.context import GovernanceContext, TraceEntry
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


class Sees:
    """A guard that keeps the context it was given."""

    name = "sees"

    def __init__(self, risk: float = 0.0) -> None:
        self.risk = risk
        self.contexts: list[GovernanceContext] = []

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Passes."""
        self.contexts.append(ctx)
        ctx.add_risk(self.risk)
        return Verdict.pass_(guard=self.name)


def test_counts_are_kept_per_session() -> None:
    """Another session knows nothing of this one, and an earlier result does not change."""
    engine = PolicyEngine(Says("block"))
    first = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    second = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    other = engine.evaluate(Action(kind=ActionKind.READ, session_id="b"))

    assert [r.context.session.action_count for r in (first, second, other)] == [1, 2, 1]
    assert [r.context.session.block_count for r in (first, second, other)] == [1, 2, 1]
    assert second.context.session.consecutive_blocks == 2


def test_consecutive_blocks_end_with_the_first_action_that_is_not_blocked() -> None:
    """An ask is not a block."""
    guard = Says("block")
    engine = PolicyEngine(guard)
    engine.evaluate(ACTION)
    guard.word = "ask"
    session = engine.evaluate(ACTION).context.session

    assert (session.block_count, session.consecutive_blocks) == (1, 0)


def test_history_is_bounded_and_holds_no_command() -> None:
    """The newest actions, oldest first, without what may hold secrets."""
    engine = PolicyEngine(Says("pass"))
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


def test_the_outcome_is_recorded_with_its_action() -> None:
    """The one that was evaluated last and has none yet; an action nobody evaluated is recorded too."""
    tracer = CollectingTracer()
    engine = PolicyEngine(Says("pass"), tracer=tracer)
    one = Action(kind=ActionKind.READ, payload={"path": "a"})
    other = Action(kind=ActionKind.READ, payload={"path": "b"})
    for action in (one, other, one):
        engine.evaluate(action)
    engine.post_action(one, Outcome(success=False))
    engine.post_action(one, Outcome(success=True))
    engine.post_action(one, Outcome(success=True))
    history = engine.evaluate(other).context.session.history

    assert [(entry["path"], entry["success"]) for entry in history] == [
        ("a", True),
        ("b", None),
        ("a", False),
        ("a", True),
        ("b", None),
    ]
    assert [outcome.success for _, outcome in tracer.outcomes] == [False, True, True]


def test_risk_accumulates_within_bounds_and_fades() -> None:
    """An evaluation begins with what is left of the session's risk."""
    guard = Sees(0.5)
    engine = PolicyEngine(All(guard, guard, guard))
    assert engine.evaluate(ACTION).context.risk_score == 1.0
    guard.risk = 0.0
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR**2


@pytest.mark.parametrize("amount", [-0.1, float("nan")])
def test_risk_never_falls_by_a_guard(amount: float) -> None:
    """A guard that tries to lower it fails, which blocks."""
    result = PolicyEngine(Sees(amount)).evaluate(ACTION)

    assert result.reason == f"guard `sees` failed: ValueError: expected a risk of 0 or more, found {amount}"


def test_annotations_live_for_one_evaluation() -> None:
    """Guards of one evaluation share them; the next begins without."""
    seen = []

    class Writes:
        name = "writes"

        def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
            seen.append(dict(ctx.annotations))
            ctx.annotations["note"] = "hello"
            return Verdict.pass_(guard=self.name)

    engine = PolicyEngine(All(Writes(), Writes()))
    engine.evaluate(ACTION)
    engine.evaluate(ACTION)

    assert seen == [{}, {"note": "hello"}] * 2


def test_a_guard_sees_effects_facts_posture_and_time() -> None:
    """As given; effects told by nobody are not mistaken for none."""
    guard = Sees()
    effects = Effects((Effect(cls=EffectClass.READ, what="fs.read"),))
    facts = Facts(FakeWorld(now=7.0))
    asked = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        asked.append((action, facts))
        return effects

    PolicyEngine(guard, classify=None, observe=None).evaluate(ACTION)
    PolicyEngine(guard).evaluate(ACTION, effects=Effects(), facts=facts, posture=Posture.LOCKED)
    PolicyEngine(guard, classify=classify).evaluate(ACTION, facts=facts, now=8.0)
    PolicyEngine(guard, classify=classify).evaluate(ACTION, effects=Effects())
    alone, given, classified, overruled = guard.contexts

    assert (alone.classified, alone.effects, alone.facts, alone.now) == (False, Effects(), None, 0.0)
    assert (given.classified, given.facts, given.posture, given.now) == (True, facts, Posture.LOCKED, 7.0)
    assert (classified.classified, classified.effects, classified.now) == (True, effects, 8.0)
    assert (overruled.classified, overruled.effects) == (True, Effects())
    assert asked == [(ACTION, facts)]


def test_a_classifier_that_fails_blocks() -> None:
    """What an action would do is not known, so it does not happen."""

    def classify(action: Action, facts: Facts | None) -> Effects:
        raise LookupError("no table")

    result = PolicyEngine(Sees(), classify=classify, observe=None).evaluate(ACTION)

    assert result.reason == "the action could not be evaluated: LookupError: no table"
    assert result.verdict.error


@pytest.mark.parametrize(
    ("root", "asked"),
    [
        (Says("pass"), False),
        (Sees(), True),
        (All(Says("pass"), Any(Not(Sees()))), True),
        (When(lambda a: True, Says("pass")), False),
        (When(lambda a, ctx: True, Says("pass")), True),
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
def test_the_world_is_looked_at_only_if_the_graph_looks_at_it(root: Anything, asked: bool) -> None:
    """A policy that compares names must not pay for an analysis."""
    calls: list[str] = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        calls.append("classify")
        return Effects()

    def observe(action: Action) -> Facts:
        calls.append("observe")
        return Facts(FakeWorld(now=7.0))

    result = PolicyEngine(root, classify=classify, observe=observe).evaluate(ACTION)

    assert calls == (["observe", "classify"] if asked else [])
    assert result.context.now == (7.0 if asked else 0.0)


class BrokenStore:
    """A store that fails when told to."""

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
def test_a_store_that_fails_blocks(when: str, text: str) -> None:
    """An action that cannot be counted does not happen."""
    result = PolicyEngine(Says("pass"), session_store=BrokenStore(when)).evaluate(ACTION)

    assert not result.passed
    assert result.reason == f"the action could not be evaluated: OSError: {text}"


def test_a_store_that_fails_hides_no_block() -> None:
    """Nor its red line."""
    result = PolicyEngine(Says("red"), session_store=BrokenStore("close")).evaluate(ACTION)

    assert (result.reason, result.verdict.red_line) == ("red says so", True)


class BrokenTracer:
    """A tracer that fails."""

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Fails."""
        raise OSError("pipe closed")

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Fails."""
        raise OSError("pipe closed")


@pytest.mark.parametrize("word", ["pass", "block"])
def test_a_tracer_that_fails_changes_nothing(word: str) -> None:
    """It is noted, and the outcome is kept all the same."""
    engine = PolicyEngine(Says(word), tracer=BrokenTracer())
    result = engine.evaluate(ACTION)
    engine.post_action(ACTION, Outcome(success=True))

    assert result.verdict.kind.word == word
    assert result.context.annotations["tracer_error"] == "OSError: pipe closed"
    assert engine.evaluate(ACTION).context.session.history[0]["success"] is True


def test_the_printed_trace_is_an_indented_tree() -> None:
    """With what each node said; what no stream can write is escaped."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    engine = PolicyEngine(All(Says("warn", "odd \udcff"), name="root"), tracer=StdoutTracer(stream))
    engine.evaluate(Action(kind=ActionKind.BASH, tool="Bash"))
    engine.post_action(Action(kind=ActionKind.BASH, tool="Bash"), Outcome(success=False))
    stream.seek(0)

    assert stream.read() == (
        "bash Bash\n  root → warn: odd \\udcff says so\n    odd \\udcff → warn: odd \\udcff says so\nbash Bash failed\n"
    )


def test_a_result_is_true_only_if_the_action_may_go_on() -> None:
    """So that `if engine.evaluate(action)` means what it says."""
    assert [bool(PolicyEngine(Says(word)).evaluate(ACTION)) for word in ("pass", "warn", "ask", "block")] == [
        True,
        True,
        False,
        False,
    ]


def test_many_threads_lose_no_count() -> None:
    """One session, eight threads."""
    engine = PolicyEngine(Says("pass"), session_store=InMemorySessionStore())
    threads = [threading.Thread(target=lambda: [engine.evaluate(ACTION) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.evaluate(ACTION).context.session.action_count == 401


def nested(depth: int) -> Anything:
    """A list in a list in a list …"""
    value: Anything = "rm -rf /"
    for _ in range(depth):
        value = [value]
    return value


ODD_PAYLOADS: dict[str, Anything] = {
    "none": None,
    "list": [1, 2],
    "text": "rm -rf /",
    "number": 7,
    "deep": {"command": nested(1000), "file_path": nested(1000)},
    "ten megabytes": {"command": "x" * 10_000_000, "file_path": "y/" * 5_000_000, "code": "a = 1\n" * 10_000},
    "NUL": {"command": "ls \0", "file_path": "a\0b", "code": "a = '\0'"},
    "lone surrogate": {"command": "ls \udcff\ud800", "file_path": "\ud800/../x", "code": "a = '\udcff'"},
    "wrong types": {"command": 7, "file_path": {"a": 1}, "path": True, "code": b"x", "paths": 3, "language": []},
    "keys of every kind": {1: 2, None: 3, "command": "ls"},
}


@pytest.mark.parametrize("payload", ODD_PAYLOADS.values(), ids=ODD_PAYLOADS.keys())
@pytest.mark.parametrize("kind", list(ActionKind))
def test_any_payload_gets_a_verdict(kind: ActionKind, payload: Anything, every_guard: list[Anything]) -> None:
    """Of the wrong shape, ten megabytes long, with NUL, lone surrogates, a thousand levels deep."""
    facts = Facts(FakeWorld())
    engine = PolicyEngine(All(*every_guard), tracer=StdoutTracer(io.StringIO()), classify=None, observe=None)
    for given in (None, facts):
        result = engine.evaluate(Action(kind=kind, payload=payload), facts=given)
        assert not result.verdict.error, result.reason
    engine.post_action(Action(kind=kind, payload=payload), Outcome(success=True))


@pytest.mark.parametrize("field", ["kind", "tool", "session_id", "cwd", "task_type", "call_id"])
@pytest.mark.parametrize("value", [None, 7, [], "\ud800", "x" * 1_000_000])
def test_any_field_gets_a_verdict(field: str, value: Anything, every_guard: list[Anything]) -> None:
    """Whatever a host puts there."""
    fields: dict[str, Anything] = {"kind": ActionKind.WRITE, "payload": {"file_path": "a"}, field: value}

    assert PolicyEngine(All(*every_guard), classify=None, observe=None).evaluate(Action(**fields)).verdict
