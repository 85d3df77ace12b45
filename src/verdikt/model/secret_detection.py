"""What in a text is a secret.

Two sorts are found: those whose issuers gave them a form of their own (`secret_format`), and those that stand where a secret
is assigned (`password=`, `"api_key":`, `--token`, `Authorization:`) and look like one. A long random string by itself is
neither: commit ids, checksums in lock files and images in base64 are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log2
from typing import Any

from verdikt.model.secret_formats import PATTERN_LOOKBACK, SECRET_FORMATS

_SEARCH_WINDOW = 4000
"""How far beyond its literal a pattern is tried, where it begins before it."""

_LONG_TEXT = 32_768
"""Characters from which on a text is searched for all literals at once."""

_LITERALS = tuple((literal, row) for row in SECRET_FORMATS for literal in row[1].split("|"))

_PREFILTER_LIMIT = 1024
"""Characters up to which it pays to see first which letters a text has."""

_TABLE_THRESHOLD = 64
"""Texts after which a process makes tables to look at them faster."""

_MAX_CACHED_CHARS = 128
"""Characters up to which a text in which there was nothing is remembered."""

_COMMON_LETTERS = "-/. etaoinsrlcdpumhgfbywvkxjqz"
"""Letters of ordinary commands, the commonest first; all others are rare."""


def _find_rarest_letter(word: str) -> str:
    """The letter without which the word is surely not in a text, chosen so that few texts have it."""
    return max(word, key=lambda letter: _COMMON_LETTERS.find(letter) % 100)


def _group_by_rarest_letter(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Words by their rarest letter."""
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault(_find_rarest_letter(word), []).append(word)
    return {letter: tuple(several) for letter, several in found.items()}


