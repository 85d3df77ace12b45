"""Laws of the policy graph, on random graphs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import ACTION, build_graph, graphs
from tests.reference.evaluator import evaluate_naively
from verdikt.engine import PolicyEngine
from verdikt.graph.combinator import All, Any, Threshold
from verdikt.model.verdict import Verdict, VerdictKind

several = st.lists(graphs, min_size=1, max_size=4)


def evaluate_graph(graph: tuple[object, ...]) -> Verdict:
    """Evaluate a graph with the real engine."""
    return PolicyEngine(build_graph(graph)).evaluate(ACTION).verdict


@given(graphs)
@settings(max_examples=400, deadline=None)
def test_engine_agrees_with_the_naive_evaluator(graph: tuple[object, ...]) -> None:
    """Kind and marks are the same on every graph."""
    kind, marks = evaluate_naively(graph)
    verdict = evaluate_graph(graph)

    assert verdict.kind.word == ("pass" if kind == "ignored" else kind)
    if kind == "block":
        assert (verdict.red_line, verdict.error) == ("red" in marks, "error" in marks)


@given(several, graphs)
@settings(deadline=None)
def test_all_with_another_child_is_never_looser(children: list[tuple[object, ...]], more: tuple[object, ...]) -> None:
    """Another guard can only make the verdict stricter."""
    assert evaluate_graph(("all", [*children, more])).kind >= evaluate_graph(("all", children)).kind


@given(several, graphs)
@settings(deadline=None)
def test_any_with_another_child_is_never_stricter(children: list[tuple[object, ...]], more: tuple[object, ...]) -> None:
    """Another alternative can only make the verdict more lenient."""
    assert evaluate_graph(("any", [*children, more])).kind <= evaluate_graph(("any", children)).kind


@given(several.flatmap(lambda children: st.tuples(st.just(children), st.permutations(children))))
@settings(deadline=None)
def test_all_in_another_order_has_the_same_kind_and_marks(
    pair: tuple[list[tuple[object, ...]], list[tuple[object, ...]]],
) -> None:
    """The order of the children does not matter."""
    first, second = evaluate_graph(("all", pair[0])), evaluate_graph(("all", pair[1]))

    assert (first.kind, first.red_line, first.error) == (second.kind, second.red_line, second.error)


@given(several)
@settings(deadline=None)
def test_short_circuit_changes_no_kind(children: list[tuple[object, ...]]) -> None:
    """It saves time and nothing else."""
    built = [build_graph(child) for child in children]

    for short, full in [
        (All(*built, short_circuit=True), All(*built)),
        (Any(*built, short_circuit=True), Any(*built)),
        (Threshold(len(built), *built, short_circuit=True), Threshold(len(built), *built)),
    ]:
        assert PolicyEngine(short).evaluate(ACTION).verdict.kind is PolicyEngine(full).evaluate(ACTION).verdict.kind


@given(graphs)
@settings(deadline=None)
def test_evaluation_is_deterministic(graph: tuple[object, ...]) -> None:
    """The same action and graph give the same verdict and trace."""
    first, second = PolicyEngine(build_graph(graph)).evaluate(ACTION), PolicyEngine(build_graph(graph)).evaluate(ACTION)

    assert first.verdict == second.verdict
    assert first.trace == second.trace


@given(graphs)
@settings(deadline=None)
def test_verdict_that_does_not_pass_has_reason_and_fix(graph: tuple[object, ...]) -> None:
    """Every ask and block has a reason and a fix, and the deciding one comes first."""
    result = PolicyEngine(build_graph(graph)).evaluate(ACTION)

    if result.verdict.kind >= VerdictKind.ASK:
        assert result.reason
        assert result.fixes[0] == result.fix
