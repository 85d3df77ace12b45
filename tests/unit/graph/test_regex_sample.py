"""Sample texts of patterns, with which lint shows that a rule can fire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.errors import PolicyError
from verdikt.graph.glob import match_glob
from verdikt.graph.re2_pattern import compile_pattern, has_match
from verdikt.graph.regex_sample import find_required_texts, is_unanchored, sample_glob, sample_pattern


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
def test_sample_pattern_finds_a_text_for_a_pattern_that_can_match(pattern: str) -> None:
    """re2 itself confirms the sample."""
    samples = list(sample_pattern(pattern))

    assert samples
    assert all(has_match(pattern, sample) for sample in samples)


@pytest.mark.parametrize("pattern", ["a^b", "$x", r"a\bb", r"[^\s\S]"])
def test_sample_pattern_finds_nothing_for_a_pattern_that_cannot_match(pattern: str) -> None:
    """Nothing precedes the beginning, nothing follows the end."""
    assert list(sample_pattern(pattern)) == []


@given(st.from_regex(r"[a-c?*+|().\[\]^$\\ds{},0-9-]{0,12}", fullmatch=True))
def test_sample_pattern_any_pattern_gives_matching_samples_or_none(pattern: str) -> None:
    """No pattern makes it raise."""
    try:
        compile_pattern(pattern)
    except PolicyError:
        return
    assert all(has_match(pattern, sample) for sample in sample_pattern(pattern))
    is_unanchored(pattern)
    find_required_texts(pattern)


@given(st.from_regex(r"[ab*?/\\]{0,12}", fullmatch=True))
def test_sample_glob_fits_its_glob(glob: str) -> None:
    """Stars, question marks and escapes."""
    assert match_glob(glob, sample_glob(glob))


def test_find_required_texts_lists_parts_of_every_match() -> None:
    """A text that some match lacks is not listed."""
    assert find_required_texts(r"rm\s+-rf") == ["rm", "-rf"]
    assert find_required_texts(r"(a|b)c?") == []
    assert find_required_texts(r"(?i)rm") == []
    assert is_unanchored("rm") and is_unanchored(r"rm\s+(x|y)")
    assert not is_unanchored("^rm") and not is_unanchored(r"(a|\bb)")
