"""Which sentences claim something: behaviour as data, measured."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from verdikt.evidence.claims import find_claims
from verdikt.evidence.clause import CLAUSES, split_clauses
from verdikt.evidence.prose import split_sentences

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "claims.yaml").read_text())


def labelled() -> Iterator[tuple[str, set[str]]]:
    """Each message with the types of claim that it makes."""
    for label in ("done", "blocked", "delegation", "none"):
        for text in CASES[label]:
            yield str(text), set() if label == "none" else {label}
    for case in CASES["mixed"]:
        yield case["say"], set(case["claims"])


def test_claims_are_found_and_look_alikes_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Precision of at least 0.97 and recall of at least 0.95 on messages of which about half claim nothing."""
    right = wrong = missed = 0
    faults = []
    cases = list(labelled())
    for text, wanted in cases:
        found = {claim.type.value for claim in find_claims(text)}
        right += len(found & wanted)
        wrong += len(found - wanted)
        missed += len(wanted - found)
        if found != wanted:
            faults.append(f"expected {sorted(wanted)}, found {sorted(found)}: {text!r}")
    precision, recall = right / (right + wrong), right / (right + missed)
    with capsys.disabled():
        print(f"\nclaims: {len(cases)} messages, precision {precision:.3f}, recall {recall:.3f}")

    assert len(cases) >= 400
    assert precision >= 0.97, "\n".join(faults)
    assert recall >= 0.95, "\n".join(faults)


def test_a_claim_says_where_its_words_stand() -> None:
    """The span is one of the message as it came, code and markup included."""
    text = "See `x`.\n\n**All 3 tests** pass, and I'm blocked on *access*."

    found = find_claims(text)

    assert [(claim.type.value, text[claim.start : claim.end]) for claim in found] == [
        ("done", "3 tests** pass"),
        ("blocked", "I'm blocked"),
    ]


def test_a_sentence_of_many_parts_is_read_in_few() -> None:
    """What each clause costs is paid a bounded number of times, and its end is read all the same."""
    (sentence,) = split_sentences("a: b; " * 150 + "I fixed it")

    found = list(split_clauses(sentence))

    assert len(found) == CLAUSES + 1
    assert found[-1].text.endswith("I fixed it")


@given(st.text(max_size=400))
def test_no_text_makes_it_raise(text: str) -> None:
    """Bad input is normal input."""
    for claim in find_claims(text):
        assert text[claim.start : claim.end] == claim.words


@pytest.mark.parametrize(
    "text",
    [
        "`" * 5000,
        '"' * 5000,
        "I " * 5000,
        "[a](" * 3000,
        "is now " * 4000,
        "has a new " * 9000,
        ": " * 9000,
        "a: b " * 2000,
        "a" * 300_000,
    ],
)
def test_long_and_odd_messages_take_bounded_time(text: str) -> None:
    """A message made to be slow is read like any other."""
    find_claims(text)
