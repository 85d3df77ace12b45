"""The engine: what it counts and records, that it always returns a verdict, and what it observes on this machine."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any as Anything

import pytest

from tests.fakes import FakeWorld
from tests.graphs import ACTION, ScriptedGuard
from verdikt.engine import MAX_HISTORY, RISK_DECAY_FACTOR, PolicyEngine
from verdikt.graph.combinator import All, Any, Not, When
from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.graph.rule import Rule, RuleSet
from verdikt.graph.session_store import InMemorySessionStore
from verdikt.graph.tracer import CollectingTracer, StdoutTracer
from verdikt.guards import BashSafetyGuard, BudgetGuard, FileBoundaryGuard
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.effect import Effect, EffectClass, Effects
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.verdict import Verdict


class RecordingGuard:
    """A guard that passes, adds risk and records its contexts."""

    name = "recording"

    def __init__(self, risk: float = 0.0) -> None:
        self.risk = risk
        self.contexts: list[GovernanceContext] = []

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Record the context and pass."""
        self.contexts.append(ctx)
        ctx.add_risk(self.risk)
        return Verdict.pass_(guard=self.name)


def test_counts_of_one_session_do_not_change_another() -> None:
    """Counts belong to one session, and an earlier result does not change later."""
    engine = PolicyEngine(ScriptedGuard("block"))
    first = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    second = engine.evaluate(Action(kind=ActionKind.READ, session_id="a"))
    other = engine.evaluate(Action(kind=ActionKind.READ, session_id="b"))

    assert [r.context.session.action_count for r in (first, second, other)] == [1, 2, 1]
    assert [r.context.session.block_count for r in (first, second, other)] == [1, 2, 1]
    assert second.context.session.consecutive_blocks == 2


def test_consecutive_blocks_end_at_the_first_action_that_is_not_blocked() -> None:
    """An ask is not a block."""
    guard = ScriptedGuard("block")
    engine = PolicyEngine(guard)
    engine.evaluate(ACTION)
    guard.word = "ask"
    session = engine.evaluate(ACTION).context.session

    assert (session.block_count, session.consecutive_blocks) == (1, 0)


def test_history_holds_the_newest_actions_without_their_commands() -> None:
    """The history is bounded, oldest first, and has nothing in it that may hold a secret."""
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


def test_outcome_is_recorded_with_the_newest_matching_action() -> None:
    """An outcome belongs to the newest evaluation without one; an action that was never evaluated is recorded too."""
    tracer = CollectingTracer()
    engine = PolicyEngine(ScriptedGuard("pass"), tracer=tracer)
    first = Action(kind=ActionKind.READ, payload={"path": "a"})
    other = Action(kind=ActionKind.READ, payload={"path": "b"})
    for action in (first, other, first):
        engine.evaluate(action)
    engine.post_action(first, Outcome(success=False))
    engine.post_action(first, Outcome(success=True))
    engine.post_action(first, Outcome(success=True))
    history = engine.evaluate(other).context.session.history

    assert [(entry["path"], entry["success"]) for entry in history] == [
        ("a", True),
        ("b", None),
        ("a", False),
        ("a", True),
        ("b", None),
    ]
    assert [outcome.success for _, outcome in tracer.outcomes] == [False, True, True]


def test_risk_is_bounded_and_decays() -> None:
    """An evaluation starts with the decayed risk of the session."""
    guard = RecordingGuard(0.5)
    engine = PolicyEngine(All(guard, guard, guard))
    assert engine.evaluate(ACTION).context.risk_score == 1.0
    guard.risk = 0.0
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR
    assert engine.evaluate(ACTION).context.risk_score == RISK_DECAY_FACTOR**2


@pytest.mark.parametrize("amount", [-0.1, float("nan")])
def test_guard_that_lowers_the_risk_is_a_block(amount: float) -> None:
    """A guard that tries to lower the risk fails, which blocks."""
    result = PolicyEngine(RecordingGuard(amount)).evaluate(ACTION)

    assert result.reason == f"guard `recording` failed: ValueError: expected a risk of 0 or more, found {amount}"


