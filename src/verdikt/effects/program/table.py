"""The program tables: how knowledge about a program is written down, looked up and applied to a command.

A family is a module of this package with `PROGRAMS: dict[str, Program]`. The package lists which programs each family
knows, so that `find_program` imports a family only when one of its programs is met. A program takes a few lines:

    "cp": Program(
        EffectSpec("fs.read", ":-1"),
        EffectSpec("fs.overwrite", "-1"),
        value_flags="-t -S",
        dry_run_flags="-n --no-clobber",
    ),

and one with subcommands a few lines for each that matters:

    "docker": Program(
        EffectSpec("container.read"),                 # what a subcommand without an entry does
        value_flags="-H --host --context",
        subcommands={
            "volume rm": EffectSpec("container.volume.remove", "*", "resource"),
            "system prune": Program(
                EffectSpec("container.prune"),
                EffectSpec("container.volume.remove", when="--volumes"),
            ),
        },
    ),

What rows cannot express, `classify` does: a function from an `Invocation` to effects, which replaces or adds to the
rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from verdikt.effects.command_verbs import find_verb, has_destroy_verb
from verdikt.effects.program import PROGRAMS_BY_FAMILY
from verdikt.model.effect import Target
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_HELP_FLAGS = frozenset(("--help", "--version", "--usage"))
# Subcommands that run something the user wrote: a `delete` among its words is a name, not an order.
_RUN_SUBCOMMANDS = frozenset("run exec test x start task".split())
_FAMILY_BY_PROGRAM = {program: family for family, names in PROGRAMS_BY_FAMILY.items() for program in names.split()}


@cache
def word_set(text: str) -> frozenset[str]:
    """Return a table's `"-r -R --recursive"` as a set."""
    return frozenset(text.split())


