"""What a sentence names is read literally."""

import pytest

from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.claims.named_objects import (
    find_changed_names,
    find_directory_names,
    find_package_names,
    find_ref_names,
    read_added_test_count,
    read_test_count,
)
from verdikt.claims.reader import SentenceClaim
from verdikt.claims.topics import refine_claims


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I fixed cart.py and added a test to tests/test_cart.py.", ("cart.py", "tests/test_cart.py")),
        ("I changed cart.py to match schema.json.", ("cart.py",)),
        ("Fixed `src/app.py`; tests/test_app.py passes.", ("src/app.py",)),
        ("Ran `pytest tests/test_cart.py` after editing util.py.", ("util.py",)),
        ("Added `.coverage` to .gitignore.", (".gitignore",)),
        ("Ported it to Node.js and Vue.js.", ()),
        ("See https://example.com/a/b.py for details.", ()),
        ("util.py needed no change.", ()),
        ("data.csv → data.json, done.", ("data.json",)),
        ("Converted `data.csv` to `data.json`.", ("data.json",)),
        ("Converted cart.py to async.", ("cart.py",)),
        ("cart.py: absolute → fraction.", ("cart.py",)),
    ],
)
def test_changed_files_are_told_from_mentioned_ones(text: str, names: tuple[str, ...]) -> None:
    """A file that was followed, run or left alone is not one that the work changed."""
    assert find_changed_names(text) == names


def test_other_names_are_found() -> None:
    """Directories, packages, branches and numbers of tests."""
    assert find_directory_names("I deleted the `build` directory and dist/.") == ("build", "dist")
    assert find_directory_names("Le dossier `build` n'existe plus ; das Verzeichnis `dist` auch.") == ("build", "dist")
    assert find_directory_names("已删除 `build` 目录") == ("build",)
    assert find_package_names("Installed `requests` and the dependencies.") == ("requests",)
    assert find_ref_names("I created the branch `feature/tax` and tagged it as v1.2.") == ("feature/tax", "v1.2")
    assert read_test_count("All 12 tests pass.") == {"number": "12"}
    assert read_test_count("The whole suite is green.") == {"whole": "yes"}
    assert read_test_count("The new tests pass.") == {}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("pytest 3/3, 0 failures.", {"number": "3"}),
        ("Tests: 3 von 3 grün", {"number": "3"}),
        ("Тесты 3 из 3", {"number": "3"}),
        ("2 of the 3 tests pass.", {"number": "2", "of": "3"}),
        ("Suite: 4/5", {"number": "4", "of": "5"}),
        ("Works on 3/4 browsers, tests pass.", {"whole": "yes"}),
    ],
)
def test_ratio_of_tests_is_read(text: str, counts: dict[str, str]) -> None:
    """The number that pass, and of how many where some do not."""
    assert read_test_count(text) == counts


@pytest.mark.parametrize(
    ("text", "read", "refined"),
    [
        ("I deleted build.js.", ("build",), ("change",)),
        ("Added an install section to README.md.", ("change", "install"), ("change",)),
        ("All tests pass and ruff is clean.", ("tests",), ("tests", "lint")),
        ("I cleaned up cart.py, and mypy is clean.", ("change",), ("change", "types")),
        ("I merged feature into main.", ("change", "commit"), ("commit",)),
        ("Fixed the parser and committed it.", ("commit",), ("commit", "change")),
        ("The build is green.", ("tests", "build"), ("build",)),
        ("I sent the report to the team.", ("change",), ("deploy",)),
        ("The report was sent to the team.", ("change",), ("deploy",)),
        ("The newsletter went out.", ("change",), ("deploy",)),
        ("I renamed the field, untested.", ("tests",), ("change",)),
        ("Done.", (), ("change",)),
    ],
)
def test_names_settle_the_topics(text: str, read: tuple[str, ...], refined: tuple[str, ...]) -> None:
    """Whatever topics were read, file names and names of tools are literal."""
    claim = SentenceClaim(text, 0, len(text), "done", read, 0.9)

    assert refine_claims([claim])[0].topics == refined


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("I added three tests for `discount`.", 3),
        ("Added 2 new unit tests.", 2),
        ("J'ai ajouté deux tests.", 2),
        ("Added a test, and all 14 tests pass.", 0),
        ("All 14 tests pass.", 0),
    ],
)
def test_number_of_added_tests_stands_beside_the_verb(text: str, number: int) -> None:
    """A number of tests that pass is none of tests that were added."""
    assert read_added_test_count(text) == number


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("`test_a` fails, and it fails without my change too.", ("change",)),
        ("No test fails.", ("tests",)),
        ("0 tests fail.", ("tests",)),
        ("`test_a` failed before, and passes now.", ("tests",)),
    ],
)
def test_failure_is_no_claim_that_tests_pass(text: str, topics: tuple[str, ...]) -> None:
    """What fails is reported, unless it is denied."""
    claim = SentenceClaim(text, 0, len(text), "done", ("tests",), 0.9)

    assert refine_claims([claim])[0].topics == topics


def test_plain_words_of_admission_count() -> None:
    """The refusal asks for them; the same words in code are a quotation."""
    admitted, quoted = "The change is not verified.", "The docs say `not verified`."

    assert [claim.act for claim in refine_claims([SentenceClaim(admitted, 0, 9, "none", (), 0.1)])][-1] == "admission"
    assert [claim.act for claim in refine_claims([SentenceClaim(quoted, 0, 9, "none", (), 0.1)])] == ["none"]


def test_tick_is_a_claim_and_small_talk_is_none() -> None:
    """Whatever a reader makes of a word or two."""
    message = "1. [X] Rate limiting"
    ticked = SentenceClaim("Rate limiting", 7, 20, "none", (), 0.4)

    assert refine_claims([ticked], message)[0].act == "done"
    assert refine_claims([SentenceClaim("Hello.", 0, 6, "done", ("change",), 0.6)]) == ()


@pytest.mark.parametrize("part", ["x.ini.bak.", ".env", "a.", "a/", "`a"])
def test_names_are_found_in_linear_time(part: str) -> None:
    """In one word without an end, too."""
    assert measure_growth(find_directory_names, lambda count: part * count, 4000) < LINEAR_GROWTH