def test_annotations_are_shared_within_one_evaluation_only() -> None:
    """Guards of one evaluation share annotations; the next evaluation starts without."""
    annotations = []

    class AnnotatingGuard:
        name = "annotating"

        def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
            annotations.append(dict(ctx.annotations))
            ctx.annotations["note"] = "hello"
            return Verdict.pass_(guard=self.name)

    engine = PolicyEngine(All(AnnotatingGuard(), AnnotatingGuard()))
    engine.evaluate(ACTION)
    engine.evaluate(ACTION)

    assert annotations == [{}, {"note": "hello"}] * 2


def test_guard_sees_the_given_effects_facts_posture_and_time() -> None:
    """Effects that were not given are marked as not classified, so they are not mistaken for no effects."""
    guard = RecordingGuard()
    effects = Effects((Effect(cls=EffectClass.READ, what="fs.read"),))
    facts = Facts(FakeWorld(now=7.0))
    classified_actions = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        classified_actions.append((action, facts))
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
    assert classified_actions == [(ACTION, facts)]


def test_classifier_that_raises_is_a_block() -> None:
    """An action whose effects are unknown does not happen."""

    def classify(action: Action, facts: Facts | None) -> Effects:
        raise LookupError("no table")

    result = PolicyEngine(RecordingGuard(), classify=classify, observe=None).evaluate(ACTION)

    assert result.reason == "the action could not be evaluated: LookupError: no table"
    assert result.verdict.error


