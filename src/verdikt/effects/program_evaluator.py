"""Apply what is known of a program to one command: find the subcommand, then the rows whose conditions hold.

An option that the program's record does not list is read both ways, with and without a value. Where the readings
differ, what the stricter one finds is added.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.arguments import Arguments, list_option_names, matches_any
from verdikt.effects.code import classify_query
from verdikt.effects.command_verbs import find_verb, has_destroy_verb
from verdikt.effects.conditions import holds, select_targets
from verdikt.effects.data_store import STORE_LOSSES, settle_record_losses
from verdikt.effects.program_record import EffectSpec, Program, find_program
from verdikt.effects.target_shapes import TARGET_SHAPES
from verdikt.knowledge import MAX_COMMAND_WORDS, find_role
from verdikt.model.effect import PRECEDENCE, Target
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_HELP_FLAGS = frozenset(("--help", "--version", "--usage"))
_PROJECT_RELEASES = find_role("project_release")
# Subcommands that run something the user wrote: a `delete` among its words is a name, not an order.
_RUN_SUBCOMMANDS = frozenset("run exec test x start task".split())
# Options that are read both ways one by one; more of them are read with a value all together, and the first by itself.
_MAX_SINGLE_READINGS = 3
_NO_VALUES = frozenset(("false", "0", "no", "off", "f", "n", "$false"))
"""Values with which a flag is not set. `none` is left to the records: for some programs it is a value of its own."""

TARGET_KINDS = frozenset("path host ref pid package database unit resource other".split())
"""What the targets of a row may be; a row of any other kind has words that mean something by themselves."""

_SEVERITY = {cls: -rank for rank, cls in enumerate(PRECEDENCE)}


def evaluate_program(program: Program, call: Invocation) -> list[Effect]:
    """Return every effect that the program has with the arguments of this call; parses them into `call.args`."""
    if program.option_variable:
        _insert_variable_options(program.option_variable, call)
    argv = call.command.argv[1:]
    if "--" in call.full_text and len(argv) <= 3 and not _HELP_FLAGS.isdisjoint([word.text for word in argv]):
        for index, word in enumerate(argv):
            if word.text in _HELP_FLAGS and _asks_help(index, argv, program):
                return [call.make_effect("code.build")] if call.name in _PROJECT_RELEASES else []
    if program.unconditional:
        return apply_rows(program.effects, call)
    if program.is_flat:
        call.args = Arguments(argv, program.options)
        effects = apply_rows(program.effects, call) if not call.args.asks_help or program.runs_others else []
    else:
        effects = _evaluate_reading(program, argv, call)
    if call.args.doubtful and program.positional:
        effects = _add_stricter_readings(program, argv, effects, call)
    # No generator: it would cost every command more than the rest of this function.
    for effect in effects:
        if effect.what.startswith(STORE_LOSSES):
            return settle_record_losses(call, effects, has_handler=program.classify is not None)
    return effects


def _asks_help(index: int, argv: Sequence[Word], program: Program) -> bool:
    """Return whether the word at this place makes a program only print how it is used, or its version."""
    # `cargo yank --version 1.0` gives a version; `cargo --version` asks for one.
    if argv[index].text == "--version" and argv[index] is not argv[-1]:
        return False
    # `wget -O --help` names a file.
    return not index or program.options.is_plain(argv[index - 1].text)


def _insert_variable_options(names: str, call: Invocation) -> None:
    """Put the words of a variable before the arguments, or behind the command that ends its name (`TF_CLI_ARGS_*`)."""
    program, *arguments = call.command.argv
    for variable, value in (*call.list_exports(), *call.list_assignments()):
        words = [Word(text, text) for text in value.text.split()]
        for name in names.split():
            verb = variable.removeprefix(name[:-1]) if name[-1] == "*" else ""
            position = next((index for index, word in enumerate(arguments, 1) if word.text == verb), 0)
            if variable == name or position:
                arguments[position:position] = words
                call.replace_words((program, *arguments))


def _evaluate_reading(
    program: Program, argv: Sequence[Word], call: Invocation, forced: Container[int] = ()
) -> list[Effect]:
    """Return the effects of one way to read a command line; `forced` are the unknown options that take a value in it.

    The unknown options that were met, which may take a value, are in `call.args.doubtful` afterwards.
    """
    global_effects: list[Effect] = []
    name = argv[0].text if argv else ""
    command = program.own_commands.get(name)
    if command is not None and (program.prepare is None or not call.command.assignments):
        # No option stands before the command, as in `git status`, and all that follows is its own.
        call.subcommand = f"{call.subcommand} {name}" if call.subcommand else name
        call.args = _parse_own_options(command, argv[1:], forced)
        effects = _evaluate_entry(command, call)
    else:
        call.args = Arguments(argv, program.options, forced)
        if program.prepare is not None and (call.args.flags or call.command.assignments):
            global_effects += program.prepare(call)
        effects = _evaluate_entry(program, call)
    if (adjust := program.adjust) is not None:
        effects = [adjust(call, effect) for effect in effects]
    return [*global_effects, *effects] if global_effects else effects


def _add_stricter_readings(
    program: Program, argv: Sequence[Word], effects: list[Effect], call: Invocation
) -> list[Effect]:
    """Return the effects together with those of the strictest reading in which unknown options take a value."""
    strictest, strictness = effects, _measure_strictness(effects)
    other_commands: list[Effect] = []
    names = {effect.what for effect in effects}
    best_state = call.args, call.subcommand, call.command
    listed_commands = [call.subcommand]
    for forced in _list_readings(call.args.doubtful):
        call.subcommand = ""
        other_effects = _evaluate_reading(program, argv, call, forced)
        listed_commands.append(call.subcommand)
        other_strictness = _measure_strictness(other_effects)
        other_names = {effect.what for effect in other_effects}
        if other_strictness > strictness:
            other_commands += strictest
            strictest, strictness, names = other_effects, other_strictness, names | other_names
            best_state = call.args, call.subcommand, call.command
        else:
            # Another command may be another matter to a policy, and another path that it reads or writes may be
            # guarded. A file that is run may do anything, so each one that may be meant is looked at.
            other_commands += [
                effect
                for effect in other_effects
                if (program.commands and effect.what not in names)
                or effect.what == "code.run"
                or any(t.path for t in effect.targets)
            ]
            names |= other_names
    # What looks at the arguments later shall see them as the stricter reading does.
    call.args, call.subcommand, call.command = best_state
    all_effects = dict.fromkeys((*strictest, *effects, *other_commands))
    return [effect for effect in all_effects if not _is_listed_order(effect, listed_commands)]


def _is_listed_order(effect: Effect, listed_commands: Iterable[str]) -> bool:
    """Return whether what one reading takes for an unlisted order to destroy is a command that another one knows.

    Of `kind --new 3 delete cluster`, `3 delete cluster` is no command, and `delete cluster` is.
    """
    if effect.what != "unknown.destroy":
        return False
    words = effect.targets[0].text
    return any(name and f" {name} " in f"{words} " and has_destroy_verb(name.split()) for name in listed_commands)


def _list_readings(doubtful: list[Word]) -> Iterator[frozenset[int]]:
    # The first one may stand before the command, whose own options are read best as they stand.
    singles = doubtful if len(doubtful) <= _MAX_SINGLE_READINGS else doubtful[:1]
    for word in singles:
        yield frozenset((id(word),))
    if len(doubtful) > 1:
        yield frozenset(map(id, doubtful))


def _measure_strictness(effects: Iterable[Effect]) -> tuple[bool, int, bool]:
    """Return how strict the strictest effect is: whether it can be undone counts most, then its class."""
    return max(
        (
            (not effect.recoverable, _SEVERITY[effect.cls], effect.certain)
            for effect in effects
            # What is not understood in one reading says nothing against another one that is.
            if effect.what != "unknown.program"
        ),
        default=(False, -len(PRECEDENCE), False),
    )


def _evaluate_entry(entry: Program, call: Invocation) -> list[Effect]:
    """Evaluate a program, or a command with options of its own, whose arguments are parsed already."""
    dry_run = entry.dry_run_flags
    if not entry.commands:
        return [] if dry_run and _is_dry_run(dry_run, call) else _apply_entry(entry, call)
    match = _match_command(entry, call.args)
    if match is None:
        if not entry.judges_verbs and entry.classify is None and (unlisted_effects := _classify_unlisted(call)):
            return unlisted_effects
        return [] if dry_run and _is_dry_run(dry_run, call) else _apply_entry(entry, call)
    name, command = match
    last_word = call.args.operands[name.count(" ")]
    call.subcommand = f"{call.subcommand} {name}".strip()
    if command.own_flags:
        if dry_run and _is_dry_run(dry_run, call):
            return []
        call.args = _parse_later_options(command, last_word, call.args)
        return _evaluate_entry(command, call)
    if command.options is not entry.options:
        call.args = Arguments(call.args.argv, command.options, call.args.forced)
    call.args.operands = call.args.operands[name.count(" ") + 1 :]
    if command.dry_run_flags:
        dry_run = f"{dry_run} {command.dry_run_flags}"
    return [] if dry_run and _is_dry_run(dry_run, call) else _apply_entry(command, call)


def _parse_own_options(command: Program, argv: Sequence[Word], forced: Container[int]) -> Arguments:
    """Parse the arguments of a command with options of its own."""
    args = Arguments(argv, command.options, forced)
    # Where every word means the same, an option that takes the next one changes nothing.
    if not command.positional:
        args.doubtful = []
    return args


def _parse_later_options(command: Program, last_word: Word, args: Arguments) -> Arguments:
    """Parse the arguments of such a command where other words stand before them: they begin after its name."""
    start = args.command_end or next(index for index, word in enumerate(args.argv) if word is last_word) + 1
    own_args = _parse_own_options(command, args.argv[start:], args.forced)
    if args.doubtful:
        earlier_words = {id(word) for word in args.argv[:start]}
        own_args.doubtful = [word for word in args.doubtful if id(word) in earlier_words] + own_args.doubtful
    return own_args


def _apply_entry(entry: Program, call: Invocation) -> list[Effect]:
    if len(call.args.operands) < entry.needs or (call.args.asks_help and not entry.runs_others):
        return []
    effects = apply_rows(entry.effects, call) if entry.effects else []
    if entry.classify is not None:
        effects += entry.classify(call)
    return effects


def _match_command(program: Program, args: Arguments) -> tuple[str, Program] | None:
    """Return the longest listed command that the operands begin with, and its entry; drops words before it."""
    commands = program.commands or {}
    while program.prefixes and args.operands and matches_any(args.operands[0].text, program.prefixes):
        args.operands = args.operands[1:]
    if not args.operands:
        return None
    name = args.operands[0].text
    if name in program.group_words:
        texts = [word.text for word in args.operands[:MAX_COMMAND_WORDS]]
        for depth in range(len(texts), 1, -1):
            long_name = " ".join(texts[:depth])
            if long_name in commands:
                return long_name, commands[long_name]
    return (name, commands[name]) if name in commands else None


def _classify_unlisted(call: Invocation) -> list[Effect]:
    """Return `unknown.destroy` for a subcommand that no record lists and whose verb is to destroy something."""
    texts = [word.text for word in call.args.operands[:3] if UNKNOWN not in word.text and word.text[:1] != "-"]
    if not texts or texts[0] in _RUN_SUBCOMMANDS or find_verb(texts)[1] != "delete":
        return []
    # An option that takes a value is no `-n` for a dry run: `kubectl -n prod`.
    flags = [flag for flag, _ in call.args.flags if flag not in call.args.table.values]
    if not has_destroy_verb([*texts, *flags]):
        return []
    return [call.make_effect("unknown.destroy", (Target(" ".join([call.name, *texts]), "other"),), possible=True)]


# Most conditions and targets need no more than the parsed arguments.


def _is_dry_run(conditions: str, call: Invocation) -> bool:
    """Return whether the call only shows what it would do; `--dry-run=false` does it."""
    if not (call.args.has_flag(conditions) if ":" not in conditions else holds(conditions, call)):
        return False
    switches = list_option_names(conditions)
    has_no = any(
        value is not None and value.text.lower() in _NO_VALUES and any(name.startswith(flag) for name in switches)
        for flag, value in call.args.flags
    )
    # npm takes the next word as the value of a flag.
    return not has_no and not any(operand.text == "false" for operand in call.args.operands)


def _holds(conditions: str, call: Invocation) -> bool:
    return call.args.has_flag(conditions) if ":" not in conditions else holds(conditions, call)


def apply_rows(rows: Iterable[EffectSpec], call: Invocation) -> list[Effect]:
    """Return the effects of the rows whose conditions hold."""
    effects: list[Effect] = []
    has_applied = False
    args = call.args
    for row in rows:
        if row.otherwise and has_applied:
            continue
        when, unless = row.when, row.unless
        # `_holds`, written out: half of all rows have a condition, and most of those end here.
        if when and not (args.has_flag(when) if ":" not in when else holds(when, call)):
            continue
        if unless and (args.has_flag(unless) if ":" not in unless else holds(unless, call)):
            continue
        # Most rows are about all operands.
        what, selector, kind = row.what, row.selector, row.kind
        words = args.operands if selector == "*" else select_targets(selector, call) if selector else ()
        if selector and not words and not row.without_target:
            continue
        recoverable, possible, note = row.recoverable, row.possible, row.note
        if row.recoverable_when and _holds(row.recoverable_when, call):
            recoverable = True
        has_applied = True
        if kind in TARGET_KINDS:
            if words:
                effects += call.make_effects(what, words, kind, recoverable=recoverable, possible=possible, note=note)
            else:
                effects.append(call.make_effect(what, recoverable=recoverable, possible=possible, note=note))
        else:
            effects += _classify_words(row, words, call, recoverable=recoverable)
    return effects


def _classify_words(
    row: EffectSpec, words: Sequence[Word], call: Invocation, *, recoverable: bool | None
) -> Iterable[Effect]:
    """Return the effects of words that are more than names of things: statements, code, commands, scripts."""
    if row.kind.startswith("sql:"):
        return _classify_statements(row, words, call, recoverable=recoverable)
    if row.kind == "shell":
        # In a list of arguments as JSON writes it, each text may be a command.
        effects = [effect for word in words for effect in call.classify_shell(word.text.strip("[]\"'"))]
        return [*effects, call.make_effect(row.what, recoverable=recoverable, note=row.note)]
    if row.kind == "script":
        return run_script(words, call)
    return TARGET_SHAPES[row.kind](row, words, call)


def run_script(words: Sequence[Word], call: Invocation) -> Iterable[Effect]:
    """Return the effects of an interpreter that runs a file, or its input where it is given none.

    A file with a name of its own is a known program: `manage.py`, `artisan`.
    """
    if not words or words[0].text == "-":
        return call.classify_piped_code() if call.command.stdin is None and call.has_piped_input() else ()
    effects = call.make_effects("code.run", words[:1])
    argv = call.command.argv
    place = next((index for index, word in enumerate(argv) if word is words[0]), 0)
    name = words[0].text.rsplit("/", 1)[-1]
    program = find_program(name) if place else None
    return effects if program is None else effects + evaluate_program(program, call.make_inner_call(argv[place:], name))


def _classify_statements(
    row: EffectSpec, words: Sequence[Word], call: Invocation, *, recoverable: bool | None
) -> Iterator[Effect]:
    """Yield the effects of words that are SQL, and the row's own for text that is unknown or stands elsewhere."""
    dialect = row.kind.partition(":")[2]
    for word in words:
        yield from classify_query(word.text, call, dialect, recoverable=recoverable is True)
    if (row.without_target and not words) or not all(word.is_known for word in words):
        yield call.make_effect(row.what, recoverable=recoverable, note=row.note)
