"""Truth tables of the six combinators, and what cannot be built."""

import itertools
from functools import partial

import pytest

from tests.graphs import ACTION, Says, fails
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


def evaluate(root: Child) -> EvaluationResult:
    """The real engine on a harmless action."""
    return PolicyEngine(root).evaluate(ACTION)


def word(root: Child) -> str:
    """The kind of the verdict, as a word."""
    return evaluate(root).verdict.kind.word


@pytest.mark.parametrize(("one", "other"), list(itertools.product(WORDS, WORDS)))
def test_all_is_the_strictest_and_any_the_most_lenient(one: str, other: str) -> None:
    """All sixteen pairs."""
    strictest = max(one, other, key=WORDS.index)
    lenient = min(one, other, key=WORDS.index)

    assert word(All(Says(one), Says(other))) == strictest
    assert word(Any(Says(one), Says(other))) == lenient


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
    """An error stays a block, whoever failed."""
    assert word(Not(Says(child))) == expected


def test_not_not_of_an_error_is_still_a_block() -> None:
    """The mark of an error survives every `Not`, also beside an ordinary block."""
    assert word(Not(Not(Says("raise")))) == "block"
    assert word(Not(All(Says("block"), Says("raise")))) == "block"
    assert word(Not(Any(Says("block"), Says("raise")))) == "block"


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
    """Warn counts as passed; a failed observer has no vote."""
    assert word(Threshold(n, *map(Says, children.split()))) == expected


@pytest.mark.parametrize(
    ("primary", "fallback", "expected", "asked"),
    [
        ("pass", "block", "pass", 0),
        ("warn", "block", "warn", 0),
        ("ask", "block", "ask", 0),
        ("block", "pass", "pass", 1),
        ("block", "ask", "ask", 1),
        ("block", "block", "block", 1),
        ("raise", "pass", "pass", 1),
        ("red", "pass", "block", 0),
        ("block", "observe", "block", 1),
        ("block", "raise", "block", 1),
    ],
)
def test_escalate_asks_the_fallback_only_about_a_block(primary: str, fallback: str, expected: str, asked: int) -> None:
    """And never about a red line."""
    second = Says(fallback)

    assert word(Escalate(Says(primary), second)) == expected
    assert second.asked == asked


@pytest.mark.parametrize("primary", ["raise", "block"])
def test_not_makes_no_pass_of_a_fallback_that_was_asked_because_of_an_error(primary: str) -> None:
    """Without the error it might never have been asked."""
    assert word(Not(Escalate(Says(primary), Says("block")))) == ("block" if primary == "raise" else "pass")


@pytest.mark.parametrize("primary", [All(Says("block"), Says("red")), Any(Says("block"), Says("red"))])
def test_a_red_line_beside_an_ordinary_block_is_still_a_red_line(primary: Child) -> None:
    """Whatever stands before it."""
    assert word(Escalate(primary, Says("pass"))) == "block"


def test_escalate_sees_the_red_line_behind_a_short_circuit() -> None:
    """An ordinary block must not be a way to hide a red line from `Escalate`."""
    red = Says("red")
    primary = All(Says("block"), red, short_circuit=True)

    assert word(Escalate(primary, Says("pass"))) == "block"
    assert red.asked == 1
    assert word(All(Escalate(Says("pass"), Says("pass")), primary, short_circuit=True)) == "block"
    assert red.asked == 1


@pytest.mark.parametrize(
    ("holds", "otherwise", "expected"),
    [(True, "block", "warn"), (False, "block", "block"), (False, None, "pass")],
)
def test_when_takes_one_branch(holds: bool, otherwise: str | None, expected: str) -> None:
    """Without `otherwise` it does not apply."""
    assert word(When(lambda a, ctx: holds, Says("warn"), otherwise and Says(otherwise))) == expected


def test_when_blocks_if_its_condition_raises() -> None:
    """With the exception's text, in neither branch, and `Not` does not make it a pass."""
    then = Says("pass")
    result = evaluate(When(fails, then, then))

    assert result.reason == "the condition of `when` failed: KeyError: 'no such thing'"
    assert then.asked == 0
    assert word(Not(When(fails, then))) == "block"


