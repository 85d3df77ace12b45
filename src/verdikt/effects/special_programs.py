"""Programs of which a record says too little: what they do to files that the text writes, or that are guarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verdikt.effects.entry_files import ENTRY_PROGRAMS, may_start_entry
from verdikt.effects.guarded_sets import SET_PROGRAMS, find_guarded_effects
from verdikt.effects.patched_files import (
    PATCHERS,
    TREE_CHANGERS,
    classify_git_move,
    classify_patched_files,
    find_git_verb,
    is_git_move,
)
from verdikt.effects.run_files import runs_source
from verdikt.effects.written_files import FILE_SOURCES
from verdikt.knowledge import find_role

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.run_files import RunFiles
    from verdikt.effects.written_files import WrittenFiles
    from verdikt.model.effect import Effect

_COMPILERS = find_role("compiler")
SPECIAL_PROGRAMS = FILE_SOURCES | _COMPILERS | SET_PROGRAMS | ENTRY_PROGRAMS
"""Programs that need more than their record; one look-up tells nearly every command that it is none of them."""


def classify_special_program(
    call: Invocation, files: WrittenFiles, make_run_files: Callable[[], RunFiles]
) -> list[Effect]:
    """Return what programs do with files that this text writes or that are guarded, besides their own effects."""
    name, command = call.name, call.command
    effects: list[Effect] = []
    if name in FILE_SOURCES or (command.pipe_from is not None and command.redirects):
        effects += files.remember_outputs(call)
    elif name in _COMPILERS and (files.texts or command.stdin or runs_source(command)):
        effects += make_run_files().classify_compiled(call)
    if name in ENTRY_PROGRAMS and len(command.argv) > 1 and may_start_entry(command):
        effects += make_run_files().classify_entries(call)
    if name in SET_PROGRAMS or "@" in name:
        effects += find_guarded_effects(call, command, files.texts)
        if name in TREE_CHANGERS and (verb := find_git_verb(command.argv)):
            is_move = is_git_move(command.argv, verb)
            effects += classify_git_move(call, verb) if is_move else classify_patched_files(call, files.texts, verb)
        elif name in PATCHERS:
            effects += classify_patched_files(call, files.texts)
    return effects
