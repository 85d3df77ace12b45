"""Classify what a command does besides running its program: variables, redirections, the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.command_input import substitute_listed_names
from verdikt.effects.environment_variables import classify_assignment
from verdikt.effects.redirect import classify_redirect
from verdikt.effects.unknown_program import classify_unnamed_program
from verdikt.knowledge import find_role
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

VARIABLE_EXPORTERS = find_role("variable_exporter")
"""Builtins that set variables for the programs which follow."""

StartupClassifier = Callable[["Invocation", str], "list[Effect]"]
"""(command, path) → effects of a file that a program runs before anything else because a variable names it."""


def classify_modifiers(call: Invocation, index: int, classify_startup: StartupClassifier) -> list[Effect]:
    """Return what the command at an index does by its assignments and redirections, and in the background."""
    command = call.command
    effects: list[Effect] = []
    if command.repeated and any(not word.is_known for word in command.argv[1:]):
        substitute_listed_names(call, index)
    for variable, value in command.assignments:
        effects += _classify_variable(call, variable, value, classify_startup)
    for redirect in command.redirects:
        effects += classify_redirect(call, redirect)
    if command.background:
        effects.append(call.make_effect("proc.spawn", note="goes on in the background"))
    if command.argv and not call.name:
        effects += classify_unnamed_program(call)
    elif call.name and f"{call.name}()" in command.via and (command.background or command.pipe_to is not None):
        # `f() { f | f & }; f`
        effects.append(call.make_effect("sys.crash", note="a function that starts itself over and over"))
    return effects


def _classify_variable(call: Invocation, name: str, value: Word, classify_startup: StartupClassifier) -> list[Effect]:
    effects: list[Effect] = []
    for effect in classify_assignment(call, name, value):
        effects.append(effect)
        if effect.what == "code.run" and effect.targets[0].path:
            effects += classify_startup(call, effect.targets[0].path)
    return effects


def add_stand_ins(
    calls: Sequence[Invocation], effects_by_command: list[list[Effect]], classify_startup: StartupClassifier
) -> None:
    """Add what scripts do that answer to the names of programs: `export PATH=$PWD/bin:$PATH; git status`."""
    search_path: Word | None = None
    for index, call in enumerate(calls):
        command = call.command
        if not command.argv or call.name in VARIABLE_EXPORTERS:
            words = [value for name, value in command.assignments if name == "PATH"]
            words += [Word(w.text[5:], w.raw) for w in command.argv[1:] if w.text.startswith("PATH=")]
            search_path = words[-1] if words else search_path
        elif search_path is not None and "/" not in command.argv[0].text:
            effects_by_command[index] += _classify_variable(call, "PATH", search_path, classify_startup)
