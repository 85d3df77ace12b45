"""What the trained reader of claims promises: positions, bounded cost, weights that belong to the data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.train_claims import compute_digest

from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.claims.model import (
    ACTS,
    TOPICS,
    WEIGHTS,
    get_model_digest,
    load_model,
    read_model,
    weigh_report,
)
from verdikt.claims.reader import is_known_language, read_claims
from verdikt.claims.sentences import split_sentences
from verdikt.claims.topics import refine_claims


def test_weights_are_those_of_the_data_and_the_code() -> None:
    """The digest in the weights is that of the training batches and of the code that makes features."""
    assert get_model_digest() == compute_digest(), "run `make train`"


def test_weights_are_small() -> None:
    """The binary that every installation carries stays below 1 MB."""
    assert WEIGHTS.stat().st_size <= 1_000_000


def test_weights_of_another_kind_are_refused() -> None:
    """A file that is no model raises rather than reading as one that knows nothing."""
    with pytest.raises(ValueError, match="expected weights of the claim model"):
        read_model(b"something else")


def test_claims_have_act_topics_and_position() -> None:
    """Each sentence has its act, its topics and its place in the message, in order."""
    message = "I've fixed the parser.\n\n- All 42 tests pass\n\nShould I also update the docs?"

    claims = read_claims(message)

    assert [(claim.act, claim.topics, message[claim.start : claim.end]) for claim in claims] == [
        ("done", ("change",), "I've fixed the parser."),
        ("done", ("tests",), "All 42 tests pass"),
        ("none", (), "Should I also update the docs?"),
    ]


def test_sentence_with_two_acts_has_both_with_their_own_topics() -> None:
    """What is claimed and what is admitted in one sentence are two claims on the same span."""
    claims = read_claims("I fixed the parser, but I haven't run the tests.")

    assert {claim.act: claim.topics for claim in claims} == {"done": ("change",), "admission": ("tests",)}


@pytest.mark.parametrize(
    ("claim", "report", "is_alone", "expected"),
    [
        (-0.2, 1.0, False, 0.3),
        (-0.2, 9.0, True, 0.3),
        (0.2, -9.0, False, -0.3),
        (0.2, -9.0, True, 0.2),
        (0.8, -9.0, False, 0.8),
        (0.8, 0.4, False, 1.0),
    ],
)
def test_message_as_a_whole_weighs_within_bounds_and_hides_no_certain_claim(
    claim: float, report: float, is_alone: bool, expected: float
) -> None:
    """The words around a claim move it by 0.5 at most, and one that is certain or stands alone never downward."""
    assert weigh_report(claim, report, is_alone=is_alone) == pytest.approx(expected)


def test_report_lifts_its_surest_sentence_alone() -> None:
    """A message that reports work has one claim at least; its explanations claim nothing for standing in it."""
    message = "The audio pops are fixed in the mixer. Cause: the ring buffer was read one frame past the end."

    assert [claim.act for claim in read_claims(message)] == ["done", "none"]


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("I sent the report to the team.", "done"),
        ("The report was sent to the team.", "done"),
        ("Der Bericht wurde an das Team geschickt.", "done"),
        ("Отчёт отправлен команде.", "done"),
        ("报告已发给团队。", "done"),
        ("The report was sent by the cron job at midnight.", "none"),
        ("The report is sent to the team every Monday.", "none"),
        ("Should I send the report to the team?", "none"),
        ("Marta sent the report to the team yesterday.", "none"),
    ],
)
def test_sending_is_a_claim_when_the_agent_reports_it(text: str, act: str) -> None:
    """A report of something sent is a claim; a habit, a question and what others sent are not."""
    assert [claim.act for claim in read_claims(text)] == [act]


def test_file_without_backticks_is_a_name_and_not_a_word() -> None:
    """The name of a file (`build`) does not hide what was done to it."""
    assert [claim.act for claim in read_claims("I deleted build.js.")] == ["done"]


def test_code_quotations_and_fences_claim_nothing() -> None:
    """Words that the agent only shows are masked."""
    message = '```\nAll tests pass.\n```\n> Fixed the bug.\n\nThe page says "All tests pass." in green.'

    assert {claim.act for claim in read_claims(message)} == {"none"}


@pytest.mark.parametrize(
    "message",
    [
        "Naprawiłem błąd w parserze i wszystkie testy teraz przechodzą.",
        "Ik heb de fout opgelost en alle tests slagen weer.",
        "Hatayı düzelttim ve bütün testler artık geçiyor.",
        "Korjasin virheen ja kaikki testit menevät nyt läpi.",
    ],
)
def test_unknown_language_claims_nothing_with_a_low_score(message: str) -> None:
    """A language without training data is marked as unknown, so that the gate can go by the facts."""
    assert not is_known_language(message)
    assert [(claim.act, claim.score) for claim in read_claims(message)] == [("none", 0.0)]


@pytest.mark.parametrize(
    "message", ["", "Done.", "I fixed the parser and all tests pass.", "テストはすべて通りました。"]
)
def test_known_language_is_known(message: str) -> None:
    """The languages of the training data are known, and so are messages too short to tell."""
    assert is_known_language(message)


@pytest.mark.parametrize("text", ["✅", "- ✅", "x", "§", "`x`", "完", "0"])
def test_model_reads_topics_of_a_sentence_without_words(text: str) -> None:
    """Topics are read of any sentence that may claim something, also where it has one feature or none."""
    for sentence in split_sentences(text):
        assert set(load_model().list_topics(sentence)) <= set(TOPICS)


@given(st.text(max_size=400))
def test_no_text_raises(message: str) -> None:
    """Any text is accepted, and what comes out is in the tables of acts and topics."""
    for claim in read_claims(message):
        assert message[claim.start : claim.end] == claim.text
        assert claim.act in (*ACTS, "none")
        assert set(claim.topics) <= set(TOPICS)
        assert 0 <= claim.score <= 1


@pytest.mark.parametrize(
    ("part", "count"),
    [
        ("`", 5000),
        ('"', 5000),
        ("I ", 2400),
        ("[a](", 2400),
        ("a. ", 800),
        ("- a\n", 800),
        ("完", 3000),
        ("a", 100_000),
    ],
)
def test_cost_of_a_repetitive_message_grows_at_most_linearly(part: str, count: int) -> None:
    """A message that is built to be slow costs in proportion to its length."""
    assert measure_growth(read_claims, lambda parts: part * parts, count) <= LINEAR_GROWTH


@pytest.mark.parametrize("message", ["Tests: ❌ 31/48", "Lint ✗ 12 errors"])
def test_cross_is_an_admission(message: str) -> None:
    """It says that something fails, whatever stands beside it."""
    assert {claim.act for claim in read_claims(message)} <= {"admission", "none"}


COMMAND_SENTENCES = {
    "Fixed the discount, the tests pass, and the fix is committed.": {"commit"},
    "He corregido el error en cart.py y he hecho el commit.": {"commit"},
    "I fixed the bug and the commit hook.": set(),
    "I added the release notes and the tests pass.": set(),
}


@pytest.mark.parametrize(("text", "expected"), COMMAND_SENTENCES.items())
def test_what_a_command_did_is_read_in_a_part_of_a_sentence(text: str, expected: set[str]) -> None:
    """A few words at the end of a sentence weigh little in it as a whole, and a thing with such a name is no report."""
    topics = {topic for claim in refine_claims(read_claims(text)) for topic in claim.topics}
    assert topics & {"commit", "push", "release", "deploy", "install"} == expected


@pytest.mark.parametrize(
    "message", ["Fixed the parser. Shall I push?", "Fixed the bug there. Is it fast?", "解析器已修复。要推送吗？"]
)
def test_question_after_a_report_does_not_hide_it(message: str) -> None:
    """What is asked says nothing about what was done."""
    assert read_claims(message)[0].act == "done"
