"""What a person named in their own words."""

from typing import Any

import pytest

from verdikt.model.action import UNKNOWN
from verdikt.model.named_words import MAX_NAMED_WORDS, find_unnamed_value, fold_named_words

PROMPT = "Mail the report to Ann <ann@example.org> and put 250 on https://shop.example/cart, invoice 4711042."


@pytest.mark.parametrize(
    ("payload", "unnamed"),
    [
        ({"to": "ann@example.org"}, ""),
        ({"to": ["Ann", "ann@example.org"]}, ""),
        ({"to": "ANN@EXAMPLE.ORG"}, ""),
        ({"to": "eve@example.org"}, "eve@example.org"),
        ({"url": "http://shop.example/cart/"}, ""),
        ({"url": "https://shop.example/other"}, "https://shop.example/other"),
        ({"name": "eve"}, "eve"),
        ({"name": "it"}, ""),
        ({"body": "Dear Eve, as you asked"}, ""),
        ({"body": "write to eve@example.org"}, "write to eve@example.org"),
        ({"note": "a\nletter", "to": "eve"}, "eve"),
        ({"amount": 9000}, ""),
        ({"draft": True}, ""),
        ({"password": UNKNOWN}, UNKNOWN),
        ({"body": f"the key is {UNKNOWN}"}, f"the key is {UNKNOWN}"),
    ],
)
def test_value_that_the_person_did_not_name_is_found(payload: dict[str, Any], unnamed: str) -> None:
    """Addresses count as a whole, words one by one; text for people by its addresses; a secret is never named."""
    named = fold_named_words("", PROMPT)

    assert find_unnamed_value(payload, named, with_numbers=False) == unnamed


@pytest.mark.parametrize(("number", "unnamed"), [("4711042", ""), ("4711043", "4711043"), ("250", "250")])
def test_number_counts_where_it_names_what_is_deleted(number: str, unnamed: str) -> None:
    """A short one may be any amount or date, so it names nothing."""
    named = fold_named_words("", PROMPT)

    assert find_unnamed_value({"id": number}, named, with_numbers=True) == unnamed
    assert find_unnamed_value({"id": number}, named, with_numbers=False) == ""


def test_newest_words_are_kept() -> None:
    """A word that is said again is new; what was said long ago is forgotten, and no word is kept in plain text."""
    named = fold_named_words("", "alpha beta")
    named = fold_named_words(named, " ".join(f"word{number}" for number in range(MAX_NAMED_WORDS - 2)) + " alpha")
    named = fold_named_words(named, "gamma delta")

    assert len(named.split()) == MAX_NAMED_WORDS
    assert find_unnamed_value({"name": "alpha gamma"}, named, with_numbers=False) == ""
    assert find_unnamed_value({"name": "beta"}, named, with_numbers=False) == "beta"
    assert "alpha" not in named
