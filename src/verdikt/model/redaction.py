"""Secrets replaced before anything is evaluated or recorded.

A secret becomes `<secret:kind:hash>`: the kind says what it was, eight hex digits of its SHA-256 tell two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from verdikt.model.action import Action
from verdikt.model.canonical import MAX_DEPTH, sha256
from verdikt.model.secret import announced_by, find, plausible, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

UNTOLD = "\ufffc"
"""What stands for a replaced secret while an action is evaluated: the shell's mark for what the text does not tell."""


@cache
def _token_pattern() -> re.Pattern[str]:
    import re  # not before it is needed

    return re.compile(r"<secret:[a-z0-9-]{1,40}:[0-9a-f]{8}>")


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with every secret replaced, and the kinds that were found. Doing it twice changes nothing more."""
    found = find(text)
    if not found:
        return text, ()
    parts: list[str] = []
    at = 0
    for secret in found:
        parts += (text[at : secret.start], token(secret.kind, text[secret.start : secret.end]))
        at = secret.end
    parts.append(text[at:])
    return "".join(parts), tuple(sorted({secret.kind for secret in found}))


def token(kind: str, secret: str) -> str:
    """What is written in a secret's place."""
    return f"<secret:{kind}:{sha256(secret.encode('utf-8', 'surrogatepass'))[:8]}>"


def redact(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Plain data with every secret in it replaced, keys included, and the kinds that were found."""
    kinds: set[str] = set()
    return _redact(value, kinds, MAX_DEPTH), tuple(sorted(kinds))


def redact_action(action: Action) -> tuple[Action, tuple[str, ...]]:
    """The action as it may be evaluated and recorded, and the kinds of secrets that it held."""
    kinds: set[str] = set()

    def clean(value: Any) -> Any:
        if value == "":
            return value
        # What already looks like a token is told apart from those that we put in: nothing may hide behind a forged one.
        return _redact(_unforge(value, MAX_DEPTH), kinds, MAX_DEPTH)

    redacted = Action(
        kind=action.kind,
        tool=clean(action.tool),
        payload=clean(action.payload),
        session_id=action.session_id,
        task_type=clean(action.task_type),
        cwd=clean(action.cwd),
        host=action.host,
        agent=clean(action.agent),
        call_id=clean(action.call_id),
    )
    return redacted, tuple(sorted(kinds))


def shield(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Redacted data as the evaluation sees it, each token standing for something that is not told."""
    if isinstance(value, str):
        return _token_pattern().sub(UNTOLD, value) if "<secret:" in value else value
    if isinstance(value, Mapping) and depth:
        return {key: shield(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [shield(inner, depth - 1) for inner in value]
    return value


def _unforge(value: Any, depth: int) -> Any:
    """The same to every shell, and no longer a token."""
    if isinstance(value, str):
        return value.replace("<secret:", "< secret:") if "<secret:" in value else value
    if (type(value) is dict or isinstance(value, Mapping)) and depth:
        return {key: _unforge(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [_unforge(inner, depth - 1) for inner in value]
    return value


def unforged(text: str) -> str:
    """A foreign text in which nothing looks like a token of ours."""
    forged: str = _unforge(text, 0)
    return forged


def _redact(value: Any, kinds: set[str], depth: int) -> Any:
    if isinstance(value, str):
        if not telling(value):
            return value
        text, found = redact_text(value)
        kinds.update(found)
        return text
    if (type(value) is dict or isinstance(value, Mapping)) and depth:
        return {_redact(key, kinds, 0): _field(key, inner, value, kinds, depth) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [_redact(inner, kinds, depth - 1) for inner in value]
    return value


def _field(key: Any, inner: Any, around: Mapping[Any, Any], kinds: set[str], depth: int) -> Any:
    """A field's value, for which its key, or the name beside it, may say that it is a secret."""
    if isinstance(inner, (str, int)) and not isinstance(inner, bool):
        name = around.get("name", around.get("key", "")) if key == "value" else key
        kind = announced_by(name) if isinstance(name, str) else ""
        if kind:
            scheme, space, text = str(inner).rpartition(" ") if kind == "authorization" else ("", "", str(inner))
            if plausible(text if kind != "password" else text.replace(" ", ""), kind, literal=True):
                kinds.add(kind)
                return f"{scheme}{space}{token(kind, text)}"
    return _redact(inner, kinds, depth - 1)
