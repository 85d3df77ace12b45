"""Classify shell text: each of its commands by the record of its program, with the files and the code that it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.armed_loads import add_armed_effects
from verdikt.effects.code import classify_code
from verdikt.effects.code.powershell_start import is_powershell
from verdikt.effects.code_loaders import PROJECT_LOADERS
from verdikt.effects.command_input import (
    CODE_FILE_OPTIONS,
    TEXT_READERS,
    detect_language,
    match_programs,
    may_read_output,
)
from verdikt.effects.command_modifiers import VARIABLE_EXPORTERS, add_stand_ins, classify_modifiers
from verdikt.effects.command_relations import CommandRelations, are_settled
from verdikt.effects.copied_programs import COPIED_PROGRAMS_KEY, list_program_aliases
from verdikt.effects.deployment_stage import classify_live_change
from verdikt.effects.embedded_code import classify_embedded_code, drop_read_encoding
from verdikt.effects.given_arguments import fill_arguments
from verdikt.effects.given_variables import fill_environment
from verdikt.effects.guarded_operands import HANDLING_EFFECTS, find_handled_guards
from verdikt.effects.guarded_outputs import OUTPUT_PROGRAMS, find_guarded_outputs
from verdikt.effects.invocation import SHELLS, Invocation
from verdikt.effects.local_values.value_files import fill_session_values
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import Program, find_program
from verdikt.effects.program_text import (
    RUNNING_EFFECTS,
    TEXT_RUNNERS,
    classify_program_texts,
    may_hold_program_text,
)
from verdikt.effects.run_files import LOADING_EFFECTS, RunFiles
from verdikt.effects.runner_settings import list_set_programs
from verdikt.effects.self_protection import PRODUCT_NAME, find_self_access, mentions_daemon_socket
from verdikt.effects.special_programs import SPECIAL_PROGRAMS, classify_special_program
from verdikt.effects.unknown_program import (
    classify_code_file,
    classify_fetched_text,
    classify_hidden_program,
    classify_input_program,
    classify_named_download,
    classify_offline_order,
    classify_substitution,
    classify_unknown_program,
    make_too_deep_effect,
    make_unparsed_effect,
)
from verdikt.effects.written_files import WrittenFiles
from verdikt.effects.zone_effects import derive_hidden_reads, derive_zone_effects
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.analysis import analyse
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.effects.program_layer import ProgramLayer
    from verdikt.effects.target import TargetResolver
    from verdikt.shell.command import Script

MAX_DEPTH = 6
"""How far texts inside texts are followed; beyond that, unknown."""

_INTERPRETERS = SHELLS | find_role("code_runner")
_PLUGIN_LOADERS = find_role("plugin_loader")
_RUNNER_SETTINGS = ("SHELL=", "CC=", "CXX=", "LD=", "AR=", "FC=", "CPP=", ".runner", ".linker", "wrapper=")
_RUN_PREFIXES = ("code.", "pkg.")
_INSTALLED_PLACE = compile_lazily(r"(?:^|/)(?:node_modules/\.bin|\.?venv/bin|env/bin|vendor/bin|\.bin)/|^@")
_REHEARSAL_WORD = compile_lazily(
    r"(?:-n\b|--(?:dry|just-print|snapshot|preview|check|plan|no-act|simulate|what-?if|sql\b)|run\b)\S*"
)
"""A word that has a program show what it would do; a whole script, as `bash -c` gets it, is none."""
_OUTPUT_OPTIONS = ("-o", "--out")
# Of these the words may say more than a record does.
_CODE_EFFECTS = ("code.run", "unknown.program", "infra.read", "cloud.read")
_UNIX_FIRST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz./~#")
_POWERSHELL_BEGINNINGS = ("ri", "ir", "iw")  # `ri`, `irm`, `iwr`


class Step(NamedTuple):
    """One command of a script with its effects; `depth` is how deep inside the text it stands."""

    depth: int
    command: Command
    effects: tuple[Effect, ...]


class ScriptClassifier:
    """Classifies the shell text of one action. Remembers files that the text writes, for when it runs them.

    With `steps` given, every command is added to it together with its effects.
    """

    __slots__ = (
        "_depth",
        "_known_relations",
        "_mentions_verdikt",
        "_programs",
        "_resolver",
        "_written_files",
        "steps",
    )

    def __init__(
        self, resolver: TargetResolver, programs: ProgramLayer | None = None, *, steps: list[Step] | None = None
    ) -> None:
        self._resolver = resolver
        self._programs = programs
        self._depth = 0
        self._written_files: WrittenFiles | None = None
        self._known_relations: CommandRelations | None = None
        self._mentions_verdikt = False
        self.steps = steps

    # Made when first needed: most texts write no file that they run, and are one command that bears on no other.

    @property
    def _files(self) -> WrittenFiles:
        if self._written_files is None:
            self._written_files = WrittenFiles(self._resolver)
        return self._written_files

    @property
    def _relations(self) -> CommandRelations:
        if self._known_relations is None:
            self._known_relations = CommandRelations(self._resolver)
        return self._known_relations

    def _load_text(self, path: str) -> str | None:
        files = self._written_files
        return self._resolver.facts.text(path) if files is None else files.load_text(path)

    def classify_shell(self, text: str, cwd: Word | None = None, where: str = "") -> list[Effect]:
        """Return the effects of shell text, in order."""
        if self._depth >= MAX_DEPTH:
            return [make_too_deep_effect()]
        self._depth += 1
        try:
            return self._classify_script(text, cwd, where)
        finally:
            self._depth -= 1

    def _classify_inner(self, text: str, command: Command) -> list[Effect]:
        return self.classify_shell(text, command.cwd, command.host)

    # A whole script.

    def _classify_script(self, text: str, cwd: Word | None, where: str) -> list[Effect]:
        facts = self._resolver.facts
        self._mentions_verdikt = self._mentions_verdikt or PRODUCT_NAME in text
        start = self._resolver.to_absolute(cwd.text) if cwd is not None and cwd.is_known else facts.cwd
        copies = facts.recall(COPIED_PROGRAMS_KEY)
        aliases = list_program_aliases(copies, start) if copies else None
        script = analyse(text, home=facts.home, cwd=start, read=self._load_text, aliases=aliases)
        _, commands, codes, problems = script
        if where or cwd is not None:
            commands = _place_commands(commands, cwd, where)
        # Effects that belong to no command of the shell text.
        loose_effects: list[Effect] = []
        # The first letters rule out nearly every text before the pattern is tried.
        may_be_powershell = text[:1] not in _UNIX_FIRST_CHARACTERS or text[:2] in _POWERSHELL_BEGINNINGS
        if self._depth == 1 and may_be_powershell and is_powershell(text):
            loose_effects = self._classify_powershell(text)
        is_single = len(commands) == 1 and not (codes or problems or commands[0].conditional)
        if is_single and not loose_effects and self.steps is None:
            return self._classify_single(commands)
        effects_by_command = self._classify_commands(script, commands, loose_effects)
        if loose_effects:
            loose_effects += derive_zone_effects(loose_effects, facts)
        if (files := self._written_files) is not None and files.texts and self._depth == 1:
            judge = partial(_classify_written_shell, self._resolver)
            add_armed_effects(effects_by_command, files.texts, self._resolver, judge)
        if self.steps is not None:
            pairs = zip(commands, effects_by_command, strict=True)
            self.steps += [Step(self._depth + c.depth, c, tuple(effects)) for c, effects in pairs]
        if len(effects_by_command) == 1 and not loose_effects and not problems:
            return effects_by_command[0]
        own_effects = [effect for effects in effects_by_command for effect in effects]
        return [*own_effects, *loose_effects, *map(make_unparsed_effect, problems)]

    def _classify_single(self, commands: Sequence[Command]) -> list[Effect]:
        """Return the effects of a text that is one command."""
        call = Invocation(commands[0], self._resolver, commands, self._classify_inner)
        name = call.name
        effects = self._classify_command(0, call)
        if _may_run_text(name, effects):
            effects += self._classify_texts(commands[0], commands, effects)
        if self._may_relate(commands, (name,), effects):
            self._relations.complete_single(name, commands, effects)
        return effects

    def _may_relate(self, commands: Sequence[Command], names: Sequence[str], effects: Iterable[Effect]) -> bool:
        # What a text inside this one did may matter to any effect.
        return self._known_relations is not None or not are_settled(commands, names, effects, self._resolver.facts)

    def _classify_commands(
        self, script: Script, commands: tuple[Command, ...], loose_effects: list[Effect]
    ) -> list[list[Effect]]:
        """Return the effects of each command; what belongs to none is added to `loose_effects`."""
        text, _, codes, _ = script
        names: list[str] = []
        effects_by_command: list[list[Effect]] = []
        for index, command in enumerate(commands):
            call = Invocation(command, self._resolver, commands, self._classify_inner)
            names.append(call.name)
            effects_by_command.append(self._classify_command(index, call))
        readers = {code.command for code in codes} if codes else ()
        for index, command in enumerate(commands):
            if _may_run_text(names[index], effects_by_command[index]) and index not in readers:
                effects_by_command[index] += self._classify_texts(command, commands, effects_by_command[index])
        if codes:
            self._add_code_effects(script, commands, effects_by_command, loose_effects)
        if "PATH=" in text:
            calls = [Invocation(command, self._resolver, commands, self._classify_inner) for command in commands]
            add_stand_ins(calls, effects_by_command, self._classify_startup_text)
        if self._may_relate(commands, names, chain.from_iterable(effects_by_command)):
            self._relations.complete_all(text, names, commands, effects_by_command)
        return effects_by_command

    def _add_code_effects(
        self,
        script: Script,
        commands: Sequence[Command],
        effects_by_command: list[list[Effect]],
        loose_effects: list[Effect],
    ) -> None:
        """Add the effects of embedded code to the command that runs it, or to `loose_effects` where none does."""
        is_deepest = self._depth >= MAX_DEPTH
        for code in script.codes:
            has_owner = code.command is not None and code.command < len(commands)
            owner = commands[code.command or 0] if has_owner else Command(argv=(Word(code.language),))
            owner_effects = effects_by_command[code.command or 0] if has_owner else loose_effects
            call = Invocation(owner, self._resolver, commands, self._classify_inner)
            effects = classify_embedded_code(code, call, self._files, self._classify_code, is_deepest=is_deepest)
            # Asked after the code was classified: a text that it runs may be the first to name verdikt.
            if self._mentions_verdikt and not is_deepest and mentions_daemon_socket(code.text):
                effects.append(call.make_effect("guard.tamper", (Target("the warm process", "other"),)))
            drop_read_encoding(code, effects, owner_effects)
            owner_effects += effects

    def _classify_texts(self, command: Command, commands: Sequence[Command], effects: list[Effect]) -> list[Effect]:
        """Return what the program text does that a command is given and that nothing else has read."""
        if self._depth >= MAX_DEPTH or not may_hold_program_text(command):
            return []
        return classify_program_texts(Invocation(command, self._resolver, commands, self._classify_inner), effects)

    def _classify_powershell(self, text: str) -> list[Effect]:
        """Classify text that begins like PowerShell by what it would do there."""
        call = Invocation(Command(argv=(Word(text[:80]),)), self._resolver, (), self._classify_inner)
        return list(classify_code("powershell", text, call))

    # One command.

    def _classify_command(self, index: int, call: Invocation) -> list[Effect]:
        command, name = call.command, call.name
        files = self._written_files
        names = files.downloaded_names if files is not None else ()
        modifier_effects = classify_named_download(call, names) if names else []
        if (
            command.via
            or command.redirects
            or command.assignments
            or command.background
            or command.repeated
            or not name
        ):
            modifier_effects += classify_modifiers(call, index, self._classify_startup_text)
            if not name:
                return modifier_effects
        if name in _INTERPRETERS:
            modifier_effects += classify_substitution(call, index)
        if name in CODE_FILE_OPTIONS:
            modifier_effects += classify_code_file(call, index, files.downloaded if files is not None else ())
        if name in TEXT_READERS and len(call.commands) > 1 and may_read_output(command):
            modifier_effects += classify_fetched_text(call, index)
        effects = self._classify_program(call)
        if self._programs is not None:
            effects = [*effects, *self._programs.classify(call)]
        if name in SPECIAL_PROGRAMS or "@" in name or (command.pipe_from is not None and command.redirects):
            effects = [*effects, *classify_special_program(call, self._files, self._make_run_files)]
        text = call.full_text
        if name in OUTPUT_PROGRAMS or ((" -o" in text or " --out" in text) and _has_output_option(command.argv)):
            effects = [*effects, *find_guarded_outputs(call, effects)]
        if len(command.argv) > 1:
            for effect in effects:
                if effect.what in HANDLING_EFFECTS:
                    effects = [*effects, *find_handled_guards(call, effects)]
                    break
        if self._mentions_verdikt:
            effects = [*effects, *find_self_access(call, effects)]
        return modifier_effects + effects if modifier_effects else effects

    def _classify_startup_text(self, call: Invocation, path: str) -> list[Effect]:
        """Classify a file that a program runs before anything else because a variable names it: `BASH_ENV=x.sh`."""
        text = self._files.load_text(path)
        if not text:
            return []
        language = detect_language("", path, SHELLS)
        return self._classify_code(language, text, call) if language else self._classify_inner(text, call.command)

    def _classify_program(self, call: Invocation) -> list[Effect]:
        command = call.command
        effects: list[Effect] = []
        program = find_program(call.name)
        if program is not None:
            effects = evaluate_program(program, call) or _classify_idle_program(call)
            if "/" in command.argv[0].text and not any(effect.what.startswith(_RUN_PREFIXES) for effect in effects):
                effects = [*effects, *_classify_namesake(call)]
        elif command.argv[0].glob:
            for name in match_programs(call.name):
                effects += evaluate_program(find_program(name) or Program(), call)
        # `npx @scope/tool` runs a package, and no file of this name.
        elif "/" in command.argv[0].text and command.argv[0].text[0] != "@":
            effects += call.make_effects("code.run", [command.argv[0]])
            if find_program(command.argv[0].text.partition(" ")[0]) is not None:
                # A whole command line in one word, as some runners take it: `yarn exec 'rm -rf x'`.
                effects += self._classify_inner(command.argv[0].text, command)
            effects += classify_hidden_program(call, self._files.texts)
            if call.resolve_path(command.argv[0]).zone is Zone.SYSTEM:
                # `/usr/bin/tool` is `tool`: no script of the project, whose text would say what it does.
                effects += classify_unknown_program(call)
        else:
            effects = classify_unknown_program(call)
        effects = self._classify_words(call, effects)
        files = self._written_files
        for effect in effects:
            if effect.what == "code.run" or (files is not None and files.downloaded and effect.what in LOADING_EFFECTS):
                return effects + self._classify_run(call, effects)
        return effects

    def _classify_words(self, call: Invocation, effects: list[Effect]) -> list[Effect]:
        """Return the effects of a program with what its words, variables and input say besides its record."""
        command = call.command
        text = call.full_text
        if "aintenance" in text and any(effect.what in _CODE_EFFECTS for effect in effects):
            effects = effects + classify_offline_order(call)
        if command.redirects and call.name in _INTERPRETERS:
            effects = effects + classify_input_program(call)
        if effects and (
            "prod" in text
            or "live" in text
            or "env-file" in text
            or command.assignments
            or effects[-1].what == "db.schema"
        ):
            effects = effects + classify_live_change(call, effects)
        if "=" in text and _names_runner(text):
            lines = list_set_programs(command.argv[1:])
            effects = effects + [effect for line in lines for effect in self._classify_inner(line, command)]
        if call.name in _PLUGIN_LOADERS and effects:
            effects = effects + self._classify_plugins(call, effects[0])
        return effects

    def _classify_plugins(self, call: Invocation, effect: Effect) -> list[Effect]:
        """Classify the modules of the project that a test runner is told to load: `pytest -p helpers.wipe`."""
        words = call.command.argv
        names = [value.text for option, value in pairwise(words) if option.text == "-p" and value.is_known]
        return [found for name in names for found in self._make_run_files().classify_module(call, name, effect)]

    def _classify_run(self, call: Invocation, effects: list[Effect]) -> list[Effect]:
        """Classify the files that a command runs; those that a variable names run before what follows."""
        if call.name not in VARIABLE_EXPORTERS:
            return self._make_run_files().classify_run(call, effects)
        paths = [target.path for effect in effects if effect.what == "code.run" for target in effect.targets]
        return [effect for path in paths if path for effect in self._classify_startup_text(call, path)]

    def _make_run_files(self) -> RunFiles:
        is_deepest = self._depth >= MAX_DEPTH
        return RunFiles(self._resolver, self._files, self._classify_code, is_deepest=is_deepest)

    def _classify_code(self, language: str, text: str, call: Invocation, path: str = "") -> list[Effect]:
        self._depth += 1
        try:
            text = fill_arguments(fill_environment(fill_session_values(text, path, self._resolver), call), call, path)
            effects = list(classify_code(language, text, call, path))
        finally:
            self._depth -= 1
        return effects + derive_hidden_reads(effects, self._resolver.project_root)


def _classify_namesake(call: Invocation) -> Sequence[Effect]:
    """Return `code.run` for a file of the session or the project that is called like a program: `./date`."""
    word = call.command.argv[0]
    if _INSTALLED_PLACE.search(word.text) or call.resolve_path(word).zone not in (Zone.PROJECT, Zone.TEMP):
        return ()
    return call.make_effects("code.run", [word])


# Loops and no generators: nearly every command comes through these, and a generator costs more than its tests.
# ruff: noqa: SIM110


def _may_run_text(name: str, effects: Sequence[Effect]) -> bool:
    """Return whether a program with these effects may run text which it is given."""
    for effect in effects:
        if effect.what in RUNNING_EFFECTS:
            return True
    return name in TEXT_RUNNERS


def _has_output_option(argv: Sequence[Word]) -> bool:
    for word in argv:
        if word.text.startswith(_OUTPUT_OPTIONS):
            return True
    return False


def _names_runner(text: str) -> bool:
    """Return whether a command line sets the program that another one runs."""
    for mark in _RUNNER_SETTINGS:
        if mark in text:
            return True
    return False


def _is_rehearsal(command: Command) -> bool:
    """Return whether a word orders a rehearsal, which still loads the project: `pip install --dry-run -e .`."""
    words = [word.text for word in command.argv[1:] if word.text[:1] in ("-", "r")]
    return any(map(_REHEARSAL_WORD.fullmatch, words)) if words else False


def _classify_idle_program(call: Invocation) -> list[Effect]:
    """Return the effect of a program that does nothing by its record: the project's own `./wipe`, a rehearsal."""
    program = call.command.argv[0]
    # A file of the project, or of a home, that has the name of a program of the machine.
    if program.text[:1] in (".", "~") and (effects := call.make_effects("code.run", [program])):
        return effects
    if call.name in PROJECT_LOADERS and _is_rehearsal(call.command):
        return [call.make_effect("code.build", note="loads the project to show what it would do")]
    return []


def _classify_written_shell(resolver: TargetResolver, text: str, command: Command) -> list[Effect]:
    return ScriptClassifier(resolver).classify_shell(text, command.cwd, command.host)


def _place_commands(commands: tuple[Command, ...], cwd: Word | None, where: str) -> tuple[Command, ...]:
    """Return the commands with the host and the directory of the text around them filled in."""
    return tuple(
        c._replace(host=c.host or where, cwd=c.cwd if c.cwd is not None or cwd is None else cwd) for c in commands
    )
