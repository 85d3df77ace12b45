"""The laws of the policy graph, on random graphs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import ACTION, build, graphs
from tests.reference.evaluator import judge
from verdikt.engine import PolicyEngine
from verdikt.graph.combinator import All, Any, Threshold
from verdikt.model.verdict import Verdict, VerdictKind

several = st.lists(graphs, min_size=1, max_size=4)


def verdict_of(graph: tuple[object, ...]) -> Verdict:
    """What the real engine says."""
    return PolicyEngine(build(graph)).evaluate(ACTION).verdict


@given(graphs)
@settings(max_examples=400, deadline=None)
def test_the_engine_agrees_with_the_naive_evaluator(graph: tuple[object, ...]) -> None:
    """Kind and marks are the same on every graph."""
    kind, marks = judge(graph)
    verdict = verdict_of(graph)

    assert verdict.kind.word == ("pass" if kind == "ignored" else kind)
    if kind == "block":
        assert (verdict.red_line, verdict.error) == ("red" in marks, "error" in marks)


@given(several, graphs)
@settings(deadline=None)
def test_adding_a_child_to_all_never_loosens(children: list[tuple[object, ...]], more: tuple[object, ...]) -> None:
    """A guard more can only be stricter."""
    assert verdict_of(("all", [*children, more])).kind >= verdict_of(("all", children)).kind


@given(several, graphs)
@settings(deadline=None)
def test_adding_a_child_to_any_never_tightens(children: list[tuple[object, ...]], more: tuple[object, ...]) -> None:
    """A way more can only be more lenient."""
    assert verdict_of(("any", [*children, more])).kind <= verdict_of(("any", children)).kind


@given(several.flatmap(lambda children: st.tuples(st.just(children), st.permutations(children))))
@settings(deadline=None)
def test_order_under_all_does_not_change_the_kind(
    pair: tuple[list[tuple[object, ...]], list[tuple[object, ...]]],
) -> None:
    """Nor the marks."""
    one, other = verdict_of(("all", pair[0])), verdict_of(("all", pair[1]))

    assert (one.kind, one.red_line, one.error) == (other.kind, other.red_line, other.error)


@given(several)
@settings(deadline=None)
def test_a_short_circuit_changes_no_kind(children: list[tuple[object, ...]]) -> None:
    """It saves time and nothing else."""
    built = [build(child) for child in children]

    for short, full in [
        (All(*built, short_circuit=True), All(*built)),
        (Any(*built, short_circuit=True), Any(*built)),
        (Threshold(len(built), *built, short_circuit=True), Threshold(len(built), *built)),
    ]:
        assert PolicyEngine(short).evaluate(ACTION).verdict.kind is PolicyEngine(full).evaluate(ACTION).verdict.kind


@given(graphs)
@settings(deadline=None)
def test_evaluation_is_deterministic(graph: tuple[object, ...]) -> None:
    """The same action by the same graph: the same verdict, the same trace."""
    one, other = PolicyEngine(build(graph)).evaluate(ACTION), PolicyEngine(build(graph)).evaluate(ACTION)

    assert one.verdict == other.verdict
    assert one.trace == other.trace


@given(graphs)
@settings(deadline=None)
def test_what_does_not_pass_says_what_to_do(graph: tuple[object, ...]) -> None:
    """Every ask and block has a reason and a fix, and the deciding one comes first."""
    result = PolicyEngine(build(graph)).evaluate(ACTION)

    if result.verdict.kind >= VerdictKind.ASK:
        assert result.reason
        assert result.fixes[0] == result.fix