def test_a_condition_may_take_the_action_alone() -> None:
    """Like a guard's `check`."""
    assert word(When(lambda a: a.kind == "bash", Says("ask"))) == "ask"


def test_every_child_of_all_runs_unless_short_circuited() -> None:
    """And the reason is the first of the strictest, with every fix kept."""
    last = Says("pass", "last")
    children = (Says("warn"), Says("ask"), Says("block", "b1"), Says("block", "b2"), last)
    result = evaluate(All(*children))

    assert result.reason == "b1 says so"
    assert result.fixes == ("ask b1 nicely", "ask b2 nicely", "ask ask nicely", "ask warn nicely")
    assert result.warnings == ("warn says so",)
    assert last.asked == 1
    assert evaluate(All(*children, short_circuit=True)).reason == "b1 says so"
    assert last.asked == 1


def test_a_short_circuit_stops_at_a_block_and_at_nothing_less() -> None:
    """A later block must still be found behind an ask."""
    assert word(All(Says("ask"), Says("block"), short_circuit=True)) == "block"


def test_any_that_nobody_passes_gives_all_reasons() -> None:
    """Each way in was tried."""
    result = evaluate(Any(Says("block", "a"), Says("block", "b")))

    assert result.reason == "a says so; b says so"
    assert result.fixes == ("ask a nicely", "ask b nicely")


def test_fixes_of_overruled_guards_are_left_out() -> None:
    """What `Any` and `Escalate` got past needs no fixing."""
    result = evaluate(
        All(Any(Says("block", "a"), Says("pass")), Escalate(Says("block", "b"), Says("warn", "c")), Says("ask"))
    )

    assert result.fixes == ("ask ask nicely", "ask c nicely")


@pytest.mark.parametrize("combinator", [All, Any])
def test_an_empty_combinator_cannot_be_built(combinator: type[All | Any]) -> None:
    """It would pass everything, or nothing."""
    with pytest.raises(PolicyError, match=f"^`{combinator.__name__.lower()}` needs at least one child$"):
        combinator()


@pytest.mark.parametrize("n", [0, -1, 3, True, 1.0])
def test_a_threshold_out_of_range_cannot_be_built(n: int) -> None:
    """Nor one of nothing."""
    with pytest.raises(
        PolicyError, match=f"^`threshold` needs n from 1 to 2, the number of its children, found `{n}`$"
    ):
        Threshold(n, Says("pass"), Says("pass"))
    with pytest.raises(PolicyError, match=r"^`threshold` needs at least one child$"):
        Threshold(1)


@pytest.mark.parametrize(
    ("child", "message"),
    [
        (Says, "expected a guard, found the class `Says`: write `Says\\(\\)`"),
        (None, "expected a guard or a combinator, found `NoneType`, which has no `check`"),
        (lambda action: None, "expected a guard or a combinator, found `function`, which has no `check`"),
    ],
)
def test_what_is_no_guard_is_refused_when_built(child: Child, message: str) -> None:
    """Not when the first action comes."""
    with pytest.raises(PolicyError, match=f"^{message}$"):
        All(child)


def test_a_guard_without_a_name_is_refused() -> None:
    """Nobody could tell who blocked."""

    class Nameless:
        def check(self, action: Action) -> Verdict:
            return Verdict.pass_(guard="")

    with pytest.raises(PolicyError, match=r"^expected a guard with a `name`, found `Nameless` without one$"):
        All(Nameless())  # type: ignore[arg-type]


def test_combinators_are_frozen() -> None:
    """A graph is a value."""
    with pytest.raises(AttributeError):
        All(Says("pass")).children = ()  # type: ignore[misc]


