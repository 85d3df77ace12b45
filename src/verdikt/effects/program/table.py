"""The form in which knowledge about programs is written down.

A family is a module of this package with `PROGRAMS: dict[str, Program]`; its programs are listed in `FAMILIES`, so that a
family is loaded when one of its programs is met. A program takes a few lines:

    "cp": Program(Does("fs.read", ":-1"), Does("fs.overwrite", "-1"), values="-t -S", dry="-n --no-clobber"),

and one with subcommands a few lines for each that matters:

    "docker": Program(
        Does("container.read"),                       # what a subcommand without an entry does
        values="-H --host --context",
        subs={
            "volume rm": Does("container.volume.remove", "*", "resource"),
            "system prune": Program(Does("container.prune"), Does("container.volume.remove", when="--volumes")),
        },
    ),

What a table cannot say, `call` says: a function from a `Call` to effects, which replaces or adds to the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """One thing that a program does, under conditions on its arguments."""

    what: str
    """A name from `effects/effect_catalog.py`, which gives it its class."""
    selector: str = ""
    """Which words are its targets: see `Arguments.pick`. Without any such word the effect does not happen, unless `bare`."""
    kind: str = "path"
    """What the targets are: path, host, ref, pid, package, database, unit, resource, other. Paths get zone and git state."""
    when: str = ""
    """Only with one of these flags or words (`-r+-f`: with both)."""
    unless: str = ""
    """Not with any of these."""
    recoverable: bool | None = None
    """Whether it can be undone, where that differs from the name's entry; paths know it by their state."""
    possible: bool = False
    """Whether it is only possible, whatever the words say."""
    without_target: bool = False
    """Happens also without a target."""
    note: str = ""


@dataclass(frozen=True, slots=True, init=False)
class Program:
    """What one program does, by its arguments. `--help` and `--version` alone make any program harmless."""

    effects: tuple[EffectSpec, ...]
    value_flags: str
    """Flags that take a value, so that the value is not taken for an operand."""
    dry_run_flags: str
    """Flags with which nothing happens."""
    single_dash: bool
    """One dash begins a long flag: `-auto-approve`."""
    subcommands: Mapping[str, Program | EffectSpec | tuple[EffectSpec, ...]]
    """Subcommand (up to three words) → what it does. The flags of the program itself count for it too."""
    classify: Callable[[Invocation], Iterable[Effect]] | None
    """For what rows cannot say."""
    unconditional: bool
    """Whether it does the same whatever its arguments are, so that nobody need look at them."""
    own_flags: bool
    """For a subcommand: its flags are its own (`docker compose -f x` and `docker run -f y` have nothing in common); it may have subcommands."""

    def __init__(
        self,
        *effects: EffectSpec,
        value_flags: str = "",
        dry_run_flags: str = "",
        single_dash: bool = False,
        subcommands: Mapping[str, Program | EffectSpec | tuple[EffectSpec, ...]] | None = None,
        classify: Callable[[Invocation], Iterable[Effect]] | None = None,
        own_flags: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "effects", effects)
        put(self, "value_flags", value_flags)
        put(self, "dry_run_flags", dry_run_flags)
        put(self, "single_dash", single_dash)
        put(self, "subcommands", subcommands or {})
        put(self, "classify", classify)
        put(self, "own_flags", own_flags)
        plain = (
            bool(effects)
            and not (subcommands or classify or dry_run_flags)
            and not any(row.selector or row.when or row.unless for row in effects)
        )
        put(self, "unconditional", plain)


def alias_programs(names: str, program: Program) -> dict[str, Program]:
    """Several names for one entry: `**programs("gzip bzip2 xz", Program(…))`."""
    return dict.fromkeys(names.split(), program)
