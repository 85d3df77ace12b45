"""Every shipped record becomes a program whose rows name effects of the catalog and whose handlers exist."""

from collections.abc import Iterator

import pytest

from tests.unit.effects.test_program_evaluator import make_call
from verdikt.effects.conditions import holds, select_targets
from verdikt.effects.effect_catalog import EFFECT_CATALOG, find_entry
from verdikt.effects.program_record import EffectSpec, Program, build_program, find_program
from verdikt.effects.target_shapes import TARGET_SHAPES
from verdikt.knowledge import list_programs

PLAIN_KINDS = {"path", "host", "ref", "pid", "package", "database", "unit", "resource", "other"}
KINDS = PLAIN_KINDS | {"shell", "sql", "script", *TARGET_SHAPES}


def iter_rows(program: Program) -> Iterator[EffectSpec]:
    """Yield every row of a program, including those of its commands."""
    yield from program.effects
    for command in (program.commands or {}).values():
        yield from iter_rows(command)


@pytest.mark.parametrize("name", [*filter(find_program, list_programs())])
def test_record_names_effects_of_the_catalog(name: str) -> None:
    """Each row's effect is in the catalog, or its direct parent is; its selector and conditions can be read."""
    program = find_program(name)

    assert program is not None
    for row in iter_rows(program):
        assert row.what in EFFECT_CATALOG or row.what.rpartition(".")[0] in EFFECT_CATALOG, row.what
        assert row.kind.partition(":")[0] in KINDS, row.kind
        call = make_call(name)
        select_targets(row.selector or "*", call)
        holds(f"{row.when} {row.unless} {row.recoverable_when}", call)


def test_unlisted_effect_name_has_the_entry_of_its_parent() -> None:
    """`fs.delete.later` is as destructive as `fs.delete`; a name without a parent is unknown."""
    assert find_entry("fs.delete.later") == EFFECT_CATALOG["fs.delete"]
    assert find_entry("nonsense.entirely") == EFFECT_CATALOG["unknown"]


def test_unlisted_program_is_not_found() -> None:
    """`find_program` returns None for an unknown name, and ignores case and `.exe`."""
    assert find_program("frobnicate") is None
    assert find_program("RM.EXE") is find_program("rm")


def test_options_that_a_record_mentions_are_known() -> None:
    """What a record names in a list or a condition is no unknown option."""
    record = {
        "values": "-o",
        "flags": "-a",
        "dry_run": "--dry",
        "effects": [{"does": "fs.read", "when": "-r+!--force", "unless": "--type=x"}],
        "commands": {"sub": {"values": "--inner"}},
    }

    options = build_program(record).options

    assert options.names == {"-o", "-a", "--dry", "-r", "--force", "--type", "--inner"}
    assert options.plain == {"-a", "--dry", "-r", "--force", "--type"}
