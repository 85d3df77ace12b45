"""Which sentences claim something, measured on labelled messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.evidence.claims import MOST, find_claims
from verdikt.evidence.clause import CLAUSES, split_clauses
from verdikt.evidence.prose import split_sentences

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "claims.yaml").read_text())


def load_messages() -> Iterator[tuple[str, set[str]]]:
    """Return each message with the types of its claims."""
    for label in ("done", "blocked", "delegation", "none"):
        for text in CASES[label]:
            yield str(text), set() if label == "none" else {label}
    for case in CASES["mixed"]:
        yield case["say"], set(case["claims"])


def test_claims_have_high_precision_and_recall(capsys: pytest.CaptureFixture[str]) -> None:
    """Precision is at least 0.97 and recall at least 0.95 on messages of which about half claim nothing."""
    right = mistakes = missed = 0
    faults = []
    cases = list(load_messages())
    for text, expected in cases:
        actual = {claim.type.value for claim in find_claims(text)}
        right += len(actual & expected)
        mistakes += len(actual - expected)
        missed += len(expected - actual)
        if actual != expected:
            faults.append(f"expected {sorted(expected)}, found {sorted(actual)}: {text!r}")
    precision, recall = right / (right + mistakes), right / (right + missed)
    with capsys.disabled():
        print(f"\nclaims: {len(cases)} messages, precision {precision:.3f}, recall {recall:.3f}")

    assert len(cases) >= 400
    assert precision >= 0.97, "\n".join(faults)
    assert recall >= 0.95, "\n".join(faults)


def test_claim_span_points_into_the_message() -> None:
    """The span refers to the message as it came, code and markup included."""
    text = "See `x`.\n\n**All 3 tests** pass, and I'm blocked on *access*."

    claims = find_claims(text)

    assert [(claim.type.value, text[claim.start : claim.end]) for claim in claims] == [
        ("done", "3 tests** pass"),
        ("blocked", "I'm blocked"),
    ]


def test_sentence_of_many_clauses_is_read_in_bounded_parts() -> None:
    """The number of clauses is bounded, and the end of the sentence is read."""
    (sentence,) = split_sentences("a: b; " * 150 + "I fixed it")

    claims = list(split_clauses(sentence))

    assert len(claims) == CLAUSES + 1
    assert claims[-1].text.endswith("I fixed it")


@given(st.text(max_size=400))
def test_no_text_raises(text: str) -> None:
    """Any text is accepted."""
    for claim in find_claims(text):
        assert text[claim.start : claim.end] == claim.words


@pytest.mark.parametrize(
    ("part", "count"),
    [
        ("`", 5000),
        ('"', 5000),
        ("I ", 2400),
        ("[a](", 2400),
        ("is now ", 1600),
        ("has a new ", 1600),
        (": ", 9000),
        ("a: b ", 1600),
        ("a", 300_000),
    ],
)
def test_cost_of_a_repetitive_message_grows_at_most_linearly(part: str, count: int) -> None:
    """A message that is built to be slow costs in proportion to its length, and its claims are bounded."""
    assert len(list(find_claims(part * count))) <= MOST
    assert measure_growth(find_claims, lambda parts: part * parts, count) <= LINEAR_GROWTH
