"""Truth tables of the six combinators, and the graphs that cannot be built."""

import itertools
from functools import partial

import pytest

from tests.graphs import ACTION, ScriptedGuard, raise_error
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.combinator import All, Any, Child, Escalate, Not, Threshold, When
from verdikt.graph.context import GovernanceContext
from verdikt.graph.evaluation_result import EvaluationResult
from verdikt.graph.guard_node import to_node
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict

WORDS = ["pass", "warn", "ask", "block"]


def evaluate_graph(root: Child) -> EvaluationResult:
    """Evaluate a harmless action with the real engine."""
    return PolicyEngine(root).evaluate(ACTION)


def get_kind_word(root: Child) -> str:
    """Return the kind of the verdict as a word."""
    return evaluate_graph(root).verdict.kind.word


@pytest.mark.parametrize(("first", "second"), list(itertools.product(WORDS, WORDS)))
def test_all_is_the_strictest_and_any_the_most_lenient(first: str, second: str) -> None:
    """All sixteen pairs of verdicts."""
    strictest = max(first, second, key=WORDS.index)
    lenient = min(first, second, key=WORDS.index)

    assert get_kind_word(All(ScriptedGuard(first), ScriptedGuard(second))) == strictest
    assert get_kind_word(Any(ScriptedGuard(first), ScriptedGuard(second))) == lenient


@pytest.mark.parametrize(
    ("child", "expected"),
    [
        ("pass", "block"),
        ("block", "pass"),
        ("red", "pass"),
        ("warn", "warn"),
        ("ask", "ask"),
        ("raise", "block"),
        ("observe", "block"),
    ],
)
def test_not_swaps_pass_and_block_only(child: str, expected: str) -> None:
    """A block that stands for an error stays a block."""
    assert get_kind_word(Not(ScriptedGuard(child))) == expected


def test_not_twice_of_an_error_is_a_block() -> None:
    """The error mark survives every `Not`, also beside an ordinary block."""
    assert get_kind_word(Not(Not(ScriptedGuard("raise")))) == "block"
    assert get_kind_word(Not(All(ScriptedGuard("block"), ScriptedGuard("raise")))) == "block"
    assert get_kind_word(Not(Any(ScriptedGuard("block"), ScriptedGuard("raise")))) == "block"


@pytest.mark.parametrize(
    ("n", "children", "expected"),
    [
        (1, "pass block block", "pass"),
        (2, "pass block block", "block"),
        (2, "pass pass block", "pass"),
        (2, "pass warn block", "warn"),
        (2, "pass ask block", "ask"),
        (3, "pass pass pass", "pass"),
        (3, "pass pass warn", "warn"),
        (2, "pass observe block", "block"),
        (1, "observe raise", "block"),
    ],
)
def test_threshold_is_the_nth_most_lenient(n: int, children: str, expected: str) -> None:
    """A warn counts as passed; a failed observer has no vote."""
    assert get_kind_word(Threshold(n, *map(ScriptedGuard, children.split()))) == expected


@pytest.mark.parametrize(
    ("primary", "fallback", "expected", "call_count"),
    [
        ("pass", "block", "pass", 0),
        ("warn", "block", "warn", 0),
        ("ask", "block", "ask", 0),
        ("block", "pass", "pass", 1),
        ("block", "ask", "ask", 1),
        ("block", "block", "block", 1),
        ("raise", "pass", "block", 0),
        ("red", "pass", "block", 0),
        ("block", "observe", "block", 1),
        ("block", "raise", "block", 1),
    ],
)
def test_escalate_uses_the_fallback_only_for_a_block(
    primary: str, fallback: str, expected: str, call_count: int
) -> None:
    """Neither a red line nor a failure is passed to the fallback."""
    second = ScriptedGuard(fallback)

    assert get_kind_word(Escalate(ScriptedGuard(primary), second)) == expected
    assert second.call_count == call_count


