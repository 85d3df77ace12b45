"""Classify assignments to variables that make other programs run something, or skip something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.effects.code import classify_code
from verdikt.effects.code.decoder import decode_percent
from verdikt.effects.local_imports import list_module_files
from verdikt.effects.target import is_build_output
from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import find_role, find_variable_kind, join_role
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_INERT_PAGERS = find_role("concatenator") | {""}
_HOOK_BYPASS_VARIABLES = frozenset(name for host in HOSTS.values() for name in host.bypass_variables)
"""Variables that make an agent ignore its settings, and verdikt's hooks in them."""
_ESCAPING_LANGUAGES = frozenset(("vim", "psql"))
"""Languages of which only the commands for a shell are read."""
_SHELL_ESCAPE = compile_lazily(r"(?m)(?:^|\|)\s*(?:\\!|:?!)\s*(.+)$")
_INSTALLED = compile_lazily(r"/(?:\.?venv|node_modules|\.local|\.cargo|site-packages|usr|opt)(?:/|$)")
_SHELL_SCRIPT = compile_lazily(rf"(?!#!)|#!\s*\S*(?:/|\s)(?:{join_role('shell')})\b")
"""Text that a shell runs: by its first line, or without one."""
_CARGO_PROGRAM = compile_lazily(r"CARGO_TARGET_\w+_(?:RUNNER|LINKER)$")
_JAVA_AGENT = compile_lazily(r"-(?:javaagent|agentpath):([^\s=]+)")
_GO_TOOL = compile_lazily(r"(?:^|\s)-{1,2}(?:toolexec|exec)[= ](\S+)")
_MAKE_EVAL = compile_lazily(r"(?s)--eval[= ](.*)")
_MAKE_SHELL = compile_lazily(r"\$\(shell\s+([^()]*(?:\([^()]*\)[^()]*)*)\)")
_LOADED_FILE = compile_lazily(r"(?:--require|--import|--loader|-r|-M(?:lib=)?|-I)[= ]?(\.{0,2}/\S+)")
_INLINE_JAVASCRIPT = compile_lazily(r"data:text/javascript(?:;charset=[\w-]+)?(;base64)?,(\S+)")
_WORLD_WRITABLE_DIRECTORIES = word_set(". .. /tmp /var/tmp /dev/shm")


def classify_assignment(call: Invocation, name: str, value: Word, *, persistent: bool = False) -> Iterator[Effect]:
    """Yield what an assignment makes other programs run; a `persistent` one (`export`) lasts for all that follow."""
    if name.startswith("VERDIKT_") or name in _HOOK_BYPASS_VARIABLES:
        yield call.make_effect("guard.environment", (Target(name, "other"),))
    elif name == "PATH":
        yield from _classify_program_path(call, value)
    elif _CARGO_PROGRAM.match(name):
        yield from _classify_program(call, name, value)
    else:
        kind, _, language = find_variable_kind(name).partition(":")
        match kind:
            case "history":
                yield from _classify_history(call, value, persistent=persistent)
            case "preload" | "search_path":
                yield from _classify_code_location(call, name, value, kind)
            case "command" if value.text not in _INERT_PAGERS:
                yield from call.classify_shell(value.text)
            case "startup_file" if value.text not in ("", "/dev/null"):
                yield from classify_startup_file(call, name, value)
            case "options":
                yield from _classify_options(call, name, value.text, language)
            case "code" | "code_file":
                is_file = kind == "code_file" or value.text.startswith("@")
                yield from _classify_start_up_code(call, language, value.text, is_file=is_file)
            case "modules":
                yield from _classify_modules(call, name, value.text.split(","))
            case "program" if "/" in value.text:
                yield from _classify_program(call, name, value)


def _classify_history(call: Invocation, value: Word, *, persistent: bool) -> Iterator[Effect]:
    # Before a command it holds for that command only, and a program's history is its own.
    if (persistent or not call.command.argv) and value.text in ("/dev/null", "0", ""):
        target = Target("the shell's history", "other")
        yield call.make_effect("sys.log", (target,), note="nothing more is recorded", possible=True)


def _classify_program(call: Invocation, name: str, value: Word) -> Iterator[Effect]:
    yield from call.classify_shell(value.text)
    for program in value.text.split()[:1]:
        yield from _classify_override(call, name, Word(program))


def _classify_program_path(call: Invocation, value: Word) -> Iterator[Effect]:
    """Yield what running the programs of another directory does, where everyone or the agent may have put them."""
    first = value.text.partition(":")[0]
    if _is_world_writable(first):
        note = "programs would be taken from there before any other place"
        yield call.make_effect("code.unknown", (Target(first or ".", "other"),), note=note)
    if call.name and UNKNOWN not in first and not _INSTALLED.search(first):
        yield from _classify_stand_in(call, Word(f"{first.rstrip('/')}/{call.name}"))


