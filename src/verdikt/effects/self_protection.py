"""What a command is given of verdikt's own, where no table says what its program does with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects.argv import word_set
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect, Target

PRODUCT_NAME = "verdikt"
"""What the text of a command must hold before it is worth looking."""

_HARMLESS_PROGRAMS = word_set(
    "echo printf test [ [[ cd pushd git verdikt lsof export read true : ls stat realpath readlink dirname basename"
)
_WORD_SEPARATOR = compile_lazily(r"[:=,]")
_DAEMON_SOCKET = compile_lazily(r"verdikt/run\b|\bdaemon\.(?:sock|lock)\b")


def find_self_access(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """A program that is handed our socket talks in our place; one that is handed our log or state may change it."""
    if call.name in _HARMLESS_PROGRAMS or any(effect.what.startswith("proc.") for effect in effects):
        return []
    mine = _find_own_paths(call)
    if not mine:
        return []
    known = {target.path for effect in effects if effect.what.startswith("fs.") for target in effect.targets}
    writes = any(effect.what.startswith("db.") and not effect.what.startswith("db.read") for effect in effects)
    doors = tuple(t for t in mine if writes or (t.path not in known and (call.name == "flock" or "/run/" in t.path)))
    if doors:
        return [call.make_effect("guard.tamper", doors)]
    if strange := tuple(t for t in mine if t.path not in known):
        return [call.make_effect("guard.forge", strange, possible=True)]
    return []


def mentions_daemon_socket(text: str) -> bool:
    """Whether program text names the socket of the warm process."""
    return _DAEMON_SOCKET.search(text) is not None


def _find_own_paths(call: Invocation) -> tuple[Target, ...]:
    """The paths below verdikt's data among a command's words, alone or after `name=`, `host:` and the like."""
    found = []
    for word in call.command.argv[1:]:
        if PRODUCT_NAME in word.text:
            parts = [Word(part) for part in _WORD_SEPARATOR.split(word.text) if PRODUCT_NAME in part and "/" in part]
            found += [
                target
                for target in map(call.resolve_path, parts)
                if target.zone is Zone.GUARD and "/verdikt/" in target.path
            ]
    return tuple(found)