@pytest.mark.parametrize("primary", ["raise", "block"])
def test_not_of_an_escalated_error_is_a_block(primary: str) -> None:
    """The failure of the primary stays marked, so that no `Not` above turns it into a pass."""
    assert get_kind_word(Not(Escalate(ScriptedGuard(primary), ScriptedGuard("block")))) == (
        "block" if primary == "raise" else "pass"
    )


@pytest.mark.parametrize(
    "primary", [All(ScriptedGuard("block"), ScriptedGuard("red")), Any(ScriptedGuard("block"), ScriptedGuard("red"))]
)
def test_red_line_beside_an_ordinary_block_stays_a_red_line(primary: Child) -> None:
    """The order of the blocks does not matter."""
    assert get_kind_word(Escalate(primary, ScriptedGuard("pass"))) == "block"


def test_escalate_finds_a_red_line_behind_a_short_circuit() -> None:
    """An ordinary block must not hide a red line from `Escalate`."""
    red = ScriptedGuard("red")
    primary = All(ScriptedGuard("block"), red, short_circuit=True)

    assert get_kind_word(Escalate(primary, ScriptedGuard("pass"))) == "block"
    assert red.call_count == 1
    assert (
        get_kind_word(All(Escalate(ScriptedGuard("pass"), ScriptedGuard("pass")), primary, short_circuit=True))
        == "block"
    )
    assert red.call_count == 1


@pytest.mark.parametrize(
    ("holds", "otherwise", "expected"),
    [(True, "block", "warn"), (False, "block", "block"), (False, None, "pass")],
)
def test_when_evaluates_one_branch(holds: bool, otherwise: str | None, expected: str) -> None:
    """Without `otherwise`, a condition that does not hold is a pass."""
    assert (
        get_kind_word(When(lambda a, ctx: holds, ScriptedGuard("warn"), otherwise and ScriptedGuard(otherwise)))
        == expected
    )


def test_when_blocks_if_its_condition_raises() -> None:
    """The block has the exception's text, no branch is evaluated, and `Not` does not make it a pass."""
    then = ScriptedGuard("pass")
    result = evaluate_graph(When(raise_error, then, then))

    assert result.reason == "the condition of `when` failed: KeyError: 'no such thing'"
    assert then.call_count == 0
    assert get_kind_word(Not(When(raise_error, then))) == "block"


def test_when_condition_may_take_the_action_alone() -> None:
    """A condition takes one or two arguments, like a guard's `check`."""
    assert get_kind_word(When(lambda a: a.kind == "bash", ScriptedGuard("ask"))) == "ask"


def test_all_evaluates_every_child_unless_short_circuited() -> None:
    """The reason is that of the first strictest child, and every fix is listed."""
    last = ScriptedGuard("pass", "last")
    children = (
        ScriptedGuard("warn"),
        ScriptedGuard("ask"),
        ScriptedGuard("block", "b1"),
        ScriptedGuard("block", "b2"),
        last,
    )
    result = evaluate_graph(All(*children))

    assert result.reason == "b1 says so"
    assert result.fixes == ("ask b1 nicely", "ask b2 nicely", "ask ask nicely", "ask warn nicely")
    assert result.warnings == ("warn says so",)
    assert last.call_count == 1
    assert evaluate_graph(All(*children, short_circuit=True)).reason == "b1 says so"
    assert last.call_count == 1


def test_short_circuit_stops_at_a_block_only() -> None:
    """A block behind an ask is still found."""
    assert get_kind_word(All(ScriptedGuard("ask"), ScriptedGuard("block"), short_circuit=True)) == "block"


def test_any_without_a_pass_gives_all_reasons() -> None:
    """The reasons of all children are joined."""
    result = evaluate_graph(Any(ScriptedGuard("block", "a"), ScriptedGuard("block", "b")))

    assert result.reason == "a says so; b says so"
    assert result.fixes == ("ask a nicely", "ask b nicely")


