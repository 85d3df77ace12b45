"""Patterns that are compiled when they are first used."""

import re

from verdikt.model.lazy_regex import compile_lazily


def test_lazy_pattern_behaves_like_a_compiled_one() -> None:
    """Every method gives the same result at its first and at its second use."""
    waiting, real = compile_lazily(r"(\d+)-x", re.IGNORECASE), re.compile(r"(\d+)-x", re.IGNORECASE)

    for _ in range(2):
        match = waiting.search("a 12-X")
        assert match is not None and match.groups() == ("12",)
        assert waiting.sub("y", "1-x 2-x") == real.sub("y", "1-x 2-x")
        assert waiting.findall("1-x2-x") == real.findall("1-x2-x")
        assert (waiting.pattern, waiting.flags, waiting.groups) == (real.pattern, real.flags, real.groups)
    assert waiting.match("x") is None