@pytest.mark.parametrize(
    ("root", "observes"),
    [
        (ScriptedGuard("pass"), False),
        (RecordingGuard(), True),
        (All(ScriptedGuard("pass"), Any(Not(RecordingGuard()))), True),
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
def test_facts_are_observed_only_when_the_graph_reads_them(root: Anything, observes: bool) -> None:
    """A policy that compares names does not pay for an analysis."""
    calls: list[str] = []

    def classify(action: Action, facts: Facts | None) -> Effects:
        calls.append("classify")
        return Effects()

    def observe(action: Action) -> Facts:
        calls.append("observe")
        return Facts(FakeWorld(now=7.0))

    result = PolicyEngine(root, classify=classify, observe=observe).evaluate(ACTION)

    assert calls == (["observe", "classify"] if observes else [])
    assert result.context.now == (7.0 if observes else 0.0)


class BrokenStore:
    """A session store that fails on opening or on closing."""

    def __init__(self, when: str) -> None:
        self.when = when

    @contextmanager
    def open(self, session_id: str) -> Iterator[SessionState]:
        """Fail before or after the block."""
        if self.when == "open":
            raise OSError("no disk")
        yield SessionState(session_id)
        raise OSError("disk full")


@pytest.mark.parametrize(("when", "text"), [("open", "no disk"), ("close", "disk full")])
def test_session_store_that_raises_is_a_block(when: str, text: str) -> None:
    """An action that cannot be counted does not happen."""
    result = PolicyEngine(ScriptedGuard("pass"), session_store=BrokenStore(when)).evaluate(ACTION)

    assert not result.passed
    assert result.reason == f"the action could not be evaluated: OSError: {text}"


def test_session_store_that_raises_keeps_an_earlier_block() -> None:
    """A block keeps its reason and its red line when the store fails afterwards."""
    result = PolicyEngine(ScriptedGuard("red"), session_store=BrokenStore("close")).evaluate(ACTION)

    assert (result.reason, result.verdict.red_line) == ("red says so", True)


class BrokenTracer:
    """A tracer that fails."""

    def on_evaluation(self, action: Action, trace: list[TraceEntry]) -> None:
        """Fail."""
        raise OSError("pipe closed")

    def on_outcome(self, action: Action, outcome: Outcome) -> None:
        """Fail."""
        raise OSError("pipe closed")


@pytest.mark.parametrize("word", ["pass", "block"])
def test_tracer_that_raises_changes_no_verdict(word: str) -> None:
    """The failure is noted in the annotations, and the outcome is recorded all the same."""
    engine = PolicyEngine(ScriptedGuard(word), tracer=BrokenTracer())
    result = engine.evaluate(ACTION)
    engine.post_action(ACTION, Outcome(success=True))

    assert result.verdict.kind.word == word
    assert result.context.annotations["tracer_error"] == "OSError: pipe closed"
    assert engine.evaluate(ACTION).context.session.history[0]["success"] is True


def test_stdout_tracer_prints_an_indented_tree() -> None:
    """The tree has each node's verdict, and characters that no stream can write are escaped."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    engine = PolicyEngine(All(ScriptedGuard("warn", "odd \udcff"), name="root"), tracer=StdoutTracer(stream))
    engine.evaluate(Action(kind=ActionKind.BASH, tool="Bash"))
    engine.post_action(Action(kind=ActionKind.BASH, tool="Bash"), Outcome(success=False))
    stream.seek(0)

    assert stream.read() == (
        "bash Bash\n  root → warn: odd \\udcff says so\n    odd \\udcff → warn: odd \\udcff says so\nbash Bash failed\n"
    )


def test_result_is_true_only_when_the_action_may_go_on() -> None:
    """`if engine.evaluate(action)` means: the action may go on."""
    assert [bool(PolicyEngine(ScriptedGuard(word)).evaluate(ACTION)) for word in ("pass", "warn", "ask", "block")] == [
        True,
        True,
        False,
        False,
    ]


def test_concurrent_evaluations_lose_no_count() -> None:
    """Eight threads that share one session count every action."""
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=InMemorySessionStore())
    threads = [threading.Thread(target=lambda: [engine.evaluate(ACTION) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.evaluate(ACTION).context.session.action_count == 401


def nest_in_lists(depth: int) -> Anything:
    """Return a text inside many nested lists."""
    value: Anything = "rm -rf /"
    for _ in range(depth):
        value = [value]
    return value


ODD_PAYLOADS: dict[str, Anything] = {
    "none": None,
    "list": [1, 2],
    "text": "rm -rf /",
    "number": 7,
    "deep": {"command": nest_in_lists(1000), "file_path": nest_in_lists(1000)},
    "ten megabytes": {"command": "x" * 10_000_000, "file_path": "y/" * 5_000_000, "code": "a = 1\n" * 10_000},
    "NUL": {"command": "ls \0", "file_path": "a\0b", "code": "a = '\0'"},
    "lone surrogate": {"command": "ls \udcff\ud800", "file_path": "\ud800/../x", "code": "a = '\udcff'"},
    "wrong types": {"command": 7, "file_path": {"a": 1}, "path": True, "code": b"x", "paths": 3, "language": []},
    "keys of every kind": {1: 2, None: 3, "command": "ls"},
}


@pytest.mark.parametrize("payload", ODD_PAYLOADS.values(), ids=ODD_PAYLOADS.keys())
@pytest.mark.parametrize("kind", list(ActionKind))
def test_malformed_payload_gets_a_verdict_without_error(
    kind: ActionKind, payload: Anything, every_guard: list[Anything]
) -> None:
    """Wrong shapes, ten megabytes, NUL, lone surrogates and a thousand levels are judged, not refused with an error."""
    facts = Facts(FakeWorld())
    engine = PolicyEngine(All(*every_guard), tracer=StdoutTracer(io.StringIO()), classify=None, observe=None)
    for given_facts in (None, facts):
        result = engine.evaluate(Action(kind=kind, payload=payload), facts=given_facts)
        assert not result.verdict.error, result.reason
    engine.post_action(Action(kind=kind, payload=payload), Outcome(success=True))


@pytest.mark.parametrize("field", ["kind", "tool", "session_id", "cwd", "task_type", "call_id"])
@pytest.mark.parametrize("value", [None, 7, [], "\ud800", "x" * 1_000_000])
def test_malformed_field_gets_a_verdict(field: str, value: Anything, every_guard: list[Anything]) -> None:
    """A host may put anything into any field of an action."""
    fields: dict[str, Anything] = {"kind": ActionKind.WRITE, "payload": {"file_path": "a"}, field: value}

    assert PolicyEngine(All(*every_guard), classify=None, observe=None).evaluate(Action(**fields)).verdict


def bash(command: str, cwd: Path) -> Action:
    """Return a shell command in a project."""
    return Action(kind=ActionKind.BASH, payload={"command": command}, cwd=str(cwd))


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("ls -la", "pass"),
        ("rm -rf /", "block"),
        ("rm -r -f /", "block"),
        ("rm -fr '/'", "block"),
        ("cd / && rm -rf *", "block"),
        ("bash -c 'rm -rf /'", "block"),
        ("find / -delete", "block"),
        ("echo 'rm -rf /'", "pass"),
        ("git commit -m 'never run rm -rf / again'", "pass"),
        ("grep -rn 'DROP TABLE' src", "pass"),
        ("rm -rf /tmp/scratch", "pass"),
        ('rm -rf "$TARGET"', "ask"),
        ("cat ~/.ssh/id_rsa", "block"),
        ("echo x > /etc/hosts", "block"),
        ("echo x > src/a.py", "pass"),
        ("echo x > auth.py", "block"),
        ("ln -sf x auth.py", "block"),
        ("sed -i s/a/b/ ./src/../auth.py", "block"),
        ("cat auth.py", "pass"),
        ("echo profile: none > governance.yaml", "block"),
    ],
)
def test_command_is_judged_by_its_effects(tmp_path: Path, command: str, verdict: str) -> None:
    """Guards judge what a command does, however it is written."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "auth.py").write_text("")
    engine = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard(red_line_files=["auth.py"])))
    result = engine.evaluate(bash(command, tmp_path))

    assert result.verdict.kind.word == verdict, result.reason