def test_fixes_of_overruled_guards_are_left_out() -> None:
    """A block that `Any` or `Escalate` overruled needs no fix."""
    result = evaluate_graph(
        All(
            Any(ScriptedGuard("block", "a"), ScriptedGuard("pass")),
            Escalate(ScriptedGuard("block", "b"), ScriptedGuard("warn", "c")),
            ScriptedGuard("ask"),
        )
    )

    assert result.fixes == ("ask ask nicely", "ask c nicely")


@pytest.mark.parametrize("combinator", [All, Any])
def test_combinator_without_children_cannot_be_built(combinator: type[All | Any]) -> None:
    """It would pass everything, or nothing."""
    with pytest.raises(PolicyError, match=f"^`{combinator.__name__.lower()}` needs at least one child$"):
        combinator()


@pytest.mark.parametrize("n", [0, -1, 3, True, 1.0])
def test_threshold_out_of_range_cannot_be_built(n: int) -> None:
    """`n` is from 1 to the number of children."""
    with pytest.raises(
        PolicyError, match=f"^`threshold` needs n from 1 to 2, the number of its children, found `{n}`$"
    ):
        Threshold(n, ScriptedGuard("pass"), ScriptedGuard("pass"))
    with pytest.raises(PolicyError, match=r"^`threshold` needs at least one child$"):
        Threshold(1)


@pytest.mark.parametrize(
    ("child", "message"),
    [
        (ScriptedGuard, "expected a guard, found the class `ScriptedGuard`: write `ScriptedGuard\\(\\)`"),
        (None, "expected a guard or a combinator, found `NoneType`, which has no `check`"),
        (lambda action: None, "expected a guard or a combinator, found `function`, which has no `check`"),
    ],
)
def test_combinator_refuses_a_child_that_is_no_guard(child: Child, message: str) -> None:
    """The mistake is found when the graph is built, not at the first action."""
    with pytest.raises(PolicyError, match=f"^{message}$"):
        All(child)


def test_combinator_refuses_a_guard_without_a_name() -> None:
    """The log could not say which guard blocked."""

    class Nameless:
        def check(self, action: Action) -> Verdict:
            return Verdict.pass_(guard="")

    with pytest.raises(PolicyError, match=r"^expected a guard with a `name`, found `Nameless` without one$"):
        All(Nameless())  # type: ignore[arg-type]


def test_combinator_cannot_be_changed() -> None:
    """A graph is a value."""
    with pytest.raises(AttributeError):
        All(ScriptedGuard("pass")).children = ()  # type: ignore[misc]


class CheckSignatures:
    """Signatures that a `check` can have; each returns how many arguments it got."""

    name = "shapes"

    def one(self, action: Action) -> Verdict:
        """Take the action alone."""
        return Verdict.warn(guard="shapes", reason="1")

    def two(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Take the action and the context."""
        return Verdict.warn(guard="shapes", reason="2")

    def keyword(self, action: Action, *, verbose: bool = False) -> Verdict:
        """Take the action and an optional keyword."""
        return Verdict.warn(guard="shapes", reason="1")

    def default(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Take the action and an optional context."""
        return Verdict.warn(guard="shapes", reason="2" if ctx else "1")

    def many(self, *args: object) -> Verdict:
        """Take any number of arguments."""
        return Verdict.warn(guard="shapes", reason=str(len(args)))

    def three(self, action: Action, ctx: GovernanceContext, extra: int = 0) -> Verdict:
        """Take the action, the context and an optional third argument."""
        return Verdict.warn(guard="shapes", reason="2")

    def __call__(self, action: Action) -> Verdict:
        """Take the action alone, as a callable object."""
        return self.one(action)


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (CheckSignatures().one, "1"),
        (CheckSignatures().two, "2"),
        (CheckSignatures().keyword, "1"),
        (CheckSignatures().default, "2"),
        (CheckSignatures().many, "2"),
        (CheckSignatures().three, "2"),
        (CheckSignatures(), "1"),
        (partial(CheckSignatures.one, CheckSignatures()), "1"),
        (partial(CheckSignatures.two, CheckSignatures()), "2"),
        (lambda action, ctx: Verdict.warn(guard="l", reason="2"), "2"),
    ],
)
def test_takes_context_reads_the_signature(check: object, arguments: str) -> None:
    """Bound methods, callables, partials, defaults, `*args` and keywords are recognised."""
    guard = ScriptedGuard("pass")
    guard.check = check  # type: ignore[method-assign, assignment]

    assert evaluate_graph(guard).verdict.reason == arguments