@dataclass(frozen=True, slots=True)
class Secret:
    """Where in a text a secret stands, and of which kind it is."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in order, none overlapping another."""
    if not may_hold_secret(text):
        return []
    found = [*_find_issued(text), *_find_assigned(text)]
    if len(found) < 2:
        return found
    found.sort(key=lambda secret: secret.start)  # stable: of two that begin together, an issuer's form names the kind
    apart: list[Secret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
        elif secret.end > apart[-1].end:
            apart[-1] = replace(apart[-1], end=secret.end)
    return apart


def may_hold_secret(text: str) -> bool:
    """Whether anything in a text could announce a secret, or be one; where it says no, there is none."""
    if len(text) > _MAX_CACHED_CHARS:
        return len(text) >= _PREFILTER_LIMIT or _needs_scan(text)
    try:
        return _check_and_cache(text)
    except _MaybeSecretError:
        return True


@lru_cache(maxsize=2048)
def _check_and_cache(text: str) -> bool:
    """False for a text that tells nothing, remembered: names of fields, tools and directories come again and again."""
    if _needs_scan(text):
        raise _MaybeSecretError  # so that nothing is remembered of what may be a secret
    return False


class _MaybeSecretError(Exception):
    """A text that must be looked at."""


class _Prefilter:
    """Sees which letters a text has. A process that looks at a few texts only is better off without the tables for it."""

    __slots__ = ("_call_count", "_hints", "_literals")

    def __init__(self) -> None:
        self._call_count = 0
        self._literals: dict[str, tuple[str, ...]] = {}
        self._hints: dict[str, tuple[str, ...]] = {}

    def needs_scan(self, text: str) -> bool:
        """Whether the text must be looked at more closely."""
        literals = self._literals
        if not literals:
            self._call_count += 1
            if self._call_count < _TABLE_THRESHOLD:
                return True
            # The literals last: whoever finds them finds the hints too, in whatever thread.
            self._hints = _group_by_rarest_letter(_HINTS)
            self._literals = literals = _group_by_rarest_letter(literal for literal, _ in _LITERALS)
        for letter in literals.keys() & text:
            for literal in literals[letter]:
                if literal in text:
                    return True
        lower = text.lower()
        for letter in self._hints.keys() & lower:
            for hint in self._hints[letter]:
                if hint in lower:
                    return True
        return len(lower) != len(text)  # letters that grow when they are made small are looked at more closely


_needs_scan = _Prefilter().needs_scan


# Secrets that have a form of their own


def _find_issued(text: str) -> Iterator[Secret]:
    for literal, (kind, _, source) in _find_formats(text):
        pattern, reach = _compile_pattern(source), PATTERN_LOOKBACK.get(literal, 0)
        at = text.find(literal)
        while at >= 0:
            match = pattern.search(text, max(0, at - reach), at + _SEARCH_WINDOW) if reach else pattern.match(text, at)
            if match is None:
                at = text.find(literal, at + len(literal))
                continue
            group = 1 if pattern.groups else 0
            if _is_real_value(match[group]) and match[group].lower() not in _NON_SECRET_WORDS:
                yield Secret(match.start(group), match.end(group), kind)
            at = text.find(literal, max(match.end(), at + len(literal)))


def _find_formats(text: str) -> list[tuple[str, tuple[str, str, str]]]:
    """The forms of which a literal stands in the text."""
    if len(text) < _LONG_TEXT:
        return [pair for pair in _LITERALS if pair[0] in text]
    found = _build_literal_set().Match(text.encode("utf-8", "surrogatepass"))
    return [_LITERALS[at] for at in sorted(found or ())]


@cache
def _build_literal_set() -> Any:
    """All literals as one automaton: in a long text much faster than one after the other, in a short one not worth its import."""
    import re2

    found = re2.Set.SearchSet()
    for literal, _ in _LITERALS:
        found.Add(re2.escape(literal))
    found.Compile()
    return found


@cache
def _compile_pattern(source: str) -> re.Pattern[str]:
    if source.startswith("(?<!["):
        # In JSON inside a text, what stands before may be the letter of an escape.
        edge = source[: source.index("])") + 2]
        source = rf"(?:{edge}|(?<=\\[nrt])){source.removeprefix(edge)}"

    return re.compile(source)


def _is_real_value(text: str) -> bool:
    """Whether it can be more than a placeholder of crosses and dots, or the name of a variable."""
    return (
        (len(set(text)) > 4 or len(text) < 12)
        and not _compile_pattern(_PLACEHOLDER).search(text)
        and not _compile_pattern(_REFERENCE).match(text)
    )


# Secrets that stand where one is assigned

_HINTS: dict[str, tuple[str, tuple[str, ...]]] = {
    # Hint → the kind of secret that it announces, and how the word may go on.
    "pass": ("password", ("word", "wd", "phrase", "wort", "code")),
    "pwd": ("password", ()),
    "contrase": ("password", ("ña", "na")),
    "secret": ("secret", ("s",)),
    "token": ("token", ()),
    "credential": ("secret", ("s",)),
    "authorization": ("authorization", ()),
    "bearer": ("bearer", ()),
    "cookie": ("cookie", ()),
    "key": ("key", ()),
}
_KEY_OWNERS = tuple(
    "api access secret private priv auth account encryption encrypt signing sign master service client db database shared"
    " session license licence deploy storage subscription function admin webhook hmac aes jwt".split()
)
"""Whose key is a secret; a key of a map or a table is none."""

_METADATA_SUFFIX = (
    r"(?i)[_.\-]?(?:id|ids|name|names|path|file|dir|url|uri|type|length|len|count|size|policy|field|label|ttl|expiry|expires\w*"
    r"|hint|env|var|ref|arn|prefix|suffix|provider|manager|store|param|header|version|limit|usage|used|budget|index|input"
    r"|reset|change|changed|required|enabled|valid|missing|error|rotation|class|scope|scopes|endpoint|encoding|hash)$"
)
"""What a name ends in that speaks about a secret and does not hold one."""

_ASSIGNMENT = (
    r"(?P<tail>[\w.\-]{0,40})(?:\\{0,3}[\"'`\])]){0,2}"
    r"(?P<sep>[ \t]{0,8}(?:=>|:=|:[ \t]{0,4}[A-Za-z_][\w.\[\]|?]{0,30}[ \t]{0,4}=(?!=)|[!=:]{1,3})[ \t]{0,8}|>|[ \t]{1,4})"
    r"(?:(?P<scheme>(?i:bearer|basic|token|digest|apikey|bot))[ \t]+)?"
    r"(?:[rbfuLR@]{0,2}(?P<quote>\\{0,3}[\"'`]))?"
)
_QUOTED_VALUE = r"[^\n\"'`\\]{1,500}"
_BARE_VALUE = r"[^\s\"'`,;&|<>(){}\[\]\\]{1,500}"
_SHELL_SAFE_RUN = r"[^\s;&|<>(){}$`\\]+"
"""Runs without anything that a shell acts on: only they are replaced, so no command can hide in a secret."""

_REFERENCE = (
    r"(?i)(?:\$\{?\w+(?::[-=?+][^}]*)?\}?$|\$[({]|\{\{|\$\{\{|<|%\w+%$|%[sdr(]|@[\w./~-]+$|~?/|\.{1,2}/|[a-z]+://|arn:|op://|vault:|sm://"
    r"|env[.:(\[]|process\.env|os\.environ|os\.getenv|getenv|import\.meta|secrets\.|vars\.|var\.|self\.|this\.|config\.|settings\."
    r"|[A-Za-z_][\w.]*[(\[])"
)
_PLACEHOLDER = r"(?i)x{4}|\*{3}|\.{3}|…|•|#{4}|_{4}|-{4}|changeme|change[_-]me|example|placeholder|your[_-]|redacted|dummy|replace[_-]?me|insert[_-]|<[a-z]"
_NON_SECRET_WORDS = frozenset(
    "password passwd pass passphrase secret token key apikey api_key none null nil true false undefined string str text int"
    " number bool boolean bytes any object required optional yes no default empty env prompt ask type value change varchar"
    " char hidden show hide label input field test file stdin auto basic bearer digest include omit same-origin".split()
)
"""Words that stand in a secret's place and are none."""

_SEPARATOR = r"[-_./: ]"
_PLAIN_WORD = r"(?:[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|v)?\d{0,4}"
_NUMBER_OR_NAME = r"(?:-?[\d._]+|[A-Za-z_][A-Za-z_.]*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$"


def _find_assigned(text: str) -> Iterator[Secret]:
    for start, end, kind in _find_hint_words(text):
        yield from _find_value_after(text, start, end, kind)


def _find_hint_words(text: str) -> Iterator[tuple[int, int, str]]:
    """The words that announce a secret, and its kind; not those inside others (`tokenizer`, `compass`, `keyboard`)."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a longer lower case, and places must stay what they are
        lower = text.translate(_ASCII_LOWER)
    for hint, (kind, endings) in _HINTS.items():
        at = lower.find(hint)
        while at >= 0:
            end = at + len(hint)
            longer = next((ending for ending in endings if lower.startswith(ending, end)), "")
            whole = longer or hint != "pass" or not _continues_word(text, at)
            owned = hint != "key" or lower[max(0, at - 13) : at].rstrip("_- ").endswith(_KEY_OWNERS)
            end += len(longer)
            if whole and owned and not text[end : end + 1].islower():
                yield at, end, kind
            at = lower.find(hint, end)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _continues_word(text: str, at: int) -> bool:
    """Whether what begins here only continues a word, as `pass` does in `compass` but not in `dbPass`."""
    before, here = text[at - 1 : at], text[at]
    return before.isalpha() and not (before.islower() and here.isupper())


def _find_value_after(text: str, at: int, end: int, kind: str) -> Iterator[Secret]:
    """The secret that is assigned to a name with this word in it, if it is one."""
    match = _compile_pattern(_ASSIGNMENT).match(text, end)
    if match is None or _compile_pattern(_METADATA_SUFFIX).search(match["tail"]):
        return
    start = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "_-.") and at - start < 60:
        start -= 1
    start += text[start - 1 : start] == "\\"  # the letter of an escape, in JSON inside a text
    name, sep, before = text[start : match.end("tail")], match["sep"], text[start - 1 : start]
    flag, element = name.startswith("-"), before == "<" and kind != "cookie"
    if (
        (sep.isspace() and not flag and kind != "bearer")
        or (sep == ">" and not element)
        or before == ":"
        or _is_page_token(name)
    ):
        return
    if element and name == "secret" and sep == ":":  # one of our own tokens
        return
    quoted = bool(match["quote"])
    value = _compile_pattern(_QUOTED_VALUE if quoted else _BARE_VALUE).match(text, match.end())
    if value is None or (not quoted and text[value.end() : value.end() + 1] in ("(", "[")):
        return
    shouted = sep == "=" and name.strip("-").isupper()
    literal = match["quote"][-1] != "`" if quoted else flag or element or shouted
    if is_plausible_secret(value[0], kind, literal=literal):
        for run in _compile_pattern(_SHELL_SAFE_RUN).finditer(value[0]):
            if len(run[0]) > 2:
                yield Secret(value.start() + run.start(), value.start() + run.end(), kind)


def classify_field_name(name: str) -> str:
    """The kind of secret that the name of a field announces, or an empty string."""
    return _classify_short_name(name) if len(name) <= 100 else ""


@lru_cache(maxsize=1024)
def _classify_short_name(name: str) -> str:
    """The same for names of ordinary length, which come again and again."""
    last = max(_find_hint_words(name), default=(0, 0, ""), key=lambda word: word[1])
    if not last[2]:
        return ""
    return "" if _compile_pattern(_METADATA_SUFFIX).search(name[last[1] :]) or _is_page_token(name) else last[2]


def _is_page_token(name: str) -> bool:
    """Whether it names a place in a list rather than a secret."""
    return name.lower().replace("_", "").replace("-", "").endswith(_PAGE_TOKEN_NAMES)


_PAGE_TOKEN_NAMES = (
    "nexttoken",
    "pagetoken",
    "continuationtoken",
    "locktoken",
    "changetoken",
    "synctoken",
    "cursortoken",
)


def is_plausible_secret(value: str, kind: str, *, literal: bool) -> bool:
    """Whether a value in a secret's place is one. `literal` says that it cannot be a variable or an expression."""
    if (
        _compile_pattern(_REFERENCE).match(value)
        or _compile_pattern(_PLACEHOLDER).search(value)
        or value.lower() in _NON_SECRET_WORDS
        or "$(" in value
        or "`" in value
    ):
        return False
    if kind == "cookie":
        return _is_random(value)
    if " " in value or len(set(value)) < 3:
        return False
    if kind == "password":
        return len(value) >= (4 if literal else 6) and (literal or not _is_name_or_number(value))
    if literal and kind not in ("authorization", "bearer"):
        return len(value) >= 8 and any(map(str.isdigit, value)) and not _is_made_of_words(value)
    return _is_random(value) and (literal or not _is_name_or_number(value))


def _is_made_of_words(value: str) -> bool:
    """Whether it is made of words and short numbers, as names of things are."""
    word = _compile_pattern(_PLAIN_WORD)
    return all(map(word.fullmatch, _compile_pattern(_SEPARATOR).split(value)))


def _is_name_or_number(value: str) -> bool:
    return _compile_pattern(_NUMBER_OR_NAME).match(value) is not None


def _is_random(value: str) -> bool:
    """Whether a text is long and mixed enough to have been drawn rather than written."""
    if len(value) < 12 or value.isdigit() or _is_made_of_words(value):
        return False

    counts = [value.count(char) for char in set(value)]
    entropy = -sum(n / len(value) * log2(n / len(value)) for n in counts)
    return entropy >= 3.0 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
