"""Detection of secrets in texts.

Two sorts are found: secrets in the published format of an issuer (`secret_formats`), and values that are assigned to
a name which announces a secret (`password=`, `"api_key":`, `--token`, `Authorization:`) and look like one. A long
random string by itself is neither: commit ids, checksums in lock files and images in base64 are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from math import log2
from typing import Any, NamedTuple

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.secret_formats import FORMATS_BY_LITERAL, LATE_LITERALS

_JUDGED_LENGTH = 64
"""Characters of an assigned value that are judged: a text of nothing but `token=` has a value at every sixth one."""

_LONG_TEXT = 32_768
"""Length from which a text is searched for all literals at once."""


class Secret(NamedTuple):
    """The position of a secret in a text, and its kind."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in order, none overlapping another."""
    words = _find_words(text)
    secrets = [*_find_issued(text, words), *_find_assigned(text, words)]
    if len(secrets) < 2:
        return secrets
    # The sort is stable: of two that begin together, the issuer's format gives the kind.
    secrets.sort(key=lambda secret: secret.start)
    merged: list[Secret] = []
    for secret in secrets:
        if not merged or secret.start >= merged[-1].end:
            merged.append(secret)
        elif secret.end > merged[-1].end:
            merged[-1] = merged[-1]._replace(end=secret.end)
    return merged


# Secrets in the format of an issuer


def _find_issued(text: str, words: frozenset[str] | None) -> Iterator[Secret]:
    for literal, (kind, _, source) in FORMATS_BY_LITERAL:
        if literal not in (text if words is None else words):
            continue
        pattern = _compile_format(source)
        group = 1 if pattern.groups else 0
        for match in _iter_matches(pattern, literal, text):
            if _is_real_value(match[group]) and match[group].lower() not in _NON_SECRET_WORDS:
                yield Secret(match.start(group), match.end(group), kind)


