"""How the source reads: the bars for names, comments, imports and words, measured on the whole tree."""

import re
from pathlib import Path

import pytest
from tools.readability import BANNED_WORDS, Measurement, measure_source, measure_tree, starts_with_participle

ROOT = Path(__file__).parent.parent

PROSE = [
    *ROOT.glob("src/verdikt/**/*.py"),
    *ROOT.glob("src/verdikt/**/*.c"),
    *ROOT.glob("src/verdikt/**/*.sh"),
    *ROOT.glob("src/verdikt/**/*.js"),
    *ROOT.glob("tests/**/*.py"),
    *ROOT.glob("benchmarks/*.py"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("*.md"),
]
"""The files that people read; the cases hold the words of others."""

NAMES_THEM = {"tests/test_readability.py"}
"""Files that must spell the banned words: to check for them, or as words of a language."""


@pytest.fixture(scope="module")
def total() -> Measurement:
    """Return the measurement of the whole source."""
    return measure_tree(ROOT / "src" / "verdikt")["total"]


def test_at_most_two_in_five_function_names_are_one_word(total: Measurement) -> None:
    """A name says what is done, and to what."""
    assert total.one_word / total.functions <= 0.40


def test_hardly_a_function_name_begins_with_a_participle(total: Measurement) -> None:
    """Functions are verbs: `build_receipt`, not `made`."""
    assert total.participles / total.functions <= 0.03


def test_at_least_two_lines_in_a_hundred_are_comments(total: Measurement) -> None:
    """The reasons that the code cannot tell are written down."""
    assert total.comment_lines / total.lines >= 0.02


def test_few_imports_stand_inside_functions(total: Measurement) -> None:
    """An import waits only where it is heavy and rarely needed."""
    assert total.function_imports <= 100


def test_no_text_uses_a_banned_word() -> None:
    """The words that make a sentence need a second reading are in no file that people read."""
    places = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in PROSE
        if str(path.relative_to(ROOT)) not in NAMES_THEM | {"tools/readability.py"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BANNED_WORDS.search(line)
    ]

    assert places == []


def test_no_function_is_named_by_a_participle_alone() -> None:
    """`told` and `made` do not say what they do; `passed` and its like are properties that users were promised."""
    pattern = re.compile(r"def _*([a-z]+)\(")
    promised = {"passed", "named", "exhausted", "done", "governed"}
    names = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in ROOT.glob("src/verdikt/**/*.py")
        for name in pattern.findall(path.read_text(encoding="utf-8"))
        if starts_with_participle(name) and name not in promised
    }

    assert names == set()


SEEDED = """
def told(x):
    import json
    return json  # nobody

def build_receipt():
    # Why.
    return "%s"
""" % ("x" * 121)


def test_the_measurement_counts_what_it_says() -> None:
    """Each count is shown on a file that has one of it."""
    measurement = measure_source(SEEDED)

    assert (measurement.functions, measurement.one_word, measurement.participles) == (2, 1, 1)
    assert (measurement.banned_words, measurement.comment_lines) == (1, 1)
    assert (measurement.function_imports, measurement.long_lines) == (1, 1)
