"""The tables of programs are complete and well-formed, and their rows mean what `table.py` says."""

from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.argv import Arguments
from verdikt.effects.effect_catalog import EFFECT_CATALOG, find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.program import PROGRAMS_BY_FAMILY, find_program
from verdikt.effects.program.table import EffectSpec, Program
from verdikt.effects.target import TargetResolver
from verdikt.model.facts import Facts
from verdikt.shell.command import Command, Word

KINDS = {"path", "host", "ref", "pid", "package", "database", "unit", "resource", "other"}


def rows(program: Program) -> Iterator[EffectSpec]:
    """Every row of a program, those of its subcommands included."""
    yield from program.effects
    for entry in program.subcommands.values():
        if isinstance(entry, Program):
            yield from rows(entry)
        else:
            yield from (entry,) if isinstance(entry, EffectSpec) else entry


@pytest.mark.parametrize("family", PROGRAMS_BY_FAMILY)
def test_a_family_knows_exactly_the_programs_it_is_listed_with(family: str) -> None:
    """The list that decides what is loaded cannot drift from what is written."""
    assert sorted(import_module(f"verdikt.effects.program.{family}").PROGRAMS) == sorted(
        PROGRAMS_BY_FAMILY[family].split()
    )


def test_no_program_is_in_two_families() -> None:
    """Otherwise which one counts would depend on the order of a dictionary."""
    names = [name for listed in PROGRAMS_BY_FAMILY.values() for name in listed.split()]

    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("family", PROGRAMS_BY_FAMILY)
def test_every_row_uses_a_documented_name(family: str) -> None:
    """A row's effect stands in the table of names, or directly below one that does."""
    for name, program in import_module(f"verdikt.effects.program.{family}").PROGRAMS.items():
        for row in rows(program):
            assert row.what in EFFECT_CATALOG or row.what.rpartition(".")[0] in EFFECT_CATALOG, f"{name}: {row.what}"
            assert row.kind in KINDS, f"{name}: {row.kind}"
            Arguments(()).select_words(row.selector or "*")


def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(word, word, "*" in word) for word in text.split())


def effects(text: str, program: Program) -> list[tuple[str, list[str]]]:
    call = Invocation(Command(argv=words(text)), TargetResolver(Facts(FakeWorld())))
    return [(effect.what, [target.text for target in effect.targets]) for effect in call.classify_program(program)]


@pytest.mark.parametrize(
    ("text", "flags", "operands"),
    [
        ("-rf a b", ["-r", "-f"], ["a", "b"]),
        ("-o out in", [("-o", "out")], ["in"]),
        ("-oout in", [("-o", "out")], ["in"]),
        ("--output=out in", [("--output", "out")], ["in"]),
        ("--output out in", [("--output", "out")], ["in"]),
        ("-f -- -x y", ["-f"], ["-x", "y"]),
        ("- a", [], ["-", "a"]),
    ],
)
def test_arguments_are_sorted_as_getopt_would(
    text: str, flags: list[str | tuple[str, str]], operands: list[str]
) -> None:
    """Clusters, attached and separate values, the end of options."""
    args = Arguments(words(text), frozenset({"-o", "--output"}))

    found = [(flag, value.text) if value else flag for flag, value in args.flags]
    assert found == flags
    assert [word.text for word in args.operands] == operands


@pytest.mark.parametrize(
    ("on", "picked"),
    [
        ("*", "a b c"),
        ("0", "a"),
        ("-1", "c"),
        ("1:", "b c"),
        (":-1", "a b"),
        ("-o", "out"),
        ("0|-o", "a out"),
        ("7", ""),
    ],
)
def test_a_row_picks_its_targets(on: str, picked: str) -> None:
    """The little language of `on`."""
    args = Arguments(words("-o out a b c"), frozenset({"-o"}))

    assert " ".join(word.text for word in args.select_words(on)) == picked


def test_a_long_flag_may_be_shortened() -> None:
    """`rm --recurs` is `rm --recursive`."""
    assert Arguments(words("--recurs x")).has_flag("-r --recursive")


def test_conditions_on_flags_and_words_choose_rows() -> None:
    """`when` and `unless`, one flag or two together."""
    program = Program(
        EffectSpec("fs.delete", "*", when="-r+-f"),
        EffectSpec("fs.list", "*", unless="-r"),
        EffectSpec("db.drop", when="flushall"),
    )

    assert effects("x -r -f a", program) == [("fs.delete", ["a"])]
    assert effects("x a", program) == [("fs.list", ["a"])]
    assert effects("x FLUSHALL", program) == [("fs.list", ["FLUSHALL"]), ("db.drop", [])]


def test_the_longest_subcommand_counts_and_keeps_the_flags_of_its_program() -> None:
    """`docker -H x volume rm data`: the host is a flag, `volume rm` the subcommand, `data` the operand."""
    program = Program(
        EffectSpec("container.read"),
        value_flags="-H",
        subcommands={
            "volume": EffectSpec("container.read"),
            "volume rm": EffectSpec("container.volume.remove", "*", "resource"),
        },
    )

    assert effects("docker -H h volume rm data", program) == [("container.volume.remove", ["data"])]
    assert effects("docker ps", program) == [("container.read", [])]


def test_a_dry_run_and_a_request_for_help_do_nothing() -> None:
    """Whatever else the line says."""
    program = Program(EffectSpec("fs.delete", "*"), dry_run_flags="-n --dry-run")

    assert effects("x -n a", program) == []
    assert effects("x --help", program) == []


def test_an_unlisted_name_takes_after_its_parent() -> None:
    """`fs.delete.later` is as destructive as `fs.delete`; what has no parent is unknown."""
    assert find_entry("fs.delete.later") == EFFECT_CATALOG["fs.delete"]
    assert find_entry("nonsense.entirely") == EFFECT_CATALOG["unknown"]


def test_a_program_that_nobody_wrote_down_is_not_found() -> None:
    """Not knowing is an answer."""
    assert find_program("frobnicate") is None
    assert find_program("RM.EXE") is find_program("rm")
