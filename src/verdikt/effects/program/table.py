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

from verdikt.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verdikt.effects.call import Call
    from verdikt.model.effect import Effect


class Does(Value):
    """One thing that a program does, under conditions on its arguments."""

    what: str
    """A name from `effects/name.py`, which gives it its class."""
    on: str = ""
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
    bare: bool = False
    """Happens also without a target."""
    note: str = ""


class Program(Value):
    """What one program does, by its arguments. `--help` and `--version` alone make any program harmless."""

    does: tuple[Does, ...]
    values: str
    """Flags that take a value, so that the value is not taken for an operand."""
    dry: str
    """Flags with which nothing happens."""
    single: bool
    """One dash begins a long flag: `-auto-approve`."""
    subs: Mapping[str, Program | Does | tuple[Does, ...]]
    """Subcommand (up to three words) → what it does. The flags of the program itself count for it too."""
    call: Callable[[Call], Iterable[Effect]] | None
    """For what rows cannot say."""
    always: bool
    """Whether it does the same whatever its arguments are, so that nobody need look at them."""
    own: bool
    """For a subcommand: its flags are its own (`docker compose -f x` and `docker run -f y` have nothing in common); it may have subcommands."""

    def __init__(
        self,
        *does: Does,
        values: str = "",
        dry: str = "",
        single: bool = False,
        subs: Mapping[str, Program | Does | tuple[Does, ...]] | None = None,
        call: Callable[[Call], Iterable[Effect]] | None = None,
        own: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "does", does)
        put(self, "values", values)
        put(self, "dry", dry)
        put(self, "single", single)
        put(self, "subs", subs or {})
        put(self, "call", call)
        put(self, "own", own)
        plain = bool(does) and not (subs or call or dry) and not any(row.on or row.when or row.unless for row in does)
        put(self, "always", plain)


def programs(names: str, program: Program) -> dict[str, Program]:
    """Several names for one entry: `**programs("gzip bzip2 xz", Program(…))`."""
    return dict.fromkeys(names.split(), program)
