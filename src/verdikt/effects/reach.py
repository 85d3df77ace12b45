"""What a command is given of verdikt's own, where no table says what its program does with it."""

from __future__ import annotations

from verdikt.effects.argument import words
from verdikt.model.effect import Zone
from verdikt.model.regex import regex
from verdikt.shell.command import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdikt.effects.call import Call
    from verdikt.model.effect import Effect, Target

NAME = "verdikt"
"""What the text of a command must hold before it is worth looking."""

_SAY = words(
    "echo printf test [ [[ cd pushd git verdikt lsof export read true : ls stat realpath readlink dirname basename"
)
_PARTS = regex(r"[:=,]")
_SOCKET = regex(r"verdikt/run\b|\bdaemon\.(?:sock|lock)\b")


def reached(call: Call, effects: Sequence[Effect]) -> list[Effect]:
    """A program that is handed our socket talks in our place; one that is handed our log or state may change it."""
    if call.name in _SAY or any(effect.what.startswith("proc.") for effect in effects):
        return []
    mine = _mine(call)
    if not mine:
        return []
    known = {target.path for effect in effects if effect.what.startswith("fs.") for target in effect.targets}
    writes = any(effect.what.startswith("db.") and not effect.what.startswith("db.read") for effect in effects)
    doors = tuple(t for t in mine if writes or (t.path not in known and (call.name == "flock" or "/run/" in t.path)))
    if doors:
        return [call.effect("guard.tamper", doors)]
    if strange := tuple(t for t in mine if t.path not in known):
        return [call.effect("guard.forge", strange, possible=True)]
    return []


def opens(text: str) -> bool:
    """Whether program text names the socket of the warm process."""
    return _SOCKET.search(text) is not None


def _mine(call: Call) -> tuple[Target, ...]:
    """The paths below verdikt's data among a command's words, alone or after `name=`, `host:` and the like."""
    found = []
    for word in call.command.argv[1:]:
        if NAME in word.text:
            parts = [Word(part) for part in _PARTS.split(word.text) if NAME in part and "/" in part]
            found += [
                target for target in map(call.path, parts) if target.zone is Zone.GUARD and "/verdikt/" in target.path
            ]
    return tuple(found)
