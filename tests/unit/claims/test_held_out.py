"""How well the shipped model reads messages that it was never trained on, by language."""

from collections.abc import Mapping

import pytest
from benchmarks.claims import Evaluation, evaluate_held_out
from tools.train_claims import Batch, load_batches

FLOORS = {
    "de": (0.93, 0.95),
    "en": (0.96, 0.95),
    "es": (0.91, 0.93),
    "fr": (0.93, 0.91),
    "ja": (0.92, 0.95),
    "ko": (0.95, 0.96),
    "pt": (0.92, 0.98),
    "ru": (0.93, 0.95),
    "zh": (0.95, 0.96),
}
"""The least precision and recall of `done` on the held-out batches: what was measured, less about one message."""


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Return all labelled batches."""
    return load_batches()


@pytest.fixture(scope="module")
def evaluations(batches: list[Batch]) -> Mapping[str, Evaluation]:
    """Return how the shipped model reads the held-out batches of each language."""
    return evaluate_held_out(batches)


@pytest.mark.parametrize("language", FLOORS)
def test_claims_of_work_done_are_read_above_the_floor(evaluations: Mapping[str, Evaluation], language: str) -> None:
    """Precision and recall of `done`, message by message, stay where they were measured."""
    precision, recall = FLOORS[language]
    evaluation = evaluations[language]
    score = evaluation.scores["done"]

    assert score.precision >= precision, "\n".join(evaluation.mistakes)
    assert score.recall >= recall, "\n".join(evaluation.mistakes)


@pytest.mark.parametrize("language", FLOORS)
def test_language_has_batches_to_train_on_and_one_to_measure(batches: list[Batch], language: str) -> None:
    """Each language has two training batches at least, a held-out one, and 300 messages, half of them look-alikes."""
    of_language = [batch for batch in batches if batch.language == language]
    messages = [message for batch in of_language for message in batch.messages]
    silent = [message for message in messages if not any(labelled.claims for labelled in message)]

    assert sum(batch.is_held_out for batch in of_language) >= 1
    assert sum(not batch.is_held_out for batch in of_language) >= 2
    assert len(messages) >= 300
    assert len(silent) >= 150


def test_held_out_message_is_in_no_training_batch(batches: list[Batch]) -> None:
    """A message that measures the model has not taught it, except for one of a few words that anyone would write."""
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for batch in batches:
        texts[batch.is_held_out] |= {" ".join(part.text for part in message) for message in batch.messages}

    assert {text for text in texts[True] & texts[False] if len(text.split()) > 3} == set()
