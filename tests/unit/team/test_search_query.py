"""The words of the search box."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.errors import WireError
from verdikt.team.search_query import SearchQuery, parse_query, to_like_pattern

NOW = 1_793_000_000.0


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", SearchQuery()),
        ("  ", SearchQuery()),
        ("verdict:block", SearchQuery(codes={"verdict": (3,)})),
        ("verdict:ask,block verdict:warn", SearchQuery(codes={"verdict": (2, 3, 1)})),
        ("kind:decision class:read", SearchQuery(codes={"kind": (2,), "class": (1,)})),
        ("guard:git_* session:1f", SearchQuery(patterns={"guard": ("git_*",), "session": ("1f",)})),
        ('"push --force" origin', SearchQuery(words=("push --force", "origin"))),
        (r'"a \"b\" \\"', SearchQuery(words=('a "b" \\',))),
        ('guard:"a b"', SearchQuery(patterns={"guard": ("a b",)})),
        ("http://x nope:y", SearchQuery(words=("http://x", "nope:y"))),
        ("entry:3/18,3/21 entry:4/1", SearchQuery(entries=((3, 18), (3, 21), (4, 1)))),
        ("since:7d", SearchQuery(since=int((NOW - 7 * 86_400) * 1e6))),
        ("until:5", SearchQuery(until=5)),
        ("is:rewritten", SearchQuery(is_rewritten=True)),
    ],
)
def test_parse_query_reads_each_word(text: str, query: SearchQuery) -> None:
    """Words are conditions; what is no key is text."""
    assert parse_query(text, NOW) == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("verdict:no", "expected one of pass, warn, ask, block after `verdict:`, found `no`"),
        ("since:yesterday", "expected a duration such as `7d`"),
        ("entry:3", "expected the number of a session and of an entry such as `3/18` after `entry:`, found `3`"),
        ("entry:3/-1", "expected the number of a session and of an entry"),
        ("is:red", "expected `rewritten` after `is:`, found `red`"),
        ('"open', "expected a closing quote"),
        ("x" * 1001, "expected at most 1000 characters"),
        ("a\0", "expected text that a database can hold"),
        ("\ud800", "expected text that a database can hold"),
    ],
)
def test_parse_query_names_what_it_does_not_understand(text: str, message: str) -> None:
    """The message says what was expected."""
    with pytest.raises(WireError, match=message):
        parse_query(text, NOW)


@given(st.dates(min_value=datetime(1970, 1, 1, tzinfo=UTC).date()))
def test_dates_are_those_of_the_calendar(date: datetime) -> None:
    """A date is its first microsecond in UTC."""
    expected = datetime(date.year, date.month, date.day, tzinfo=UTC).timestamp() * 1e6

    assert parse_query(f"since:{date.isoformat()}", NOW).since == int(expected)


@given(st.text(max_size=60))
def test_parse_query_of_any_text_answers_or_explains(text: str) -> None:
    """No text makes the parser fail in another way."""
    with suppress(WireError):
        parse_query(text, NOW)


def test_to_like_pattern_escapes_what_sql_would_expand() -> None:
    """Only `*` is a wildcard."""
    assert to_like_pattern(r"git_*%\x") == r"git\_%\%\\x"
