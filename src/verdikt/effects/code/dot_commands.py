"""Commands of the shells of file databases, on lines that begin with a dot: `.shell`, `.import`, `.once |program`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.effects.code.client_files import classify_output_program
from verdikt.effects.dataflow import OUTGOING_PREFIXES
from verdikt.model.effect import Effect, EffectClass, Target, Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_RUNNING = word_set(".shell .system .sh")
_WRITING = word_set(".output .once .backup .save .clone .log .trace .excel .o")
_READING = word_set(".import .read .restore .load .open")
_NAMES = sorted(_RUNNING | _WRITING | _READING)
_MIN_LENGTH = 4
"""How much of a command's name says which it is."""


def classify_dot_commands(call: Invocation, text: str) -> Iterator[Effect]:
    """Yield the effects of the dot commands of a session: what they run, read and write."""
    effects = [
        effect for line in text.splitlines() if line.lstrip()[:1] == "." for effect in _classify_line(call, line)
    ]
    yield from effects
    # A secret that one command reads may be in what another one sends.
    secrets = [target for effect in effects if effect.what == "cred.read" for target in effect.targets]
    sends = [effect for effect in effects if effect.what.startswith(OUTGOING_PREFIXES)]
    if secrets and sends:
        yield call.make_effect("cred.send", (*secrets, *sends[0].targets))


def _classify_line(call: Invocation, line: str) -> Iterator[Effect]:
    command, _, arguments = line.strip().replace("\t", " ", 1).partition(" ")
    # A command may be shortened: `.she`, `.outp`.
    if len(command) >= _MIN_LENGTH:
        command = next((name for name in _NAMES if name.startswith(command)), command)
    if command in _RUNNING:
        effects = list(call.classify_shell(arguments))
        yield from effects
        if not effects or any(effect.cls is not EffectClass.READ for effect in effects):
            yield call.make_effect("db.exec", note="runs a program")
        return
    if command not in _WRITING and command not in _READING:
        return
    operands = [word for word in _split_words(arguments) if word[:1] != "-"]
    if not operands:
        return
    if (piped := next((word for word in operands if word[:1] == "|"), "")) or arguments.lstrip()[:1] == "|":
        # Without quotes the program's words are the rest of the line.
        program = arguments.lstrip().removeprefix("|") if arguments.lstrip()[:1] == "|" else piped[1:]
        yield from classify_output_program(call, program, reads_output=command in _WRITING)
        return
    name = operands[0] if command == ".import" else operands[-1]
    if command in _WRITING:
        yield from call.make_effects("fs.overwrite", [Word(name, name)])
        return
    yield from call.make_effects("fs.read", [Word(name, name)])
    if command == ".load":
        yield call.make_effect("code.run", (call.resolve_path(Word(name, name)),))
    elif command == ".restore":
        yield call.make_effect("db.restore", (Target(name, "database"),), recoverable=True)
    elif command == ".read":
        yield call.make_effect("db.write", note=command)


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def choose_used_file(call: Invocation, text: str, file: Word) -> Word:
    """Return the database that a session is about; of several the one where its statements could lose something."""
    used = [Word(name) for name in _list_used_files(text, file.text)]
    return next((each for each in used if _may_lose(call, each)), used[0])


def _may_lose(call: Invocation, file: Word) -> bool:
    return file.text not in (":memory:", "") and call.resolve_path(file).zone is not Zone.TEMP


def _list_used_files(text: str, first: str) -> list[str]:
    """Return the databases to which statements of a session go: its own, and those that it opens with `.open x.db`."""
    used, current = [], first
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [".open"]:
            current = words[-1].strip("\"'") if len(words) > 1 and words[-1][:1] != "-" else ":memory:"
        elif words and words[0][:1] != ".":
            used.append(current)
    return list(dict.fromkeys(used)) or [current]
