"""Classify cmdlets by their record, which lists the dangerous ones and judges every other by its verb and its noun."""

from collections.abc import Iterable
from functools import cache

from verdikt.effects.code.windows_shell_parser import WindowsCommand
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect
from verdikt.shell.command import Word

_RECORD = "powershell-cmdlet"


@cache
def _load_aliases() -> dict[str, str]:
    return dict(item.split("=") for item in find_role("cmdlet_alias"))


def resolve_alias(name: str) -> str:
    """Return the cmdlet that a name is an alias for; the name itself if it is none."""
    return _load_aliases().get(name, name)


def is_cmdlet(name: str) -> bool:
    """Return whether a name, or what it is an alias for, is a verb and a noun, as the names of cmdlets are."""
    verb, dash, _ = resolve_alias(name).partition("-")
    return bool(dash) and verb in find_role("cmdlet_verb")


def classify_cmdlet(command: WindowsCommand, call: Invocation) -> Iterable[Effect]:
    """Return the effects of a cmdlet; none with `-WhatIf`."""
    verb, _, noun = resolve_alias(command.name).partition("-")
    program = find_program(_RECORD)
    if program is None:
        raise LookupError(f"no record `{_RECORD}`")
    words = [_to_word(text, is_quoted=quoted) for text, quoted in command.words]
    line = f"{command.name} {' '.join(text for text, _ in command.words)}".strip()
    argv = (Word(command.name), Word(verb), Word(noun), *words)
    return evaluate_program(program, call.make_inner_call(argv, command.name, line=line))


def _to_word(text: str, *, is_quoted: bool) -> Word:
    """Return a word as the records of other programs have them: options in lower case, a value after `=`."""
    if is_quoted or text[:1] != "-" or len(text) < 2:
        return Word(text)
    option, colon, value = text.partition(":")
    return Word(f"{option.lower()}={value}" if colon else option.lower())
