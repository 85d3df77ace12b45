"""The search box: `verdict:block guard:git_* session:1f0c since:7d "push --force"`. What the box shows is the URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from verdikt.errors import WireError
from verdikt.team.index_row import CLASS_CODES, KIND_CODES, VERDICT_CODES

MAX_QUERY_CHARS = 1000

# A word, a `key:value`, or text in quotes; in a quoted text only quotes and backslashes are escaped.
_TOKEN = re.compile(r'\s*(?:([a-z]+):)?(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_DURATION = re.compile(r"([0-9]{1,6})([smhdw])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ENTRY = re.compile(r"([0-9]{1,18})/([0-9]{1,18})")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

TEXT_KEYS = ("guard", "tool", "effect", "host", "session", "machine", "team", "project")
"""Keys whose value is a text, in which `*` stands for anything."""

ENTRY_KEY = "entry"
"""Key whose value names single entries: `entry:3/18,3/21` is two of the session with the number 3."""

STATE_KEY = "is"
"""Key whose value is a state of the session: `is:rewritten` is one of which there is another history."""

REWRITTEN = "rewritten"

CODE_KEYS: dict[str, dict[str, int]] = {"verdict": VERDICT_CODES, "kind": KIND_CODES, "class": CLASS_CODES}
"""Keys whose value is one of a few words → the numbers that stores have for them."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query: all conditions must hold, of several values of one key any. Times are microseconds."""

    codes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    entries: tuple[tuple[int, int], ...] = ()
    """Chain and sequence number of each."""
    since: int | None = None
    until: int | None = None
    is_rewritten: bool = False


def parse_query(text: str, now_seconds: float) -> SearchQuery:
    """Return the query of a text; raise `WireError` that names the word which is not understood."""
    if len(text) > MAX_QUERY_CHARS:
        raise WireError(f"expected at most {MAX_QUERY_CHARS} characters, found {len(text)}")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise WireError("expected text that a database can hold, found NUL or half a surrogate pair")
    codes: dict[str, tuple[int, ...]] = {}
    patterns: dict[str, tuple[str, ...]] = {}
    words: list[str] = []
    entries: list[tuple[int, int]] = []
    times: dict[str, int] = {}
    is_rewritten = False
    for key, value in _split_tokens(text):
        if not key:
            words.append(value)
        elif key in CODE_KEYS:
            codes[key] = (*codes.get(key, ()), *_parse_codes(key, value))
        elif key in TEXT_KEYS:
            patterns[key] = (*patterns.get(key, ()), value)
        elif key == ENTRY_KEY:
            entries += map(_parse_entry, value.split(","))
        elif key == STATE_KEY:
            if value != REWRITTEN:
                raise WireError(f"expected `{REWRITTEN}` after `{STATE_KEY}:`, found `{value}`")
            is_rewritten = True
        else:
            times[key] = _parse_time(key, value, now_seconds)
    since, until = times.get("since"), times.get("until")
    return SearchQuery(codes, patterns, tuple(words), tuple(entries), since, until, is_rewritten)


def _split_tokens(text: str) -> list[tuple[str, str]]:
    """Return key and value of each word; the key is empty for plain words and for what only looks like a key."""
    tokens, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise WireError(f"expected a closing quote, found `{text[position:].strip()[:40]}`")
        key, quoted, plain = match.groups()
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain
        if key and key not in {*CODE_KEYS, *TEXT_KEYS, ENTRY_KEY, STATE_KEY, "since", "until"}:
            # `http://…` is a word, not an unknown key; a misspelt key finds nothing, as any other misspelling does.
            key, value = "", f"{key}:{value}"
        tokens.append((key or "", value))
        position = match.end()
    return tokens


def _parse_codes(key: str, value: str) -> list[int]:
    table = CODE_KEYS[key]
    if unknown := [word for word in value.split(",") if word not in table]:
        raise WireError(f"expected one of {', '.join(table)} after `{key}:`, found `{unknown[0]}`")
    return [table[word] for word in value.split(",")]


def _parse_entry(value: str) -> tuple[int, int]:
    if match := _ENTRY.fullmatch(value):
        return int(match[1]), int(match[2])
    raise WireError(f"expected the number of a session and of an entry such as `3/18` after `entry:`, found `{value}`")


def _parse_time(key: str, value: str, now_seconds: float) -> int:
    """Return the microseconds of `7d` (that long ago), a date, or a number of microseconds."""
    if match := _DURATION.fullmatch(value):
        return int((now_seconds - int(match[1]) * _UNIT_SECONDS[match[2]]) * 1_000_000)
    if _DATE.fullmatch(value):
        days = _count_days(*map(int, value.split("-")))
        return days * 86_400_000_000
    if value.isascii() and value.isdigit() and len(value) <= 16:
        return int(value)
    raise WireError(f"expected a duration such as `7d`, a date or microseconds after `{key}:`, found `{value}`")


def _count_days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar."""
    # Howard Hinnant's algorithm: this package reads no clock, and so does not import datetime.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def to_like_pattern(pattern: str) -> str:
    """Return a pattern with `*` as one of SQL's LIKE, with a backslash as its escape character."""
    return escape_like(pattern).replace("*", "%")


def escape_like(text: str) -> str:
    """Return a text that stands for itself in a pattern of SQL's LIKE."""
    return re.sub(r"([\\%_])", r"\\\1", text)
