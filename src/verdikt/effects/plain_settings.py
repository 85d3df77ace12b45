"""Settings of a file of variables that hold no secret, and edits that touch no others."""

from __future__ import annotations

from collections.abc import Iterable

from verdikt.effects.secret_issuers import ISSUER_DOMAINS
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

PLAIN_SETTINGS = "settings that hold no secret"
"""The note of an effect on a file of variables that leaves the secrets in it as they are."""
_NAME = compile_lazily(r"[A-Z_]+")
_SETTINGS = compile_lazily(r"^[\^(]*(?:[A-Z][A-Z_]{2,}[=:]?\|?)+\)?[=:]?$")
_SETTING_EDIT = compile_lazily(r"(?:s(?P<mark>[/|#,])\^?|/\^?)(?P<name>[A-Z][A-Z0-9_]*)=|\$?a\b|\$?a\\")


def is_plain_setting(pattern: str) -> bool:
    """Whether a pattern names settings that hold no secret: `PORT|NODE_ENV`."""
    pattern = pattern.replace("\\|", "|")
    return (
        _SETTINGS.match(pattern) is not None
        and SECRET_NAME.search(pattern) is None
        and not any(part in pattern for part in ("URL", "URI", "DSN", "CONN"))
        # `STRIPE` alone finds the keys as well.
        and not any(name.lower() in ISSUER_DOMAINS for name in _NAME.findall(pattern))
    )


def changes_plain_settings(scripts: Iterable[Word]) -> bool:
    """Return whether a script only adds lines, or changes settings that hold no secret: `s/^PORT=.*/PORT=1/`."""
    parts = [part.strip() for script in scripts for part in script.text.replace(";", "\n").split("\n") if part.strip()]
    edits = [_SETTING_EDIT.match(part) for part in parts]
    return bool(edits) and all(edit and (not edit["name"] or is_plain_setting(edit["name"])) for edit in edits)
