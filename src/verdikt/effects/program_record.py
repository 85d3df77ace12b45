"""Records of the knowledge base as objects, ready to be applied to a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdikt.effects.arguments import NO_OPTIONS, OptionTable, is_simple_option, word_set
from verdikt.knowledge import Record, find_record
from verdikt.knowledge.options import OPTION_KEYS, VALUE_KEYS, list_options
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_OPERAND_TERM = compile_lazily(r"(?:^|[ +!])(?:-?\d+:?=|(?:verb|noun|token|kind|shape|zone):)")

Handler = Callable[["Invocation"], Iterable["Effect"]]


# Slots and no named tuples: every command reads a dozen of these fields, and a slot is read in a third of the time.
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EffectSpec:
    """One row: an effect that a program has, under conditions on its arguments."""

    what: str
    """A name from `effects/effect_catalog.py`, which gives the effect its class."""
    selector: str = ""
    """Which words are the targets: see `Arguments.select_words`. No such word, no effect, unless `without_target`."""
    kind: str = "path"
    """What the targets are: path, host, ref, pid, package, database, unit, resource or other."""
    when: str = ""
    """Only under one of these conditions: see `Arguments.has_flag`."""
    unless: str = ""
    """Not under any of these."""
    otherwise: bool = False
    """Only if no earlier row of the list applied."""
    recoverable: bool | None = None
    """Whether it can be undone, where that differs from the catalog entry; for paths their state decides."""
    recoverable_when: str = ""
    """Conditions under which it can be undone."""
    possible: bool = False
    """Whether it is only possible, whatever the words say."""
    without_target: bool = False
    """Whether it happens also without a target."""
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program:
    """What one program, or one command of it, does by its arguments."""

    effects: tuple[EffectSpec, ...] = ()
    options: OptionTable = NO_OPTIONS
    dry_run_flags: str = ""
    """Conditions under which nothing happens."""
    commands: Mapping[str, Program] | None = None
    """Command (up to four words) → what it does. The options of the program itself count for it too."""
    group_words: frozenset[str] = frozenset()
    """The words with which the names of commands begin that have several: `compose` of `docker compose up`."""
    prefixes: str = ""
    """Patterns of words before a command that change nothing of what it does: `gcloud beta`, `cargo +nightly`."""
    judges_verbs: bool = False
    """Whether its rows tell by the verb what a command does that is not listed."""
    classify: Handler | None = None
    """For what rows cannot express."""
    prepare: Handler | None = None
    """Of a program: classifies its global options and variables, if there are any, before a command is looked for."""
    adjust: Callable[[Invocation, Effect], Effect] | None = None
    """Of a program: changes each effect by the circumstances of the command."""
    runs_others: bool = False
    """Whether it runs other commands or code, so that an option among its words may be meant for those."""
    option_variable: str = ""
    """Of a program: a variable whose words it reads as options before its own."""
    needs: int = 0
    """How many operands there must be; with fewer it prints how it is used, and does nothing."""
    own_flags: bool = False
    """For a command: its options are its own (`docker compose -f x` and `docker run -f y` have nothing in common);
    it may have commands."""
    own_commands: Mapping[str, Program] = field(default_factory=dict)
    """Its commands with options of their own, where a first word that names one can mean nothing else."""
    unconditional: bool = False
    """Whether the effects do not depend on the arguments, so that the arguments need not be parsed."""
    is_flat: bool = False
    """Whether its rows say all: no commands, no handler, no dry run, no operand that must be there."""
    positional: bool = False
    """Whether it matters which word is which operand, so that an unknown option must be read both ways."""


# Bounded: the names of programs come from commands.
@lru_cache(maxsize=4096)
def find_program(name: str) -> Program | None:
    """Return what is known of a program by its name without the directory; None for an unknown one."""
    record = find_record(name)
    return _build_cached(record["names"][0]) if record is not None and _has_effects(record) else None


def find_options(name: str, command_name: str = "") -> OptionTable:
    """Return the options of a program, or of one of its commands, by its record."""
    program = find_program(name)
    if program is not None and command_name:
        program = (program.commands or {}).get(command_name)
    return NO_OPTIONS if program is None else program.options


def _has_effects(entry: Record) -> bool:
    """Whether a record says what the program does, and not only which commands it runs."""
    return "effects" in entry or "handler" in entry or any(map(_has_effects, entry.get("commands", {}).values()))


@cache
def _build_cached(first_name: str) -> Program:
    record = find_record(first_name)
    return build_program(record or {})


def build_program(record: Record) -> Program:
    """Return a record of a program as an object."""
    return _build_entry(record, _build_options(record, abbreviate=record.get("abbreviate", False)))


def _build_options(entry: Record, *, abbreviate: bool, is_command: bool = False) -> OptionTable:
    """Return the options of a program, or of a command with options of its own."""
    names, valued = frozenset(list_options(entry, OPTION_KEYS)), frozenset(list_options(entry, VALUE_KEYS))
    return OptionTable(
        values=word_set(entry.get("values", "")),
        plain=names - valued,
        simple=frozenset(filter(is_simple_option, names - valued)),
        names=names,
        before=word_set(entry.get("globals", "")),
        single_dash=entry.get("single_dash", False),
        abbreviate=abbreviate,
        posix=entry.get("posix", False),
        stops=_list_own_commands(entry),
        short_help=(is_command or "commands" in entry) and not _lists_short_help(entry),
        **_read_verb_range(entry.get("verb", "")),
    )


def _list_own_commands(entry: Record) -> frozenset[str]:
    """Return the commands with options of their own, if all have: after their name the entry has nothing to read."""
    commands = entry.get("commands", {})
    is_layered = all(command.get("own") and " " not in name for name, command in commands.items())
    return frozenset(commands) if is_layered and "dry_run" not in entry else frozenset()


def _read_verb_range(text: str) -> dict[str, Any]:
    """Return the operands among which a verb is looked for: `1` only the second, `1:` from there on."""
    if not text:
        return {}
    start = int(text.rstrip(":"))
    return {"verb_start": start, "verb_stop": None if text.endswith(":") else start + 1}


def _lists_short_help(entry: Record) -> bool:
    """Whether `-h` means something to the entry itself, so that it does not ask for help."""
    return any("-h" in part.get(key, "").split() for part in (entry, *entry.get("effects", ())) for key in OPTION_KEYS)


def _build_entry(entry: Record, program_options: OptionTable) -> Program:
    effects = tuple(_build_row(row) for row in entry.get("effects", ()))
    own_flags = entry.get("own", False)
    values = entry.get("values", "")
    options = program_options
    if own_flags:
        options = _build_options(entry, abbreviate=program_options.abbreviate, is_command=program_options.short_help)
    elif values or entry.get("single_dash"):
        options = program_options.with_values(values, single_dash=entry.get("single_dash", False))
    if not own_flags and options.short_help and _lists_short_help(entry):
        options = replace(options, short_help=False)
    # A command of which only its inner command is known does by itself what the program does.
    commands = {
        name: _build_entry(command, options)
        for name, command in entry.get("commands", {}).items()
        if _has_effects(command)
    }
    classify = _import_handler(entry["handler"], "classify_") if "handler" in entry else None
    if classify is not None and "settings" in entry:
        classify = partial(classify, **entry["settings"])
    is_conditional = (
        commands
        or classify
        or any(map(entry.get, _BEYOND_ROWS))
        or any(row.selector or row.when or row.unless or row.recoverable_when for row in effects)
    )
    return Program(
        effects=effects,
        options=options,
        dry_run_flags=entry.get("dry_run", ""),
        commands=commands or None,
        prefixes=entry.get("prefixes", "").replace(" ", "|"),
        judges_verbs=any("verb:" in row.when or row.when.startswith("0=") for row in effects),
        group_words=frozenset(name.partition(" ")[0] for name in commands if " " in name),
        classify=classify,
        prepare=_import_handler(entry["prepare"], "classify_") if "prepare" in entry else None,
        adjust=_import_handler(entry["adjust"], "adjust_") if "adjust" in entry else None,
        runs_others=any(key in entry for key in ("runs", "code", "trace", "lines")),
        option_variable=entry.get("option_variable", ""),
        needs=entry.get("needs", 0),
        own_flags=own_flags,
        own_commands={} if "prefixes" in entry else {name: commands[name] for name in options.stops & commands.keys()},
        unconditional=bool(effects) and not is_conditional,
        is_flat=bool(effects) and not (commands or classify or any(map(entry.get, _BEYOND_ROWS))),
        positional=bool(commands or classify or any(map(_is_positional, effects))),
    )


def _is_positional(row: EffectSpec) -> bool:
    """Return whether a row depends on which word is which operand."""
    return row.selector not in ("", "*") or _OPERAND_TERM.search(f"{row.when} {row.unless}") is not None


def _build_row(row: Record) -> EffectSpec:
    return EffectSpec(
        what=row["does"],
        selector=row.get("on", ""),
        kind=row.get("as", "path"),
        when=row.get("when", ""),
        unless=row.get("unless", ""),
        otherwise=row.get("else", False),
        recoverable=row.get("recoverable"),
        recoverable_when=row.get("recoverable_when", ""),
        possible=row.get("possible", False),
        without_target=row.get("always", False),
        note=row.get("note", ""),
    )


_BEYOND_ROWS = ("dry_run", "needs", "prepare", "adjust")


@cache
def _import_handler(name: str, prefix: str) -> Callable[..., Any]:
    """Return the function that a record names: as handler, `git.push` is `classify_push` of `program/git.py`."""
    module, _, function = name.partition(".")
    handler: Callable[..., Any] = getattr(import_module(f"verdikt.effects.handlers.{module}"), prefix + function)
    return handler