class Shapes:
    """The shapes that a `check` can have; each returns how many arguments it got."""

    name = "shapes"

    def one(self, action: Action) -> Verdict:
        return Verdict.warn(guard="shapes", reason="1")

    def two(self, action: Action, ctx: GovernanceContext) -> Verdict:
        return Verdict.warn(guard="shapes", reason="2")

    def keyword(self, action: Action, *, verbose: bool = False) -> Verdict:
        return Verdict.warn(guard="shapes", reason="1")

    def default(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        return Verdict.warn(guard="shapes", reason="2" if ctx else "1")

    def many(self, *args: object) -> Verdict:
        return Verdict.warn(guard="shapes", reason=str(len(args)))

    def three(self, action: Action, ctx: GovernanceContext, extra: int = 0) -> Verdict:
        return Verdict.warn(guard="shapes", reason="2")

    def __call__(self, action: Action) -> Verdict:
        return self.one(action)


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (Shapes().one, "1"),
        (Shapes().two, "2"),
        (Shapes().keyword, "1"),
        (Shapes().default, "2"),
        (Shapes().many, "2"),
        (Shapes().three, "2"),
        (Shapes(), "1"),
        (partial(Shapes.one, Shapes()), "1"),
        (partial(Shapes.two, Shapes()), "2"),
        (lambda action, ctx: Verdict.warn(guard="l", reason="2"), "2"),
    ],
)
def test_the_number_of_arguments_is_told_from_the_signature(check: object, arguments: str) -> None:
    """Bound methods, callables, partials, defaults, `*args`, keywords."""
    guard = Says("pass")
    guard.check = check  # type: ignore[method-assign, assignment]

    assert evaluate(guard).verdict.reason == arguments


def test_a_type_error_inside_a_guard_is_not_mistaken_for_its_signature() -> None:
    """It is called once, and blocks."""
    calls = []

    class Buggy:
        name = "buggy"

        def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
            calls.append(action)
            raise TypeError("check() takes 2 positional arguments but 3 were given")

    result = evaluate(Buggy())

    assert result.reason == "guard `buggy` failed: TypeError: check() takes 2 positional arguments but 3 were given"
    assert result.fix
    assert len(calls) == 1


class Unprintable(Exception):
    """An exception that cannot even print itself."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a\nb"), "ValueError: a b"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 300 + "…"),
        (SystemExit(0), "SystemExit: 0"),
        (RecursionError(), "RecursionError"),
        (Unprintable(), "Unprintable"),
    ],
)
def test_a_guard_that_raises_blocks(error: BaseException, text: str) -> None:
    """With the exception's text; one that exits must not take the process with it."""

    class Failing:
        name = "failing"

        def check(self, action: Action) -> Verdict:
            raise error

    assert evaluate(Failing()).verdict == evaluate(All(Failing())).verdict
    assert evaluate(Failing()).reason == f"guard `failing` failed: {text}"
    assert not evaluate(Failing()).passed


@pytest.mark.parametrize("answer", [None, True, "pass", 0])
def test_a_guard_that_does_not_answer_with_a_verdict_blocks(answer: object) -> None:
    """`True` is no verdict."""
    guard = Says("pass")
    guard.check = lambda action: answer  # type: ignore[method-assign, assignment, return-value]

    result = evaluate(guard)

    assert result.reason == f"guard `pass` failed: expected a Verdict, found `{type(answer).__name__}`"


def test_an_observer_that_raises_is_recorded_and_ignored() -> None:
    """It changes no verdict under `All`, and shows in the warnings."""
    result = evaluate(All(Says("observe"), Says("pass")))

    assert result.passed
    assert result.verdict.guard == "pass"
    assert result.warnings == ("guard `observe` failed: ValueError: out of order",)
    assert word(Says("observe")) == "pass"
    assert word(Any(All(Says("observe")), Says("block"))) == "block"


def test_the_trace_shows_each_node_above_its_children() -> None:
    """Named, indented, with what each said."""
    result = evaluate(
        All(Not(Says("block", "list")), When(lambda a: True, Any(Says("ask"), Says("warn"))), name="strict")
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


def test_a_leaf_knows_its_layer() -> None:
    """INTENT unless the guard says otherwise."""
    assert to_node(Says("pass")).layer is GovernanceLayer.INTENT  # type: ignore[attr-defined]
    assert to_node(Says("observe")).layer is GovernanceLayer.OBSERVE  # type: ignore[attr-defined]
