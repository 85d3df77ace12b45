"""Apply what is known of a program to one command: find the subcommand, then the rows whose conditions hold.

An option that the program's record does not list is read both ways, with and without a value. Where the readings
differ, what the stricter one finds is added.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.arguments import Arguments, matches_any, matches_texts
from verdikt.effects.code.sql import classify_sql, is_throwaway
from verdikt.effects.command_verbs import find_verb, has_destroy_verb, is_recreatable, split_tokens
from verdikt.effects.deployment_stage import list_stages
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.host import is_local_address, is_remote_path
from verdikt.effects.program_record import EffectSpec, Program, find_program
from verdikt.effects.self_protection import names_own_process
from verdikt.effects.target_shapes import TARGET_SHAPES
from verdikt.effects.word_kinds import get_written_text, has_kind
from verdikt.model.effect import PRECEDENCE, Target, Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_HELP_FLAGS = frozenset(("--help", "--version", "--usage"))
# Subcommands that run something the user wrote: a `delete` among its words is a name, not an order.
_RUN_SUBCOMMANDS = frozenset("run exec test x start task".split())
# Options that are read both ways one by one; more of them are read with a value all together only.
_MAX_SINGLE_READINGS = 3
_TEMPORARY_PREFIXES = ("/tmp/", "/var/tmp/")
_SEVERITY = {cls: -rank for rank, cls in enumerate(PRECEDENCE)}


def evaluate_program(program: Program, call: Invocation) -> list[Effect]:
    """Return every effect that the program has with the arguments of this call; parses them into `call.args`."""
    argv = call.command.argv[1:]
    if len(argv) <= 3:
        for word in argv:
            # `cargo yank --version 1.0` gives a version; `cargo --version` asks for one.
            if word.text[:2] == "--" and word.text in _HELP_FLAGS and (word.text != "--version" or word is argv[-1]):
                return []
    if program.unconditional:
        return apply_rows(program.effects, call)
    doubtful: list[Word] = []
    effects = _evaluate_reading(program, _Reading(argv, doubtful), call)
    if doubtful and program.positional:
        effects = _add_stricter_readings(program, argv, doubtful, effects, call)
    return effects


class _Reading(NamedTuple):
    """One way to read a command line, from the program or from a command with options of its own on."""

    argv: Sequence[Word]
    doubtful: list[Word]  # the unknown options that were met, which may take a value
    forced: Container[int] = ()  # the identities of those that are read with a value
    dry_run: str = ""  # conditions of the levels above

    def parse_command(self, command: Program, last: Word, call: Invocation) -> _Reading:
        """Parse the arguments of a command with options of its own, from where it begins."""
        start = next(index for index, word in enumerate(self.argv) if word is last) + 1
        argv = self.argv[start:]
        call.args = Arguments(argv, command.options, self.forced)
        if self.doubtful:
            earlier_words = {id(word) for word in self.argv[:start]}
            self.doubtful[:] = [word for word in self.doubtful if id(word) in earlier_words]
        self.doubtful.extend(call.args.doubtful)
        return _Reading(argv, self.doubtful, self.forced)


def _evaluate_reading(program: Program, reading: _Reading, call: Invocation) -> list[Effect]:
    call.args = Arguments(reading.argv, program.options, reading.forced)
    reading.doubtful[:] = call.args.doubtful
    global_effects = list(program.prepare(call)) if program.prepare is not None else []
    effects = _evaluate_entry(program, reading, call)
    if (adjust := program.adjust) is not None:
        effects = [adjust(call, effect) for effect in effects]
    return global_effects + effects


def _add_stricter_readings(
    program: Program, argv: Sequence[Word], doubtful: list[Word], effects: list[Effect], call: Invocation
) -> list[Effect]:
    """Return the effects together with those of the strictest reading in which unknown options take a value."""
    strictest, strictness = effects, _measure_strictness(effects)
    other_commands: list[Effect] = []
    names = {effect.what for effect in effects}
    best_state = call.args, call.subcommand, call.command
    for forced in _list_readings(doubtful):
        call.subcommand = ""
        other_effects = _evaluate_reading(program, _Reading(argv, [], forced), call)
        other_strictness = _measure_strictness(other_effects)
        other_names = {effect.what for effect in other_effects}
        if other_strictness > strictness:
            strictest, strictness, names = other_effects, other_strictness, names | other_names
            best_state = call.args, call.subcommand, call.command
        elif program.commands and names.isdisjoint(other_names):
            # Another command may be another matter to a policy, and what it writes may be guarded.
            other_commands += other_effects
            names |= other_names
    # What looks at the arguments later shall see them as the stricter reading does.
    call.args, call.subcommand, call.command = best_state
    return strictest + [effect for effect in (*effects, *other_commands) if effect not in strictest]


def _list_readings(doubtful: list[Word]) -> Iterator[frozenset[int]]:
    if len(doubtful) <= _MAX_SINGLE_READINGS:
        for word in doubtful:
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


def _evaluate_entry(entry: Program, reading: _Reading, call: Invocation) -> list[Effect]:
    """Evaluate a program or a command whose arguments are parsed already."""
    dry_run = f"{reading.dry_run} {entry.dry_run_flags}" if reading.dry_run else entry.dry_run_flags
    if not entry.commands:
        return [] if holds(dry_run, call) else _apply_entry(entry, call)
    match = _match_command(entry, call.args)
    if match is None:
        if not entry.judges_verbs and entry.classify is None and (unlisted_effects := _classify_unlisted(call)):
            return unlisted_effects
        return [] if holds(dry_run, call) else _apply_entry(entry, call)
    name, command = match
    depth = name.count(" ") + 1
    if command.own_flags:
        if holds(dry_run, call):
            return []
        call.subcommand = f"{call.subcommand} {name}".strip()
        return _evaluate_entry(command, reading.parse_command(command, call.args.operands[depth - 1], call), call)
    if command.options is not entry.options:
        call.args = Arguments(reading.argv, command.options, reading.forced)
        reading.doubtful[:] = call.args.doubtful
    call.args.operands = call.args.operands[depth:]
    call.subcommand = f"{call.subcommand} {name}".strip()
    if command.dry_run_flags:
        dry_run = f"{dry_run} {command.dry_run_flags}"
    return [] if holds(dry_run, call) else _apply_entry(command, call)


def holds(conditions: str, call: Invocation) -> bool:
    """Return whether any of these conditions holds: those of `Arguments.has_flag`, and some on the circumstances.

    `verb:delete` asks for the verb among the operands, `noun:recreatable` whether they name something without data,
    `token:a|b` for a part of the words up to the verb, `kind:a|b` for the kind in `KIND NAME` and `KIND/NAME`. Of an
    operand, `zone:0=temp|project` asks where it lies, `state:0=ignored` what git knows of it, `shape:0=remote` what
    it looks like, `is:0=local_host` what it is (see `word_kinds`), `raw:0=a|b*` how it was written;
    `shape:$NAME=here` asks the same of a variable. `env:NAME=a|b*` asks for a variable set for the command,
    `name:a|b` for the name that the program was called by, `text:*a*` for the whole command line without its blanks,
    `line:*a*` for it in lower case, `input:` whether something is handed to its standard input (`input:pipe|file`),
    `upstream:a` for a program in its pipe, `output:shown` whether its output is shown or kept, `earlier:pgrep=a*` for
    words of a command before it, `own:` whether it means a process of verdikt,
    `stage:live` for the installation that it works on, `database:-d=throwaway` for what the name of a database says,
    `item:-G=a|b*` for one of the values that commas separate.
    """
    if not conditions:
        return False
    if ":" not in conditions:
        return call.args.has_flag(conditions)
    return any(all(_holds_term(term, call) for term in part) for part in _split_alternatives(conditions))


class _Term(NamedTuple):
    """One term of a condition; without a subject it is one that `Arguments.has_flag` knows."""

    text: str
    is_negated: bool
    subject: str
    selector: str
    patterns: str


# Bounded by the number of records: conditions never come from a command.
@cache
def _split_alternatives(conditions: str) -> tuple[tuple[_Term, ...], ...]:
    return tuple(tuple(map(_parse_term, part.split("+"))) for part in conditions.split())


def _parse_term(text: str) -> _Term:
    plain_text = text.lstrip("!")
    is_negated = (len(text) - len(plain_text)) % 2 == 1
    subject, _, rest = plain_text.partition(":")
    if subject not in _CIRCUMSTANCES and subject != "is":
        return _Term(plain_text, is_negated, "", "", "")
    is_plain = subject in ("text", "line") or "=" not in rest
    selector, patterns = ("", rest) if is_plain else rest.partition("=")[::2]
    return _Term(plain_text, is_negated, subject, selector, patterns)


def _holds_term(term: _Term, call: Invocation) -> bool:
    if not term.subject:
        return call.args.has_flag(term.text) is not term.is_negated
    if term.subject == "is":
        words = call.args.select_words(term.selector)
        has_any = any(has_kind(word, kind, call) for kind in term.patterns.split("|") for word in words)
        return has_any is not term.is_negated
    texts = _CIRCUMSTANCES[term.subject](term.selector, call)
    return matches_texts(texts, term.patterns) is not term.is_negated


def _find_verb_of(call: Invocation) -> tuple[int, str]:
    table = call.args.table
    texts = [word.text for word in call.args.operands[: table.verb_stop]]
    return find_verb(texts, table.verb_start)


def _list_verbs(_selector: str, call: Invocation) -> list[str]:
    return [_find_verb_of(call)[1]]


def _list_nouns(_selector: str, call: Invocation) -> list[str]:
    """Return `recreatable` if the word of the verb, or the one before it, names something that holds no data."""
    index = _find_verb_of(call)[0]
    texts = [word.text for word in call.args.operands[max(index - 1, 0) : index + 1]]
    return ["recreatable"] if is_recreatable(texts) else []


def _list_tokens(_selector: str, call: Invocation) -> list[str]:
    index = _find_verb_of(call)[0]
    return [token for word in call.args.operands[: index + 1] for token in split_tokens(word.text)]


def _list_kinds(_selector: str, call: Invocation) -> list[str]:
    """Return the kinds of the resources that operands name: `KIND NAME`, `KIND/NAME`, `KIND,KIND`, `KIND.GROUP`."""
    texts = [word.text.lower() for word in call.args.operands]
    heads = texts[:1] + [text for text in texts[1:] if "/" in text]
    return [kind.split(".", 1)[0] for head in heads for kind in head.split("/", 1)[0].split(",")]


def _list_zones(selector: str, call: Invocation) -> list[str]:
    targets = [call.resolve_path(word) for word in call.args.select_words(selector)]
    zones = [target.zone.value for target in targets]
    # `secret.project`: a file that is named like a secret, in a place where the agent may create files.
    root = call.resolver.project_root
    for target in targets:
        if target.zone is Zone.SECRET and target.path.startswith(_TEMPORARY_PREFIXES):
            zones.append("secret.temp")
        elif target.zone is Zone.SECRET and root and target.path.startswith(root + "/"):
            zones.append("secret.project")
    return zones


def _find_zone(word: Word, call: Invocation) -> str:
    return call.resolve_path(word).zone.value


def _list_shapes(selector: str, call: Invocation) -> list[str]:
    if selector[0] == "$":
        return [_find_shape(value, call) for name, value in call.list_assignments() if name == selector[1:]]
    return [_find_shape(word, call) for word in call.args.select_words(selector)]


def _find_shape(word: Word, _call: Invocation) -> str:
    """Return `unknown`, `here` for an address of this machine, `remote` for any other or `host:path`, else `local`."""
    if not word.is_known:
        return "unknown"
    if is_local_address(word.text):
        return "here"
    return "remote" if "://" in word.text or is_remote_path(word.text) else "local"


def _list_texts(_selector: str, call: Invocation) -> list[str]:
    return ["".join(call.full_text.split())]


def _list_states(selector: str, call: Invocation) -> list[str]:
    return [call.resolve_path(word, with_state=True).state for word in call.args.select_words(selector)]


def _list_variables(selector: str, call: Invocation) -> list[str]:
    return [value.text for name, value in call.list_assignments() if matches_any(name, selector)]


def _list_names(_selector: str, call: Invocation) -> list[str]:
    return [call.name]


def _list_inputs(_selector: str, call: Invocation) -> list[str]:
    """Return an empty text if something is handed to the command, and what: pipe, text, file, known, path."""
    command = call.command
    files = [r.target.text for r in command.redirects if r.op == "<"]
    kinds = ["file"] * any(not path.startswith("/dev/") for path in files)
    kinds += ["pipe"] * call.has_piped_input()
    kinds += ["text"] * any(r.op in ("<<", "<<<") for r in command.redirects)
    kinds += ["known"] * (command.stdin is not None)
    is_fed = command.stdin is not None or command.pipe_from is not None or any(r.fd == 0 for r in command.redirects)
    return ["", *kinds, *files] if is_fed else kinds


def _list_outputs(_selector: str, call: Invocation) -> list[str]:
    """Return `shown` where the output is shown or kept as it is, and no other program chooses from it."""
    command = call.command
    is_kept = any(r.op in (">", ">>", ">|") and r.target.text != "/dev/null" and r.fd == 1 for r in command.redirects)
    is_shown = command.pipe_to is None and (is_kept or not command.redirects) and command.feeds is None
    return ["shown"] if is_shown else []


def _list_upstream(_selector: str, call: Invocation) -> list[str]:
    return [command.name for command in call.iter_upstream()]


def _list_raw_texts(selector: str, call: Invocation) -> list[str]:
    return [get_written_text(word).replace("/", "\\").lower() for word in call.args.select_words(selector)]


def _list_lines(_selector: str, call: Invocation) -> list[str]:
    return [call.full_text.lower()]


def _list_earlier_words(selector: str, call: Invocation) -> list[str]:
    names = selector.split("|")
    earlier = find_preceding(call.command, call.commands)
    return [word.text for command in earlier if command.name in names for word in command.argv]


def _list_own_processes(_selector: str, call: Invocation) -> list[str]:
    return [""] if names_own_process(call) else []


def _list_named_stages(_selector: str, call: Invocation) -> list[str]:
    return list_stages(call)


def _list_databases(selector: str, call: Invocation) -> list[str]:
    names = [word.text.rsplit("/", 1)[-1] for word in call.args.select_words(selector)]
    return ["throwaway" for name in names if is_throwaway(name)]


def _list_items(selector: str, call: Invocation) -> list[str]:
    return [item for word in call.args.select_words(selector) for item in word.text.split(",")]


_CIRCUMSTANCES: dict[str, Callable[[str, Invocation], list[str]]] = {
    "verb": _list_verbs,
    "noun": _list_nouns,
    "token": _list_tokens,
    "kind": _list_kinds,
    "zone": _list_zones,
    "state": _list_states,
    "shape": _list_shapes,
    "text": _list_texts,
    "env": _list_variables,
    "name": _list_names,
    "input": _list_inputs,
    "upstream": _list_upstream,
    "output": _list_outputs,
    "raw": _list_raw_texts,
    "line": _list_lines,
    "earlier": _list_earlier_words,
    "own": _list_own_processes,
    "stage": _list_named_stages,
    "database": _list_databases,
    "item": _list_items,
}
_WORD_TRAITS: dict[str, Callable[[Word, Invocation], str]] = {"zone": _find_zone, "shape": _find_shape}


def select_targets(selector: str, call: Invocation) -> Sequence[Word]:
    """Return the words that a row is about; `zone:*=secret` and `shape:*=remote` are those of a kind.

    `program` is the program itself; `input` at the end adds the text on standard input, if it is known.
    """
    if selector == "program":
        return call.command.argv[:1]
    if selector == "input" or selector.endswith("|input"):
        words = select_targets(selector[: -len("|input")], call) if "|" in selector else []
        return [*words, Word(call.command.stdin)] if call.command.stdin else words
    subject, colon, rest = selector.partition(":")
    find_trait = _WORD_TRAITS.get(subject) if colon else None
    if find_trait is None:
        return call.args.select_words(selector)
    name, _, patterns = rest.rpartition("=")
    return [word for word in call.args.select_words(name) if matches_any(find_trait(word, call), patterns)]


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
    while program.prefixes and args.operands and args.operands[0].text in program.prefixes:
        args.operands = args.operands[1:]
    texts = [word.text for word in args.operands[: program.command_depth]]
    for depth in range(len(texts), 0, -1):
        name = " ".join(texts[:depth]) if depth > 1 else texts[0]
        if name in commands:
            return name, commands[name]
    return None


def _classify_unlisted(call: Invocation) -> list[Effect]:
    """Return `unknown.destroy` for a subcommand that no record lists and whose verb is to destroy something."""
    texts = [word.text for word in call.args.operands[:3] if word.is_known and word.text[:1] != "-"]
    if texts[:1] and texts[0] in _RUN_SUBCOMMANDS:
        return []
    # An option that takes a value is no `-n` for a dry run: `kubectl -n prod`.
    flags = [flag for flag, _ in call.args.flags if flag not in call.args.table.values]
    if find_verb(texts)[1] != "delete" or not has_destroy_verb([*texts, *flags]):
        return []
    return [call.make_effect("unknown.destroy", (Target(" ".join([call.name, *texts]), "other"),), possible=True)]


def apply_rows(rows: Iterable[EffectSpec], call: Invocation) -> list[Effect]:
    """Return the effects of the rows whose conditions hold."""
    effects: list[Effect] = []
    has_applied = False
    for row in rows:
        if (
            (row.otherwise and has_applied)
            or (row.when and not holds(row.when, call))
            or (row.unless and holds(row.unless, call))
        ):
            continue
        recoverable = True if row.recoverable_when and holds(row.recoverable_when, call) else row.recoverable
        words = select_targets(row.selector, call) if row.selector else ()
        if row.selector and not words and not row.without_target:
            continue
        has_applied = True
        if row.kind.startswith("sql:"):
            effects += _classify_statements(row, words, call, recoverable=recoverable)
        elif row.kind == "shell":
            # In a list of arguments as JSON writes it, each text may be a command.
            effects += [effect for word in words for effect in call.classify_shell(word.text.strip("[]\"'"))]
            effects.append(call.make_effect(row.what, recoverable=recoverable, note=row.note))
        elif row.kind == "script":
            effects += run_script(words, call)
        elif row.kind in TARGET_SHAPES:
            effects += TARGET_SHAPES[row.kind](row, words, call)
        elif words:
            effects += call.make_effects(
                row.what, words, row.kind, recoverable=recoverable, possible=row.possible, note=row.note
            )
        else:
            effects.append(call.make_effect(row.what, recoverable=recoverable, possible=row.possible, note=row.note))
    return effects


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
        yield from classify_sql(word.text, call, dialect, recoverable=recoverable is True)
    if (row.without_target and not words) or not all(word.is_known for word in words):
        yield call.make_effect(row.what, recoverable=recoverable, note=row.note)
