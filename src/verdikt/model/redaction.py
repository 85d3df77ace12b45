"""Secrets replaced before anything is evaluated or recorded.

A secret becomes `<secret:kind:hash>`: the kind says what it was, eight hex digits of its SHA-256 tell two apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from verdikt.model.action import Action
from verdikt.model.canonical_json import MAX_DEPTH, sha256_hex
from verdikt.model.secret_detection import classify_field_name, find_secrets, is_plausible_secret, may_hold_secret

UNKNOWN_MARKER = "\ufffc"
"""What stands for a replaced secret while an action is evaluated: the shell's mark for what the text does not tell."""


@cache
def _token_pattern() -> re.Pattern[str]:
    return re.compile(r"<secret:[a-z0-9-]{1,40}:[0-9a-f]{8}>")


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with every secret replaced, and the kinds that were found. Doing it twice changes nothing more."""
    found = find_secrets(text)
    if not found:
        return text, ()
    parts: list[str] = []
    at = 0
    for secret in found:
        parts += (text[at : secret.start], make_secret_token(secret.kind, text[secret.start : secret.end]))
        at = secret.end
    parts.append(text[at:])
    return "".join(parts), tuple(sorted({secret.kind for secret in found}))


def make_secret_token(kind: str, secret: str) -> str:
    """What is written in a secret's place."""
    return f"<secret:{kind}:{sha256_hex(secret.encode('utf-8', 'surrogatepass'))[:8]}>"


def redact_value(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Plain data with every secret in it replaced, keys included, and the kinds that were found."""
    kinds: set[str] = set()
    return _redact_nested(value, kinds, MAX_DEPTH), tuple(sorted(kinds))


def redact_action(action: Action) -> tuple[Action, tuple[str, ...]]:
    """The action as it may be evaluated and recorded, and the kinds of secrets that it held."""
    kinds: set[str] = set()

    def clean_value(value: Any) -> Any:
        if value == "":
            return value
        # What already looks like a token is told apart from those that we put in: nothing may hide behind a forged one.
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
    )
    return redacted, tuple(sorted(kinds))


def mask_tokens(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Redacted data as the evaluation sees it, each token standing for something that is not told."""
    if isinstance(value, str):
        return _token_pattern().sub(UNKNOWN_MARKER, value) if "<secret:" in value else value
    if isinstance(value, Mapping) and depth:
        return {key: mask_tokens(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [mask_tokens(inner, depth - 1) for inner in value]
    return value


def _escape_forged_tokens(value: Any, depth: int) -> Any:
    """The same to every shell, and no longer a token."""
    if isinstance(value, str):
        return value.replace("<secret:", "< secret:") if "<secret:" in value else value
    if (type(value) is dict or isinstance(value, Mapping)) and depth:
        return {key: _escape_forged_tokens(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [_escape_forged_tokens(inner, depth - 1) for inner in value]
    return value


def escape_forged_tokens(text: str) -> str:
    """A foreign text in which nothing looks like a token of ours."""
    forged: str = _escape_forged_tokens(text, 0)
    return forged


def _redact_nested(value: Any, kinds: set[str], depth: int) -> Any:
    if isinstance(value, str):
        if not may_hold_secret(value):
            return value
        text, found = redact_text(value)
        kinds.update(found)
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
    """A field's value, for which its key, or the name beside it, may say that it is a secret."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        name = siblings.get("name", siblings.get("key", "")) if key == "value" else key
        kind = classify_field_name(name) if isinstance(name, str) else ""
        if kind:
            scheme, space, text = str(value).rpartition(" ") if kind == "authorization" else ("", "", str(value))
            if is_plausible_secret(text if kind != "password" else text.replace(" ", ""), kind, literal=True):
                kinds.add(kind)
                return f"{scheme}{space}{make_secret_token(kind, text)}"
    return _redact_nested(value, kinds, depth - 1)
