"""The program tables are complete and well-formed, and their rows mean what `table.py` says."""

from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.effect_catalog import EFFECT_CATALOG, find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.program import PROGRAMS_BY_FAMILY
from verdikt.effects.program.table import Arguments, EffectSpec, Program, evaluate_program, find_program
from verdikt.effects.target import TargetResolver
from verdikt.model.facts import Facts
from verdikt.shell.command import Command, Word

KINDS = {"path", "host", "ref", "pid", "package", "database", "unit", "resource", "other"}


def iter_rows(program: Program) -> Iterator[EffectSpec]:
    """Yield every row of a program, including those of its subcommands."""
    yield from program.effects
    for entry in program.subcommands.values():
        if isinstance(entry, Program):
            yield from iter_rows(entry)
        else:
            yield from (entry,) if isinstance(entry, EffectSpec) else entry


@pytest.mark.parametrize("family", PROGRAMS_BY_FAMILY)
def test_family_knows_exactly_its_listed_programs(family: str) -> None:
    """The list that decides which family is imported matches the tables of that family."""
    assert sorted(import_module(f"verdikt.effects.program.{family}").PROGRAMS) == sorted(
        PROGRAMS_BY_FAMILY[family].split()
    )


def test_program_is_listed_in_one_family_only() -> None:
    """Otherwise the order of a dictionary would decide which entry counts."""
    names = [name for listed in PROGRAMS_BY_FAMILY.values() for name in listed.split()]

    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("family", PROGRAMS_BY_FAMILY)
def test_row_names_an_effect_of_the_catalog(family: str) -> None:
    """Each row's effect is in the catalog, or its direct parent is."""
    for name, program in import_module(f"verdikt.effects.program.{family}").PROGRAMS.items():
        for row in iter_rows(program):
            assert row.what in EFFECT_CATALOG or row.what.rpartition(".")[0] in EFFECT_CATALOG, f"{name}: {row.what}"
            assert row.kind in KINDS, f"{name}: {row.kind}"
            Arguments(()).select_words(row.selector or "*")


def make_words(text: str) -> tuple[Word, ...]:
    """Return the words of a command line; one with `*` is a glob."""
    return tuple(Word(word, word, "*" in word) for word in text.split())


def evaluate(text: str, program: Program) -> list[tuple[str, list[str]]]:
    """Return the effects of a command with their targets."""
    call = Invocation(Command(argv=make_words(text)), TargetResolver(Facts(FakeWorld())))
    return [(effect.what, [target.text for target in effect.targets]) for effect in evaluate_program(program, call)]


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
def test_arguments_are_sorted_like_getopt_does(
    text: str, flags: list[str | tuple[str, str]], operands: list[str]
) -> None:
    """Clusters, attached and separate values, and `--` are understood."""
    args = Arguments(make_words(text), frozenset({"-o", "--output"}))

    assert [(flag, value.text) if value else flag for flag, value in args.flags] == flags
    assert [word.text for word in args.operands] == operands


@pytest.mark.parametrize(
    ("selector", "selected"),
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
def test_selector_selects_its_words(selector: str, selected: str) -> None:
    """Each form of a selector selects the words that `select_words` documents."""
    args = Arguments(make_words("-o out a b c"), frozenset({"-o"}))

    assert " ".join(word.text for word in args.select_words(selector)) == selected


def test_shortened_long_flag_matches() -> None:
    """`rm --recurs` is `rm --recursive`, as GNU programs allow."""
    assert Arguments(make_words("--recurs x")).has_flag("-r --recursive")


def test_row_applies_only_under_its_conditions() -> None:
    """`when` and `unless` choose rows by one flag, two flags together, or a word."""
    program = Program(
        EffectSpec("fs.delete", "*", when="-r+-f"),
        EffectSpec("fs.list", "*", unless="-r"),
        EffectSpec("db.drop", when="flushall"),
    )

    assert evaluate("x -r -f a", program) == [("fs.delete", ["a"])]
    assert evaluate("x a", program) == [("fs.list", ["a"])]
    assert evaluate("x FLUSHALL", program) == [("fs.list", ["FLUSHALL"]), ("db.drop", [])]


def test_longest_subcommand_matches_after_flags_of_its_program() -> None:
    """In `docker -H x volume rm data` the subcommand is `volume rm` and the operand `data`."""
    program = Program(
        EffectSpec("container.read"),
        value_flags="-H",
        subcommands={
            "volume": EffectSpec("container.read"),
            "volume rm": EffectSpec("container.volume.remove", "*", "resource"),
        },
    )

    assert evaluate("docker -H h volume rm data", program) == [("container.volume.remove", ["data"])]
    assert evaluate("docker ps", program) == [("container.read", [])]


def test_dry_run_and_help_have_no_effects() -> None:
    """A dry-run flag or `--help` makes a command harmless, whatever else it says."""
    program = Program(EffectSpec("fs.delete", "*"), dry_run_flags="-n --dry-run")

    assert evaluate("x -n a", program) == []
    assert evaluate("x --help", program) == []


def test_unlisted_effect_name_has_the_entry_of_its_parent() -> None:
    """`fs.delete.later` is as destructive as `fs.delete`; a name without a parent is unknown."""
    assert find_entry("fs.delete.later") == EFFECT_CATALOG["fs.delete"]
    assert find_entry("nonsense.entirely") == EFFECT_CATALOG["unknown"]


def test_unlisted_program_is_not_found() -> None:
    """`find_program` returns None for an unknown name, and ignores case and `.exe`."""
    assert find_program("frobnicate") is None
    assert find_program("RM.EXE") is find_program("rm")
