"""Texts made from patterns, so that a rule can be shown to fire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.errors import PolicyError
from verdikt.graph.glob import match_glob
from verdikt.graph.pattern import compile_pattern, found_in
from verdikt.graph.sample import glob_sample, pattern_samples, required_texts, unanchored


@pytest.mark.parametrize(
    "pattern",
    [
        r"rm\s+-rf\s+/",
        r"DROP\s+TABLE",
        r"(?i)drop\s+(table|database)\b",
        r"^curl [^|]*\| *(ba)?sh$",
        r"\bgit\b.*--force(?:$|[^-])",
        r"[^a-zA-Z0-9\s]{3,}",
        r"a{2,5}b*?c+",
        r"(?P<q>['\"]).*['\"]",
        r"\Qa.b*c\E+",
        r"[[:alpha:]]+\d\z",
        r"\pL+",
        r"\x{1F600}|end",
        r"(?s)a.b",
        r"[\d.]+:\d+",
        "",
    ],
)
def test_a_sample_is_found_for_any_pattern_that_can_match(pattern: str) -> None:
    """And re2 itself confirms it."""
    samples = list(pattern_samples(pattern))

    assert samples
    assert all(found_in(pattern, sample) for sample in samples)


@pytest.mark.parametrize("pattern", ["a^b", "$x", r"a\bb", r"[^\s\S]"])
def test_no_sample_is_found_for_a_pattern_that_cannot_match(pattern: str) -> None:
    """Nothing precedes the beginning, nothing follows the end."""
    assert list(pattern_samples(pattern)) == []


@given(st.from_regex(r"[a-c?*+|().\[\]^$\\ds{},0-9-]{0,12}", fullmatch=True))
def test_any_pattern_gives_samples_that_fit_or_none(pattern: str) -> None:
    """No pattern makes it raise."""
    try:
        compile_pattern(pattern)
    except PolicyError:
        return
    assert all(found_in(pattern, sample) for sample in pattern_samples(pattern))
    unanchored(pattern)
    required_texts(pattern)


@given(st.from_regex(r"[ab*?/\\]{0,12}", fullmatch=True))
def test_a_glob_fits_its_sample(glob: str) -> None:
    """Stars, question marks and escapes."""
    assert match_glob(glob, glob_sample(glob))


def test_what_a_pattern_requires() -> None:
    """Only what no match can do without."""
    assert required_texts(r"rm\s+-rf") == ["rm", "-rf"]
    assert required_texts(r"(a|b)c?") == []
    assert required_texts(r"(?i)rm") == []
    assert unanchored("rm") and unanchored(r"rm\s+(x|y)")
    assert not unanchored("^rm") and not unanchored(r"(a|\bb)")