@cache
def _split_flag_names(flag_names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Split flag names into those that match by themselves, and combinations and words that must be searched for."""
    names = flag_names.split()
    plain = frozenset(name for name in names if name[0] == "-" and "+" not in name)
    return plain, tuple(name for name in names if name not in plain)


class Arguments:
    """The flags (with their values) and operands of one command line, in order.

    `value_flags` names the flags that take a value; with `single_dash`, one dash begins a long name (`-auto-approve`).
    """

    __slots__ = ("_flag_names", "flags", "operands", "single_dash")

    def __init__(
        self, argv: Sequence[Word], value_flags: frozenset[str] = frozenset(), *, single_dash: bool = False
    ) -> None:
        self.flags = flags = []  # type: list[tuple[str, Word | None]]
        self.operands = operands = []  # type: list[Word]
        self.single_dash = single_dash
        self._flag_names: set[str] | None = None
        pending_flag = ""
        for position, word in enumerate(argv):
            text = word.text
            if pending_flag:
                flags.append((pending_flag, word))
                pending_flag = ""
            elif text[:1] != "-" or text == "-":
                operands.append(word)
            elif text in value_flags:
                pending_flag = text
            elif len(text) == 2:
                if text == "--":
                    operands.extend(argv[position + 1 :])
                    break
                flags.append((text, None))
            elif single_dash or text[1] == "-":
                self._add_long_flag(text, word)
            else:
                pending_flag = self._add_short_flags(text, word, value_flags)
        if pending_flag:
            flags.append((pending_flag, None))

    def _add_long_flag(self, text: str, word: Word) -> None:
        name, equals, value = text.partition("=")
        self.flags.append((name, Word(value, word.raw, word.glob) if equals else None))

    def _add_short_flags(self, text: str, word: Word, value_flags: frozenset[str]) -> str:
        """Add a cluster such as `-rf`; return the flag whose value is the next word, or an empty string."""
        for index in range(1, len(text)):
            flag = "-" + text[index]
            if flag in value_flags:
                attached_value = text[index + 1 :]
                if not attached_value:
                    return flag
                self.flags.append((flag, Word(attached_value.removeprefix("="), word.raw, word.glob)))
                return ""
            self.flags.append((flag, None))
        return ""

    def has_flag(self, names: str) -> bool:
        """Return whether any of these flags is present.

        `-r+-f` requires both; a word without a dash is looked for among the operands. A long flag may be shortened
        (`--recurs`), as GNU programs allow; `--force` is not short for `--force-with-lease`.
        """
        present = self._flag_names
        if present is None:
            present = self._flag_names = {flag for flag, _ in self.flags}
        plain, combinations = _split_flag_names(names)
        if not present.isdisjoint(plain):
            return True
        for combination in combinations:
            if all(self._has_option(name) for name in combination.split("+")):
                return True
        return any(len(flag) > 4 and flag[1] == "-" and self._is_abbreviation(flag, plain) for flag in present)

    def _has_option(self, name: str) -> bool:
        if name[0] != "-":
            return any(operand.text.lower() == name for operand in self.operands)
        return any(flag == name or self._is_abbreviation(flag, (name,)) for flag, _ in self.flags)

    @staticmethod
    def _is_abbreviation(flag: str, names: Iterable[str]) -> bool:
        """Return whether a flag is one of these names, cut off inside a word."""
        return len(flag) > 4 and any(
            name.startswith(flag) and name != flag and name[len(flag)] != "-" for name in names
        )

    def get_value(self, names: str) -> Word | None:
        """Return the last value of any of these flags."""
        wanted = word_set(names)
        for flag, value in reversed(self.flags):
            if flag in wanted and value is not None:
                return value
        return None

    def get_values(self, names: str) -> list[Word]:
        """Return every value of any of these flags."""
        wanted = word_set(names)
        return [value for flag, value in self.flags if flag in wanted and value is not None]

    def select_words(self, selector: str) -> list[Word]:
        """Return the words that a row's `selector` names.

        `*` all operands, `0` the first, `-1` the last, `1:` all but the first, `:-1` all but the last,
        `-o --output` values of flags, `of=` values of `key=value` operands; `|` joins several.
        """
        if selector == "*":
            return self.operands
        if "|" in selector:
            return [word for part in selector.split("|") for word in self.select_words(part)]
        if selector[0] == "-" and not selector[1:].isdigit():
            return self.get_values(selector)
        if selector.endswith("="):
            return [Word(w.text[len(selector) :], w.raw, w.glob) for w in self.operands if w.text.startswith(selector)]
        if ":" in selector:
            start, _, stop = selector.partition(":")
            return self.operands[int(start) if start else None : int(stop) if stop else None]
        index = int(selector)
        return self.operands[index : index + 1 or None] if -len(self.operands) <= index else []


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """One row: an effect that a program has, under conditions on its arguments."""

    what: str
    """A name from `effects/effect_catalog.py`, which gives the effect its class."""
    selector: str = ""
    """Which words are the targets: see `Arguments.select_words`. No such word, no effect, unless `without_target`."""
    kind: str = "path"
    """What the targets are: path, host, ref, pid, package, database, unit, resource or other."""
    when: str = ""
    """Only with one of these flags or words (`-r+-f`: with both)."""
    unless: str = ""
    """Not with any of these."""
    recoverable: bool | None = None
    """Whether it can be undone, where that differs from the catalog entry; for paths their state decides."""
    possible: bool = False
    """Whether it is only possible, whatever the words say."""
    without_target: bool = False
    """Whether it happens also without a target."""
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
    """Whether one dash begins a long flag: `-auto-approve`."""
    subcommands: Mapping[str, Program | EffectSpec | tuple[EffectSpec, ...]]
    """Subcommand (up to three words) → what it does. The flags of the program itself count for it too."""
    classify: Callable[[Invocation], Iterable[Effect]] | None
    """For what rows cannot express."""
    unconditional: bool
    """Whether the effects do not depend on the arguments, so that the arguments need not be sorted."""
    own_flags: bool
    """For a subcommand: its flags are its own (`docker compose -f x` and `docker run -f y` have nothing in common);
    it may have subcommands."""

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
        set_field = object.__setattr__
        set_field(self, "effects", effects)
        set_field(self, "value_flags", value_flags)
        set_field(self, "dry_run_flags", dry_run_flags)
        set_field(self, "single_dash", single_dash)
        set_field(self, "subcommands", subcommands or {})
        set_field(self, "classify", classify)
        set_field(self, "own_flags", own_flags)
        unconditional = (
            bool(effects)
            and not (subcommands or classify or dry_run_flags)
            and not any(row.selector or row.when or row.unless for row in effects)
        )
        set_field(self, "unconditional", unconditional)


def alias_programs(names: str, program: Program) -> dict[str, Program]:
    """Return one entry under several names: `**alias_programs("gzip bzip2 xz", Program(…))`."""
    return dict.fromkeys(names.split(), program)


@cache
def find_program(name: str) -> Program | None:
    """Return the table entry of a program (its name without the directory); None if no family knows it."""
    family = _FAMILY_BY_PROGRAM.get(name)
    if family is None:
        # `npx prisma@latest` runs `prisma`.
        plain = name.lower().removesuffix(".exe").partition("@")[0]
        return find_program(plain) if plain and plain != name else None
    module = f"verdikt.effects.program.{family}"
    __import__(module)
    program: Program = sys.modules[module].PROGRAMS[name]
    return program


def evaluate_program(program: Program, call: Invocation) -> list[Effect]:
    """Return every effect that the program has with the arguments of this call; sorts them into `call.args`."""
    argv = call.command.argv[1:]
    if len(argv) <= 3:
        for word in argv:
            # `cargo yank --version 1.0` gives a version; `cargo --version` asks for one.
            if word.text[:2] == "--" and word.text in _HELP_FLAGS and (word.text != "--version" or word is argv[-1]):
                return []
    if program.unconditional:
        return _apply_specs(program.effects, call)
    call.args = Arguments(argv, word_set(program.value_flags), single_dash=program.single_dash)
    if program.subcommands:
        return _evaluate_subcommand(program, argv, call)
    if program.dry_run_flags and call.args.has_flag(program.dry_run_flags):
        return []
    return _evaluate_entry(program, call)


def _evaluate_entry(entry: Program | EffectSpec | tuple[EffectSpec, ...], call: Invocation) -> list[Effect]:
    if not isinstance(entry, Program):
        return _apply_specs((entry,) if isinstance(entry, EffectSpec) else entry, call)
    effects = _apply_specs(entry.effects, call) if entry.effects else []
    if entry.classify is not None:
        effects += entry.classify(call)
    return effects


def _evaluate_subcommand(program: Program, argv: Sequence[Word], call: Invocation) -> list[Effect]:
    dry_run_flags = program.dry_run_flags
    entry: Program | EffectSpec | tuple[EffectSpec, ...] = program
    if match := _match_subcommand(program, call.args.operands):
        name, entry = match
        depth = name.count(" ") + 1
        if isinstance(entry, Program) and entry.own_flags:
            return _evaluate_own_flags(entry, argv, depth, dry_run_flags, call)
        if isinstance(entry, Program) and (entry.value_flags or entry.single_dash):
            single_dash = entry.single_dash or program.single_dash
            value_flags = word_set(f"{program.value_flags} {entry.value_flags}")
            call.args = Arguments(argv, value_flags, single_dash=single_dash)
        call.args.operands = call.args.operands[depth:]
        call.subcommand = f"{call.subcommand} {name}".strip()
        if isinstance(entry, Program):
            dry_run_flags = f"{dry_run_flags} {entry.dry_run_flags}"
    elif program.subcommands and program.classify is None and call.args.operands:
        unlisted_effects = _classify_unlisted(call)
        if unlisted_effects:
            return unlisted_effects
    if dry_run_flags and call.args.has_flag(dry_run_flags):
        return []
    return _evaluate_entry(entry, call)


def _match_subcommand(
    program: Program, operands: Sequence[Word]
) -> tuple[str, Program | EffectSpec | tuple[EffectSpec, ...]] | None:
    """Return the longest listed subcommand that the operands begin with, and its entry."""
    texts = [word.text for word in operands[:3]] if program.subcommands else []
    for depth in range(len(texts), 0, -1):
        name = " ".join(texts[:depth])
        if name in program.subcommands:
            return name, program.subcommands[name]
    return None


def _evaluate_own_flags(
    entry: Program, argv: Sequence[Word], depth: int, dry_run_flags: str, call: Invocation
) -> list[Effect]:
    """Evaluate a subcommand with flags of its own: its arguments are sorted again, from where it begins."""
    if dry_run_flags and call.args.has_flag(dry_run_flags):
        return []
    last = call.args.operands[depth - 1]
    own_argv = argv[next(i for i, word in enumerate(argv) if word is last) + 1 :]
    call.args = Arguments(own_argv, word_set(entry.value_flags), single_dash=entry.single_dash)
    return _evaluate_subcommand(entry, own_argv, call)


def _classify_unlisted(call: Invocation) -> list[Effect]:
    """Return `unknown.destroy` for a subcommand that no table lists and whose verb is to destroy something."""
    texts = [word.text for word in call.args.operands[:3] if word.is_known and word.text[:1] != "-"]
    if texts[:1] and texts[0] in _RUN_SUBCOMMANDS:
        return []
    flags = [flag for flag, _ in call.args.flags]
    if find_verb(texts)[1] != "delete" or not has_destroy_verb([*texts, *flags]):
        return []
    return [call.make_effect("unknown.destroy", (Target(" ".join([call.name, *texts]), "other"),), possible=True)]


def _apply_specs(specs: Iterable[EffectSpec], call: Invocation) -> list[Effect]:
    effects: list[Effect] = []
    args = call.args
    for row in specs:
        if (row.when and not args.has_flag(row.when)) or (row.unless and args.has_flag(row.unless)):
            continue
        words = args.select_words(row.selector) if row.selector else ()
        if words:
            effects += call.make_effects(
                row.what, words, row.kind, recoverable=row.recoverable, possible=row.possible, note=row.note
            )
        elif row.without_target or not row.selector:
            effects.append(
                call.make_effect(row.what, recoverable=row.recoverable, possible=row.possible, note=row.note)
            )
    return effects