def test_write_through_a_symbolic_link_is_judged_by_its_destination(tmp_path: Path) -> None:
    """A path is judged where the disk puts it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/usr")
    engine = PolicyEngine(FileBoundaryGuard(allowed_dirs=["src"]))
    write = Action(kind=ActionKind.WRITE, payload={"file_path": "src/out/x"}, cwd=str(tmp_path))

    assert "`src/out/x` → `/usr/x` may be read but not changed" in engine.evaluate(write).reason


@pytest.mark.parametrize("cwd", ["", "/no/such/place", "\0", "\ud800", "x" * 100_000])
def test_action_in_an_impossible_directory_is_judged(cwd: str) -> None:
    """A directory that cannot exist still gets a verdict without an error."""
    result = PolicyEngine(BashSafetyGuard()).evaluate(
        Action(kind=ActionKind.BASH, payload={"command": "rm -rf /"}, cwd=cwd)
    )

    assert result.verdict.kind.word == "block"
    assert not result.verdict.error, result.reason


@pytest.mark.parametrize(
    "command",
    [
        "sudo ls",
        "s'ud'o ls",
        "/usr/bin/sudo ls",
        "x=sudo; $x ls",
        "true && sudo ls",
        ["sudo", "ls"],
        ["bash", "-lc", "sudo ls"],
    ],
)
def test_blocked_prefix_is_found_in_every_notation(tmp_path: Path, command: str | list[str]) -> None:
    """Quotes, variables, directories and word lists do not hide a blocked prefix."""
    action = Action(kind=ActionKind.BASH, payload={"command": command}, cwd=str(tmp_path))
    engine = PolicyEngine(BashSafetyGuard(blocked_prefixes=["sudo"], defaults=False))

    assert engine.evaluate(action).reason == "Command starts with blocked prefix: sudo"


@pytest.mark.parametrize("command", [["rm", "-rf", "/"], ["bash", "-lc", "rm -rf /"]])
def test_command_given_as_words_is_judged_like_text(command: list[str]) -> None:
    """Engine and guard judge a list of words like the text it stands for."""
    action = Action(kind=ActionKind.BASH, payload={"command": command})

    assert not PolicyEngine(BashSafetyGuard()).evaluate(action).passed
    assert not BashSafetyGuard().check(action).passed


@pytest.mark.parametrize("kind", list(ActionKind))
def test_payload_nested_a_thousand_levels_is_judged(kind: ActionKind) -> None:
    """A payload that is nested too deeply to print gets a verdict without an error, in every field that is read."""
    deep: object = "rm -rf /"
    for _ in range(1000):
        deep = [deep]
    payload = dict.fromkeys(("command", "file_path", "content", "edits", "code", "paths", "url", "prompt"), deep)
    result = PolicyEngine(All(BashSafetyGuard(), FileBoundaryGuard())).evaluate(Action(kind=kind, payload=payload))

    assert not result.verdict.error, result.reason


def test_guard_learns_the_kinds_of_secrets_of_an_action() -> None:
    """`ctx.facts.secrets` names the kinds under the engine as under governance; the action itself stays as it is."""
    guard = RecordingGuard()
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "PGPASSWORD=hunter2 psql -c 'select 1'"})

    PolicyEngine(guard).evaluate(action)

    facts = guard.contexts[0].facts
    assert facts is not None
    assert facts.secrets == ("password",)
    assert guard.contexts[0].action is action