def _classify_code_location(call: Invocation, name: str, value: Word, kind: str) -> Iterator[Effect]:
    """Yield `code.unknown` where programs would load code from a place that is not the project's or the system's."""
    if kind == "search_path":
        if any(map(_is_hidden_temporary, value.text.split(":"))):
            note = f"{name} has code loaded from there"
            yield call.make_effect("code.unknown", (Target(value.display_text, "other"),), note=note)
    elif value.text:
        target = call.resolve_path(value)
        is_built = target.zone is Zone.PROJECT and is_build_output(target.path)
        if target.zone is not Zone.SYSTEM and not is_built:
            yield call.make_effect("code.unknown", (target,), note=f"{name} loads code into every program")


def _classify_modules(call: Invocation, name: str, modules: Sequence[str]) -> Iterator[Effect]:
    """Yield `code.run` for the file of each module that a variable names: `PYTHONBREAKPOINT=debugging.stop`."""
    directory = call.resolver.to_absolute(".", call.command.cwd)
    for module in modules if directory else ():
        # The last part may be a function.
        files = [*list_module_files(directory, module), *list_module_files(directory, module.rpartition(".")[0])]
        path = next((path for path in files if call.facts.text(path) is not None), "")
        if path:
            yield from call.make_effects("code.run", [Word(path)], note=f"{name} names it")


def _classify_stand_in(call: Invocation, file: Word) -> Iterator[Effect]:
    """Yield what a script does that answers to the name of the program: `PATH=$PWD/bin:$PATH git status`."""
    target = call.resolve_path(file)
    text = call.facts.text(target.path) if target.zone is not Zone.SYSTEM and target.path else None
    if text and _SHELL_SCRIPT.match(text):
        yield call.make_effect("code.run", (target,), note="answers to the name of another program")


def _classify_start_up_code(call: Invocation, language: str, value: str, *, is_file: bool) -> Iterator[Effect]:
    """Yield the effects of code in a variable, or in the file that it names: `LUA_INIT=@x.lua`, `PSQLRC=x`."""
    text: str | None = value
    if is_file:
        text = call.facts.text(call.resolver.to_absolute(value.removeprefix("@"), call.command.cwd))
    if not text:
        return
    if language in _ESCAPING_LANGUAGES:
        yield from (effect for line in _SHELL_ESCAPE.findall(text) for effect in call.classify_shell(line))
    else:
        yield from classify_code(language, text, call)


def _classify_options(call: Invocation, name: str, options: str, language: str) -> Iterator[Effect]:
    """Yield the effects of options that a program takes from a variable: files to load, programs to run, code."""
    match language:
        case "make":
            for text in _MAKE_EVAL.findall(options):
                yield from call.classify_shell("\n".join(_MAKE_SHELL.findall(text)))
            return
        case "go":
            for file in _GO_TOOL.findall(options):
                yield from _classify_program(call, name, Word(file))
            return
        case "java":
            for file in _JAVA_AGENT.findall(options):
                yield from _classify_override(call, name, Word(file))
            return
    if match := _LOADED_FILE.search(options):
        yield from classify_startup_file(call, name, Word(match.group(1)))
    if language == "node":
        for kind, text in _INLINE_JAVASCRIPT.findall(options):
            yield from classify_code("node", f"eval(atob('{text}'))" if kind else decode_percent(text), call)
    elif ";" in options or "(" in options:
        yield from classify_code(language, options, call)


def _classify_override(call: Invocation, name: str, file: Word) -> Iterator[Effect]:
    """Yield `code.unknown` for a program that replaces another one and lies where every user can write."""
    target = call.resolve_path(file)
    if target.zone is Zone.TEMP or _is_hidden_temporary(target.path):
        yield call.make_effect("code.unknown", (target,), note=f"{name} has it run in the place of another program")


def _is_hidden_temporary(directory: str) -> bool:
    return directory.startswith(("/tmp/.", "/var/tmp/.", "/dev/shm/")) and UNKNOWN not in directory


def classify_startup_file(call: Invocation, name: str, file: Word) -> Iterator[Effect]:
    """Yield the effects of a file that a program runs before anything else because a variable names it."""
    for effect in call.make_effects("code.run", [file]):
        yield effect
        target = effect.targets[0]
        if target.zone not in (Zone.PROJECT, Zone.SYSTEM) and target.path and call.facts.text(target.path) is None:
            yield call.make_effect("code.unknown", (target,), note=f"{name} has it run before anything else")


def _is_world_writable(directory: str) -> bool:
    """Return whether every user may put programs there: `.`, a temporary directory, or one hidden below it."""
    if directory.rstrip("/") in _WORLD_WRITABLE_DIRECTORIES:
        return UNKNOWN not in directory
    inside = directory.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) and UNKNOWN not in directory
    return inside and ("/." in directory or (directory.rstrip("/").count("/") < 3 and not directory.endswith("bin")))
