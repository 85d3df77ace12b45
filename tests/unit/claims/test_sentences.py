"""How a message is split into sentences: lists, headings, code, the punctuation of several scripts."""

import pytest
from tools.train_claims import list_batch_files, load_batches

from verdikt.claims.sentences import LONGEST, split_sentences


@pytest.mark.parametrize(
    ("message", "sentences"),
    [
        ("Fixed it. All good!", ["Fixed it.", "All good!"]),
        ("See e.g. the docs. Done.", ["See e.g. the docs.", "Done."]),
        ("修正しました。テストも通りました！次は？", ["修正しました。", "テストも通りました！", "次は？"]),
        ("已修复。测试全部通过。", ["已修复。", "测试全部通过。"]),
        ("- one\n- two\n\n3. three", ["one", "two", "three"]),
        ("# Title\nText", ["Title", "Text"]),
        ("Before\n```\nAll tests pass.\n```\nAfter", ["Before", "After"]),
        ("> quoted words\nmine", ["mine"]),
        ("Run `a. b` first. Then stop.", ["Run `a. b` first.", "Then stop."]),
        ("Tests: ok\nLint: ok", ["Tests: ok", "Lint: ok"]),
        ("| a | b |\n|---|---|\n| c | d |", ["| a | b |", "| c | d |"]),
        ("", []),
        ("...\n---\n***", []),
    ],
)
def test_message_is_split_into_sentences(message: str, sentences: list[str]) -> None:
    """Each sentence is a piece of the message as it came."""
    assert [message[part.start : part.end] for part in split_sentences(message)] == sentences


def test_sentence_has_the_marks_around_it() -> None:
    """A tick, an open box and the title above a list are kept with the sentence."""
    parts = split_sentences("## Next steps\n- [x] one\n- [ ] two\n- three ✅\n\nStill to do:\n* four")

    assert [(part.kind, part.tick, part.title) for part in parts] == [
        ("heading", "", ""),
        ("item", "ticked", "Next steps"),
        ("item", "open", "Next steps"),
        ("item", "ticked", "Next steps"),
        ("text", "", "Next steps"),
        ("item", "", "Next steps Still to do:"),
    ]


def test_soft_line_break_does_not_end_a_sentence() -> None:
    """A long line without an end goes on in the next one."""
    message = "The parser reads the whole file into memory before it looks for the\nfirst line. Done."

    assert len(split_sentences(message)) == 2


def test_end_of_a_huge_message_is_read() -> None:
    """An agent says at the end what came of its work, so the end is what is read of a message that is too long."""
    message = "word " * LONGEST + "\n\nAll tests pass."

    last = split_sentences(message)[-1]

    assert message[last.start : last.end] == "All tests pass."


def test_each_label_names_a_sentence_of_its_message() -> None:
    """The labelled data is split as inference splits it; `load_batches` raises where a label names another text."""
    assert len(load_batches()) == len(list_batch_files())