def _iter_matches(pattern: re.Pattern[str], literal: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a format: where its literal is, or anywhere for a format that begins before its literal."""
    if literal in LATE_LITERALS:
        # One pass over the text. A search around each literal would look at the same characters again and again.
        yield from pattern.finditer(text)
        return
    start = text.find(literal)
    while start >= 0:
        match = pattern.match(text, start)
        if match is not None:
            yield match
        start = text.find(literal, max(match.end() if match else 0, start + len(literal)))


def _find_words(text: str) -> frozenset[str] | None:
    """Return which literals and hint words may occur in a long text, in one pass over it; None for a short text."""
    if len(text) < _LONG_TEXT:
        return None
    words, word_set = _build_word_set()
    return frozenset(words[number] for number in word_set.Match(text.encode("utf-8", "surrogatepass")) or ())


@cache
def _build_word_set() -> tuple[tuple[str, ...], Any]:
    """Return all words and one automaton of them, which searches a long text much faster than one after the other."""
    import re2  # a native library of several milliseconds; only long texts need it

    literals = tuple(literal for literal, _ in FORMATS_BY_LITERAL)
    word_set = re2.Set.SearchSet()
    for literal in literals:
        word_set.Add(re2.escape(literal))
    for hint in HINT_WORDS:
        # Folds more letters than `str.lower` does, never fewer, so that no hint word is left out.
        word_set.Add(f"(?i){re2.escape(hint)}")
    word_set.Compile()
    return (*literals, *HINT_WORDS), word_set


@cache
def _compile_format(source: str) -> re.Pattern[str]:
    if source.startswith("(?<!["):
        # In JSON within a text, the character before the secret may be the letter of an escape: `\\nghp_…`.
        edge = source[: source.index("])") + 2]
        source = rf"(?:{edge}|(?<=\\[nrt])){source.removeprefix(edge)}"
    return re.compile(source)


def _is_real_value(text: str) -> bool:
    """Return whether the text is neither a placeholder such as `xxxx` nor the name of a variable."""
    return (len(set(text)) > 4 or len(text) < 12) and not _PLACEHOLDER.search(text) and not _REFERENCE.match(text)


# Values assigned to a name that announces a secret

HINT_WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    # Hint → the kind of secret that it announces, and the endings that the word may have.
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
    "api access secret private priv auth account encryption encrypt signing sign master service client db database"
    " shared session license licence deploy storage subscription function admin webhook hmac aes jwt".split()
)
"""Words before `key` that make it a secret; the key of a map or a table is none."""

_METADATA_SUFFIX = compile_lazily(
    r"(?i)[_.\-]?(?:id|ids|name|names|path|file|dir|url|uri|type|length|len|count|size|policy|field|label|ttl|expiry"
    r"|expires\w*|hint|env|var|ref|arn|prefix|suffix|provider|manager|store|param|header|version|limit|usage|used"
    r"|budget|index|input|reset|change|changed|required|enabled|valid|missing|error|rotation|class|scope|scopes"
    r"|endpoint|encoding|hash)$"
)
"""Ending of a name that describes a secret and does not hold one, as in `token_count`."""

_ASSIGNMENT = compile_lazily(
    r"(?P<tail>[\w.\-]{0,40})(?:\\{0,3}[\"'`\])]){0,2}"
    r"(?P<sep>[ \t]{0,8}(?:=>|:=|:[ \t]{0,4}[A-Za-z_][\w.\[\]|?]{0,30}[ \t]{0,4}=(?!=)|[!=:]{1,3})[ \t]{0,8}"
    r"|>|[ \t]{1,4})"
    r"(?:(?P<scheme>(?i:bearer|basic|token|digest|apikey|bot))[ \t]+)?"
    r"(?:[rbfuLR@]{0,2}(?P<quote>\\{0,3}[\"'`]))?"
)
_QUOTED_VALUE = compile_lazily(r"[^\n\"'`\\]{1,500}")
_BARE_VALUE = compile_lazily(r"[^\s\"'`,;&|<>(){}\[\]\\]{1,500}")

# Only runs without a character that a shell acts on are replaced, so that no command can hide in a secret.
_SHELL_SAFE_RUN = compile_lazily(r"[^\s;&|<>(){}$`\\]+")

_REFERENCE = compile_lazily(
    r"(?i)(?:\$\{?\w+(?::[-=?+][^}]*)?\}?$|\$[({]|\{\{|\$\{\{|<|%\w+%$|%[sdr(]|@[\w./~-]+$|~?/|\.{1,2}/|[a-z]+://"
    r"|arn:|op://|vault:|sm://|env[.:(\[]|process\.env|os\.environ|os\.getenv|getenv|import\.meta"
    r"|secrets\.|vars\.|var\.|self\.|this\.|config\.|settings\.|[A-Za-z_][\w.]*[(\[])"
)
"""A value that refers to a secret kept elsewhere: a variable, a file, an address, a call."""

_PLACEHOLDER = compile_lazily(
    r"(?i)x{4}|\*{3}|\.{3}|…|•|#{4}|_{4}|-{4}|changeme|change[_-]me|example|placeholder|your[_-]|redacted|dummy"
    r"|replace[_-]?me|insert[_-]|<[a-z]"
)
_NON_SECRET_WORDS = frozenset(
    "password passwd pass passphrase secret token key apikey api_key none null nil true false undefined string str"
    " text int number bool boolean bytes any object required optional yes no default empty env prompt ask type value"
    " change varchar char hidden show hide label input field test file stdin auto basic bearer digest include omit"
    " same-origin".split()
)
"""Words that are written in place of a secret."""

_SEPARATOR = compile_lazily(r"[-_./: ]")
_PLAIN_WORD = compile_lazily(r"(?:[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|v)?\d{0,4}")
_NUMBER_OR_NAME = compile_lazily(r"(?:-?[\d._]+|[A-Za-z_][A-Za-z_.]*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$")


def _find_assigned(text: str, words: frozenset[str] | None) -> Iterator[Secret]:
    covered: dict[str, int] = {}
    for start, end, kind in _find_hint_words(text, words):
        for secret in _find_value_after(text, start, end, kind, covered.get(kind, 0)):
            covered[kind] = secret.end
            yield secret


def _find_hint_words(text: str, words: frozenset[str] | None = None) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each hint word, except within other words (`tokenizer`, `compass`, `keyboard`)."""
    hints = [hint for hint in HINT_WORDS if words is None or hint in words]
    if not hints:
        return
    lower = text.lower()
    if len(lower) != len(text):
        # A few letters have a longer lower case, which would shift all positions after them.
        lower = text.translate(_ASCII_LOWER)
    for hint in hints:
        kind, endings = HINT_WORDS[hint]
        start = lower.find(hint)
        while start >= 0:
            end = start + len(hint)
            ending = next((ending for ending in endings if lower.startswith(ending, end)), "")
            is_word = ending or hint != "pass" or not _continues_word(text, start)
            is_secret_key = hint != "key" or lower[max(0, start - 13) : start].rstrip("_- ").endswith(_KEY_OWNERS)
            end += len(ending)
            if is_word and is_secret_key and not text[end : end + 1].islower():
                yield start, end, kind
            start = lower.find(hint, end)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _continues_word(text: str, start: int) -> bool:
    """Return whether a word goes on at this position, as `compass` does at `pass`; `dbPass` does not."""
    before, first = text[start - 1 : start], text[start]
    return before.isalpha() and not (before.islower() and first.isupper())


def _find_value_after(text: str, hint_start: int, hint_end: int, kind: str, covered: int) -> Iterator[Secret]:
    """Yield the secret that is assigned to a name which contains this hint word.

    A value that begins before `covered`, in a secret of the same kind, is the rest of that secret.
    """
    match = _ASSIGNMENT.match(text, hint_end)
    if match is None or _METADATA_SUFFIX.search(match["tail"]):
        return
    start = _find_name_start(text, hint_start)
    name, sep, before = text[start : match.end("tail")], match["sep"], text[start - 1 : start]
    is_flag, is_element = name.startswith("-"), before == "<" and kind != "cookie"
    if before == ":" or not _can_assign(name, sep, kind, is_element=is_element):
        return
    is_quoted = bool(match["quote"])
    value = (_QUOTED_VALUE if is_quoted else _BARE_VALUE).match(text, match.end())
    if value is None or (not is_quoted and text[value.end() : value.end() + 1] in ("(", "[")):
        return
    is_environment = sep == "=" and name.strip("-").isupper()
    literal = match["quote"][-1] != "`" if is_quoted else is_flag or is_element or is_environment
    if value.start() < covered or is_plausible_secret(value[0][:_JUDGED_LENGTH], kind, literal=literal):
        for run in _SHELL_SAFE_RUN.finditer(value[0]):
            if len(run[0]) > 2:
                yield Secret(value.start() + run.start(), value.start() + run.end(), kind)


def _can_assign(name: str, sep: str, kind: str, *, is_element: bool) -> bool:
    """Return whether a separator after this name assigns a secret to it."""
    # Prose separates words by spaces too; only a flag and `Bearer` take their value after one.
    if sep.isspace() and not name.startswith("-") and kind != "bearer":
        return False
    # A token that already replaces a secret: `<secret:kind:hash>`.
    if is_element and name == "secret" and sep == ":":
        return False
    return (sep != ">" or is_element) and not _is_page_token(name)


def _find_name_start(text: str, hint_start: int) -> int:
    start = hint_start
    while start and (text[start - 1].isalnum() or text[start - 1] in "_-.") and hint_start - start < 60:
        start -= 1
    # In JSON within a text, the first letter may belong to an escape: `\\npassword=…`.
    return start + (text[start - 1 : start] == "\\")


# Field names recur in every call. Callers pass names of bounded length only, so the cache stays small.
@lru_cache(maxsize=1024)
def classify_field_name(name: str) -> str:
    """Return the kind of secret that the name of a field announces, or an empty string."""
    _, end, kind = max(_find_hint_words(name), default=(0, 0, ""), key=lambda word: word[1])
    return "" if not kind or _METADATA_SUFFIX.search(name[end:]) or _is_page_token(name) else kind


def _is_page_token(name: str) -> bool:
    """Return whether the name is that of a position in a list or a lock, which services also call a token."""
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
    """Return whether an assigned value looks like a secret; `literal`: it is no variable or expression."""
    # The search for a placeholder last: it costs far more than everything before it.
    return (
        _looks_secret(value, kind, literal=literal)
        and value.lower() not in _NON_SECRET_WORDS
        and "$(" not in value
        and "`" not in value
        and not _REFERENCE.match(value)
        and not _PLACEHOLDER.search(value)
    )


def _looks_secret(value: str, kind: str, *, literal: bool) -> bool:
    """Return whether the length and the characters of a value are those of a secret of this kind."""
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
    """Return whether the value consists of words and short numbers, as names do."""
    return all(map(_PLAIN_WORD.fullmatch, _SEPARATOR.split(value)))


def _is_name_or_number(value: str) -> bool:
    return _NUMBER_OR_NAME.match(value) is not None


def _is_random(value: str) -> bool:
    """Return whether a text is long and mixed enough to be random rather than written by a person."""
    if len(value) < 12 or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if _is_made_of_words(value):
        return False
    counts = [value.count(char) for char in set(value)]
    return -sum(n / len(value) * log2(n / len(value)) for n in counts) >= 3.0
