"""Patterns that are compiled when they are first used."""

import re

from verdikt.model.lazy_regex import compile_lazily


def test_a_pattern_that_waits_answers_like_one_that_does_not() -> None:
    """Every question, the first as the second."""
    waiting, real = compile_lazily(r"(\d+)-x", re.IGNORECASE), re.compile(r"(\d+)-x", re.IGNORECASE)

    for _ in range(2):
        found = waiting.search("a 12-X")
        assert found is not None and found.groups() == ("12",)
        assert waiting.sub("y", "1-x 2-x") == real.sub("y", "1-x 2-x")
        assert waiting.findall("1-x2-x") == real.findall("1-x2-x")
        assert (waiting.pattern, waiting.flags, waiting.groups) == (real.pattern, real.flags, real.groups)
    assert waiting.match("x") is None