def test_guard_that_raises_type_error_is_called_once() -> None:
    """A `TypeError` inside a guard is not taken for a wrong number of arguments."""
    calls = []

    class Buggy:
        name = "buggy"

        def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
            calls.append(action)
            raise TypeError("check() takes 2 positional arguments but 3 were given")

    result = evaluate_graph(Buggy())

    assert result.reason == "guard `buggy` failed: TypeError: check() takes 2 positional arguments but 3 were given"
    assert result.fix
    assert len(calls) == 1


class UnprintableError(Exception):
    """An exception whose `__str__` fails."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a\nb"), "ValueError: a b"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 300 + "…"),
        (SystemExit(0), "SystemExit: 0"),
        (RecursionError(), "RecursionError"),
        (UnprintableError(), "UnprintableError"),
    ],
)
def test_guard_that_raises_blocks(error: BaseException, text: str) -> None:
    """The block has the exception's text; `SystemExit` does not end the process."""

    class Failing:
        name = "failing"

        def check(self, action: Action) -> Verdict:
            raise error

    assert evaluate_graph(Failing()).verdict == evaluate_graph(All(Failing())).verdict
    assert evaluate_graph(Failing()).reason == f"guard `failing` failed: {text}"
    assert not evaluate_graph(Failing()).passed


@pytest.mark.parametrize("answer", [None, True, "pass", 0])
def test_guard_that_returns_no_verdict_blocks(answer: object) -> None:
    """`True` is no verdict."""
    guard = ScriptedGuard("pass")
    guard.check = lambda action: answer  # type: ignore[method-assign, assignment, return-value]

    result = evaluate_graph(guard)

    assert result.reason == f"guard `pass` failed: expected a Verdict, found `{type(answer).__name__}`"


def test_observer_that_raises_is_recorded_and_ignored() -> None:
    """It changes no verdict under `All`, and appears in the warnings."""
    result = evaluate_graph(All(ScriptedGuard("observe"), ScriptedGuard("pass")))

    assert result.passed
    assert result.verdict.guard == "pass"
    assert result.warnings == ("guard `observe` failed: ValueError: out of order",)
    assert get_kind_word(ScriptedGuard("observe")) == "pass"
    assert get_kind_word(Any(All(ScriptedGuard("observe")), ScriptedGuard("block"))) == "block"


def test_trace_lists_each_node_above_its_children() -> None:
    """Each entry has the node's name, depth and verdict."""
    result = evaluate_graph(
        All(
            Not(ScriptedGuard("block", "list")),
            When(lambda a: True, Any(ScriptedGuard("ask"), ScriptedGuard("warn"))),
            name="strict",
        )
    )

    assert [(e.depth, e.node, e.verdict.kind.word) for e in result.trace] == [
        (0, "strict", "warn"),
        (1, "not", "pass"),
        (2, "list", "block"),
        (1, "when", "warn"),
        (2, "any", "warn"),
        (3, "ask", "ask"),
        (3, "warn", "warn"),
    ]
    assert [v.guard for v in result.context.verdicts] == ["list", "ask", "warn"]


def test_to_node_gives_each_guard_its_layer() -> None:
    """INTENT unless the guard says otherwise."""
    assert to_node(ScriptedGuard("pass")).layer is GovernanceLayer.INTENT  # type: ignore[attr-defined]
    assert to_node(ScriptedGuard("observe")).layer is GovernanceLayer.OBSERVE  # type: ignore[attr-defined]
