"""Spelling a command in another way never loosens its verdict, and never blocks a harmless one.

The commands are those of `tests/cases`. Each is changed in the ways that leave its meaning alone: an absolute path,
a wrapper in front, a value joined by `=`, a documented or an unknown option of the program before its command.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.unit.effects.test_cases import decide, load_cases
from verdikt.effects.program_record import find_program
from verdikt.knowledge import Record, find_record
from verdikt.model.verdict import VerdictKind

Variants = Iterator[list[str]]

# Quotes, patterns, variables and operators: such a text is more than a list of words.
SHELL_CHARACTERS = frozenset("|&;<>$`(){}\n*?~#\"'\\")
OTHER_MEANING = frozenset(("-C", "--git-dir", "--work-tree"))
"""Options that make the command act on another place, where other things may be at stake."""


@cache
def list_plain_cases() -> list[tuple[dict[str, Any], list[str], Record]]:
    """Return the cases with a single plain command of a known program, its words and the program's record."""
    cases = []
    for _, case in load_cases():
        words = case.get("run", "").split(" ")
        record = find_record(words[0])
        if record is not None and "" not in words and not SHELL_CHARACTERS & set(case["run"]):
            cases.append((case, words, record))
    return cases


def list_options(record: Record, *keys: str) -> list[str]:
    """Return the options that a record lists under these keys, without those that make a dry run of it."""
    excluded = OTHER_MEANING | set(record.get("dry_run", "").split())
    return [name for key in keys for name in record.get(key, "").split() if name not in excluded]


def has_commands(words: list[str]) -> bool:
    """Whether the program has commands, so that an option may stand in front of one."""
    program = find_program(words[0])
    return program is not None and bool(program.commands)


def use_absolute_path(words: list[str], record: Record) -> Variants:
    """`rm x` → `/usr/bin/rm x`."""
    yield [f"/usr/bin/{words[0]}", *words[1:]]


def use_wrapper(words: list[str], record: Record) -> Variants:
    """`rm x` → `nice rm x`."""
    for wrapper in ("env", "command", "nice", "nohup", "timeout 5", "sudo -u bob"):
        yield [*wrapper.split(), *words]


def insert_global_option(words: list[str], record: Record) -> Variants:
    """`docker volume rm x` → `docker --context y volume rm x`."""
    if has_commands(words):
        for name in list_options(record, "values", "globals"):
            yield [words[0], name, "y", *words[1:]]
        for name in list_options(record, "flags"):
            yield [words[0], name, *words[1:]]


def insert_unknown_option(words: list[str], record: Record) -> Variants:
    """`docker volume rm x` → `docker --unheard-of y volume rm x`."""
    if has_commands(words):
        yield [words[0], "--unheard-of", "y", *words[1:]]
        yield [words[0], "--unheard-of=y", *words[1:]]


def join_value(words: list[str], record: Record) -> Variants:
    """`--context y` → `--context=y`."""
    values = set(list_options(record, "values"))
    for index in range(1, len(words) - 1):
        if words[index] in values and words[index].startswith("--") and words[index + 1][:1] != "-":
            yield [*words[:index], f"{words[index]}={words[index + 1]}", *words[index + 2 :]]


def separate_value(words: list[str], record: Record) -> Variants:
    """`--context=y` → `--context y`."""
    values = set(list_options(record, "values"))
    for index in range(1, len(words)):
        name, equals, value = words[index].partition("=")
        if equals and value and name in values and name.startswith("--"):
            yield [*words[:index], name, value, *words[index + 1 :]]


@pytest.mark.parametrize(
    "vary",
    [use_absolute_path, use_wrapper, insert_global_option, insert_unknown_option, join_value, separate_value],
)
def test_other_spelling_never_loosens_a_verdict_nor_blocks_a_harmless_command(
    vary: Callable[[list[str], Record], Variants],
) -> None:
    """The verdict of each variant is at least as strict, and a command that passes is not blocked."""
    faults, count = [], 0
    for case, words, record in list_plain_cases():
        verdict = decide(case)[1].kind
        for variant in vary(words, record):
            other_verdict = decide({**case, "run": " ".join(variant)})[1].kind
            count += 1
            if other_verdict < verdict or (verdict is VerdictKind.PASS and other_verdict is VerdictKind.BLOCK):
                faults.append(f"{verdict.word} → {other_verdict.word}: {' '.join(variant)}")

    assert faults == []
    assert count > 20
