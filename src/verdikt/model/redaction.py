"""Replacement of secrets before anything is evaluated or recorded.

A secret becomes a token, `<secret:kind:hash>`: the kind says what it was, eight hex digits of its SHA-256 tell two
apart. Three verbs: *redact* replaces a secret by its token, for records; *mask* replaces a token by an unknown value,
for the evaluation; *escape* changes a text that an agent wrote to look like a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from verdikt.model.action import UNKNOWN, Action
from verdikt.model.canonical_json import MAX_DEPTH, sha256_hex
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.secret_detection import HINT_WORDS, classify_field_name, find_secrets, is_plausible_secret
from verdikt.model.secret_formats import FORMATS_BY_LITERAL

_TOKEN = compile_lazily(r"<secret:[a-z0-9-]{1,40}:[0-9a-f]{8}>")

_MAX_NAME_LENGTH = 100
"""Length of the longest field name that can announce a secret."""


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with every secret replaced, and the kinds of secrets. Redacting twice changes nothing more."""
    secrets = find_secrets(text) if may_hold_secret(text) else []
    if not secrets:
        return text, ()
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += (text[end : secret.start], make_secret_token(secret.kind, text[secret.start : secret.end]))
        end = secret.end
    parts.append(text[end:])
    return "".join(parts), tuple(sorted({secret.kind for secret in secrets}))


def make_secret_token(kind: str, secret: str) -> str:
    """Return the token that replaces a secret."""
    return f"<secret:{kind}:{sha256_hex(secret.encode('utf-8', 'surrogatepass'))[:8]}>"


def redact_value(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Return plain data with every secret in it replaced, keys included, and the kinds of secrets."""
    kinds: set[str] = set()
    return _redact_nested(value, kinds, MAX_DEPTH), tuple(sorted(kinds))


def redact_action(action: Action) -> tuple[Action, tuple[str, ...]]:
    """Return the action as it may be evaluated and recorded, and the kinds of secrets that it held."""
    kinds: set[str] = set()

    def clean_value(value: Any) -> Any:
        if type(value) is str and "<secret:" not in value and not may_hold_secret(value):
            return value  # nearly every text; saves two calls for each
        # An agent could write a token itself to hide a command behind it, so foreign tokens are made ineffective first.
        return _redact_nested(_escape_forged_tokens(value, MAX_DEPTH), kinds, MAX_DEPTH)

    redacted = Action(
        kind=action.kind,
        tool=clean_value(action.tool),
        payload=clean_value(action.payload),
        session_id=action.session_id,
        task_type=clean_value(action.task_type),
        cwd=clean_value(action.cwd),
        host=action.host,
        agent=clean_value(action.agent),
        call_id=clean_value(action.call_id),
        hints=clean_value(action.hints) if action.hints else action.hints,
    )
    return redacted, tuple(sorted(kinds))


def mask_tokens(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return redacted data as the evaluation sees it, with `UNKNOWN` in place of each token."""
    if isinstance(value, str):
        return _TOKEN.sub(UNKNOWN, value) if "<secret:" in value else value
    if isinstance(value, Mapping) and depth:
        return {key: mask_tokens(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [mask_tokens(inner, depth - 1) for inner in value]
    return value


def escape_forged_tokens(text: str) -> str:
    """Return a foreign text in which nothing looks like a token of verdikt's."""
    # `< secret:` means the same to every shell as `<secret:`, and is no token.
    return text.replace("<secret:", "< secret:") if "<secret:" in text else text


def _escape_forged_tokens(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return escape_forged_tokens(value)
    if (type(value) is dict or isinstance(value, Mapping)) and depth:
        return {key: _escape_forged_tokens(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [_escape_forged_tokens(inner, depth - 1) for inner in value]
    return value


def _redact_nested(value: Any, kinds: set[str], depth: int) -> Any:
    if isinstance(value, str):
        if not may_hold_secret(value):  # nearly every text; saves a call and a tuple for each
            return value
        text, text_kinds = redact_text(value)
        kinds.update(text_kinds)
        return text
    if (type(value) is dict or isinstance(value, Mapping)) and depth:
        return {
            _redact_nested(key, kinds, 0): _redact_field(key, inner, value, kinds, depth)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)) and depth:
        return [_redact_nested(inner, kinds, depth - 1) for inner in value]
    return value


def _redact_field(key: Any, value: Any, siblings: Mapping[Any, Any], kinds: set[str], depth: int) -> Any:
    """Redact a field's value, which its key or the name beside it (`{"name": …, "value": …}`) may call a secret."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        name = siblings.get("name", siblings.get("key", "")) if key == "value" else key
        is_name = isinstance(name, str) and len(name) <= _MAX_NAME_LENGTH
        kind = classify_field_name(name) if is_name else ""
        if kind:
            scheme, space, text = str(value).rpartition(" ") if kind == "authorization" else ("", "", str(value))
            if is_plausible_secret(text if kind != "password" else text.replace(" ", ""), kind, literal=True):
                kinds.add(kind)
                return f"{scheme}{space}{make_secret_token(kind, text)}"
    return _redact_nested(value, kinds, depth - 1)


# Prefilter: most texts hold no literal of an issuer and no hint word, and this check is much cheaper than the search.

# Longer texts contain every letter, so the check by letters excludes nothing in them.
_PREFILTER_LIMIT = 1024

# Field names, tool names and directories recur in every call; texts of up to this length are cached once found clean.
_MAX_CACHED_CHARS = 128

_COMMON_LETTERS = "-/. etaoinsrlcdpumhgfbywvkxjqz"
"""Letters of ordinary commands, the commonest first; all others are rare."""


def may_hold_secret(text: str) -> bool:
    """Return False only if `find_secrets` would find nothing."""
    if len(text) > _MAX_CACHED_CHARS:
        return len(text) >= _PREFILTER_LIMIT or _has_indication(text)
    try:
        return _check_and_cache(text)
    except _MaybeSecretError:
        return True


@lru_cache(maxsize=2048)
def _check_and_cache(text: str) -> bool:
    if _has_indication(text):
        # `lru_cache` does not keep a call that raises, so a text that may be a secret never stays in memory.
        raise _MaybeSecretError
    return False


class _MaybeSecretError(Exception):
    """A text that must be searched."""


def _group_by_rarest_letter(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for word in words:
        rarest = max(word, key=lambda letter: _COMMON_LETTERS.find(letter) % 100)
        groups.setdefault(rarest, []).append(word)
    return {letter: tuple(group) for letter, group in groups.items()}


# A text without the rarest letter of a word cannot contain the word.
_LITERALS_BY_LETTER = _group_by_rarest_letter(literal for literal, _ in FORMATS_BY_LITERAL)
_HINTS_BY_LETTER = _group_by_rarest_letter(HINT_WORDS)


def _has_indication(text: str) -> bool:
    """Return whether a literal of an issuer or a hint word occurs in the text."""
    for letter in _LITERALS_BY_LETTER.keys() & text:
        for literal in _LITERALS_BY_LETTER[letter]:
            if literal in text:
                return True
    lower = text.lower()
    for letter in _HINTS_BY_LETTER.keys() & lower:
        for hint in _HINTS_BY_LETTER[letter]:
            if hint in lower:
                return True
    # A few letters have a longer lower case; such a text is searched, which handles them.
    return len(lower) != len(text)
