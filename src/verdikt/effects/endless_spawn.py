"""Loops without an end that start a process in each round, and never wait for one: the machine runs out of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from verdikt.effects.effect_catalog import find_entry
from verdikt.knowledge import find_role
from verdikt.model.effect import Certainty
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_ENDLESS_HEAD = compile_lazily(
    r"(?:\bwhile\s+(?:true|:|!\s+false|\[\s+1\s+\]|\(\(\s*1\s*\)\))|\buntil\s+(?:false|!\s+true)"
    r"|\bfor\s*\(\(\s*;\s*;\s*\)\))\s*[;\n]?\s*do\b"
)
# One that goes into the background itself pauses nothing.
_PAUSE = compile_lazily(
    rf"\b(?:wait|read|break|exit|return|{'|'.join(sorted(find_role('pause')))})\b(?![^;\n&|]{{0,200}}&(?!&))"
)
_MAX_LOOPS = 16


def mark_endless_spawns(text: str, commands: Sequence[Command], effects_by_command: Sequence[list[Effect]]) -> None:
    """Add `sys.crash` to commands that an endless loop starts in the background without a pause."""
    spawns = [index for index, command in enumerate(commands) if command.background and _is_in_loop(command)]
    if not spawns:
        return
    for head in islice(_ENDLESS_HEAD.finditer(text), _MAX_LOOPS):
        end = text.find("done", head.end())
        if end < 0 or _PAUSE.search(text, head.end(), end):
            continue
        start, stop = (len(text[:position].encode()) for position in (head.end(), end))
        for index in spawns:
            if start <= commands[index].span[0] < stop:
                effects_by_command[index] += _list_crashes(effects_by_command[index])


def _is_in_loop(command: Command) -> bool:
    return command.repeated or command.conditional


def _list_crashes(effects: Sequence[Effect]) -> list[Effect]:
    entry = find_entry("sys.crash")
    return [
        effect._replace(
            what="sys.crash",
            cls=entry.cls,
            recoverable=False,
            certainty=Certainty.POSSIBLE,
            note="a loop without an end starts processes and waits for none",
        )
        for effect in effects
        if effect.what == "proc.spawn"
    ][:1]
