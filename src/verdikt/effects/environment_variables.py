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
from verdikt.knowledge import find_role
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_COMMAND_VARIABLES = word_set(
    "PAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF "
    "GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE MANPAGER BROWSER PROMPT_COMMAND "
    "FZF_DEFAULT_COMMAND SUDO_ASKPASS SYSTEMD_PAGER HGEDITOR SVN_EDITOR PSQL_EDITOR PSQL_PAGER KUBE_EDITOR AWS_PAGER"
)
"""Variables whose value other programs run as a command."""
_INERT_PAGERS = find_role("concatenator") | {""}
_HOOK_BYPASS_VARIABLES = frozenset(name for host in HOSTS.values() for name in host.bypass_variables)
"""Variables that make an agent ignore its settings, and verdikt's hooks in them."""
_STARTUP_FILE_VARIABLES = word_set("BASH_ENV ENV PYTHONSTARTUP")
_CODE_VARIABLES = {
    **dict.fromkeys(("LUA_INIT", "LUA_INIT_5_2", "LUA_INIT_5_3", "LUA_INIT_5_4"), "lua"),
    **dict.fromkeys(("R_PROFILE", "R_PROFILE_USER"), "r"),
    **dict.fromkeys(("VIMINIT", "EXINIT", "GVIMINIT"), "vim"),
    "PSQLRC": "psql",
}
"""Variables that hold, or name a file of, what a program runs first, and its language."""
_SHELL_ESCAPE = compile_lazily(r"(?m)(?:^|\|)\s*(?:\\!|:?!)\s*(.+)$")
_HISTORY_VARIABLES = word_set("HISTFILE HISTSIZE HISTFILESIZE")
_OPTION_VARIABLES = word_set(
    "NODE_OPTIONS PERL5OPT RUBYOPT MAKEFLAGS GNUMAKEFLAGS GOFLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS"
)
_PROGRAM_OVERRIDE_VARIABLES = word_set(
    "RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTC CC CXX LD SHELL "
    "npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL npm_config_shell npm_config_git CMAKE_C_COMPILER_LAUNCHER "
    "CMAKE_CXX_COMPILER_LAUNCHER CARGO_TARGET_RUNNER"
)
"""Variables that name a program to run instead of another one."""
_MODULE_VARIABLES = word_set("PYTHONBREAKPOINT PYTEST_PLUGINS")
"""Variables that name modules which Python loads, or a function in one."""
_INSTALLED = compile_lazily(r"/(?:\.?venv|node_modules|\.local|\.cargo|site-packages|usr|opt)(?:/|$)")
_SHELL_SCRIPT = compile_lazily(r"(?!#!)|#!\s*\S*(?:/|\s)(?:ba|z|da|k)?sh\b")
"""Text that a shell runs: by its first line, or without one."""
_SEARCH_PATH_VARIABLES = word_set(
    "PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB GEM_PATH CLASSPATH LUA_PATH GIT_EXEC_PATH PYTHONHOME GCONV_PATH"
)
"""Variables that name directories from which programs load code."""
_CARGO_PROGRAM = compile_lazily(r"CARGO_TARGET_\w+_(?:RUNNER|LINKER)$")
_JAVA_AGENT = compile_lazily(r"-(?:javaagent|agentpath):([^\s=]+)")
_GO_TOOL = compile_lazily(r"(?:^|\s)-{1,2}(?:toolexec|exec)[= ](\S+)")
_MAKE_EVAL = compile_lazily(r"(?s)--eval[= ](.*)")
_MAKE_SHELL = compile_lazily(r"\$\(shell\s+([^()]*(?:\([^()]*\)[^()]*)*)\)")
_LOADED_FILE = compile_lazily(r"(?:--require|--import|--loader|-r|-M(?:lib=)?|-I)[= ]?(\.{0,2}/\S+)")
_INLINE_JAVASCRIPT = compile_lazily(r"data:text/javascript(?:;charset=[\w-]+)?(;base64)?,(\S+)")
_WORLD_WRITABLE_DIRECTORIES = word_set(". .. /tmp /var/tmp /dev/shm")
_PRELOAD_VARIABLES = word_set("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES")


def classify_assignment(call: Invocation, name: str, value: Word, *, persistent: bool = False) -> Iterator[Effect]:
    """Yield what an assignment makes other programs run; a `persistent` one (`export`) lasts for all that follow."""
    if name.startswith("VERDIKT_") or name in _HOOK_BYPASS_VARIABLES:
        yield call.make_effect("guard.environment", (Target(name, "other"),))
    elif name in _HISTORY_VARIABLES:
        # Before a command it holds for that command only, and a program's history is its own.
        if (persistent or not call.command.argv) and value.text in ("/dev/null", "0", ""):
            target = Target("the shell's history", "other")
            yield call.make_effect("sys.log", (target,), note="nothing more is recorded", possible=True)
    elif name == "PATH" or name in _SEARCH_PATH_VARIABLES or name in _PRELOAD_VARIABLES:
        yield from _classify_code_location(call, name, value)
    elif name in _COMMAND_VARIABLES and value.text not in _INERT_PAGERS:
        yield from call.classify_shell(value.text)
    elif name in _STARTUP_FILE_VARIABLES and value.text not in ("", "/dev/null"):
        yield from classify_startup_file(call, name, value)
    elif name in _OPTION_VARIABLES:
        yield from _classify_options(call, name, value.text)
    elif name == "PERL5DB":
        yield from classify_code("perl", value.text, call)
    elif name in _CODE_VARIABLES:
        yield from _classify_start_up_code(call, _CODE_VARIABLES[name], value)
    elif name in _MODULE_VARIABLES:
        yield from _classify_modules(call, name, value.text.split(","))
    elif (name in _PROGRAM_OVERRIDE_VARIABLES and "/" in value.text) or _CARGO_PROGRAM.match(name):
        yield from call.classify_shell(value.text)
        yield from _classify_override(call, name, Word(value.text.split()[0]))


def _classify_code_location(call: Invocation, name: str, value: Word) -> Iterator[Effect]:
    """Yield `code.unknown` where programs would load code from a place that is not the project's or the system's."""
    if name in _PRELOAD_VARIABLES and value.text:
        target = call.resolve_path(value)
        built = target.zone is Zone.PROJECT and is_build_output(target.path)
        if target.zone is not Zone.SYSTEM and not built:
            yield call.make_effect("code.unknown", (target,), note=f"{name} loads code into every program")
    elif name == "PATH":
        first = value.text.partition(":")[0]
        if _is_world_writable(first):
            note = "programs would be taken from there before any other place"
            yield call.make_effect("code.unknown", (Target(first or ".", "other"),), note=note)
        if call.name and UNKNOWN not in first and not _INSTALLED.search(first):
            yield from _classify_stand_in(call, Word(f"{first.rstrip('/')}/{call.name}"))
    elif name in _SEARCH_PATH_VARIABLES and any(map(_is_hidden_temporary, value.text.split(":"))):
        note = f"{name} has code loaded from there"
        yield call.make_effect("code.unknown", (Target(value.display_text, "other"),), note=note)


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


def _classify_start_up_code(call: Invocation, language: str, value: Word) -> Iterator[Effect]:
    """Yield the effects of code in a variable, or in the file that it names: `LUA_INIT=@x.lua`, `PSQLRC=x`."""
    is_file = value.text.startswith("@") or language in ("r", "psql")
    text: str | None = value.text
    if is_file:
        text = call.facts.text(call.resolver.to_absolute(value.text.removeprefix("@"), call.command.cwd))
    if not text:
        return
    if language in ("vim", "psql"):
        yield from (effect for line in _SHELL_ESCAPE.findall(text) for effect in call.classify_shell(line))
    else:
        yield from classify_code(language, text, call)


def _classify_options(call: Invocation, name: str, options: str) -> Iterator[Effect]:
    """Yield the effects of options that a program takes from a variable: files to load, programs to run, code."""
    if name.endswith("MAKEFLAGS"):
        for text in _MAKE_EVAL.findall(options):
            yield from call.classify_shell("\n".join(_MAKE_SHELL.findall(text)))
        return
    if name == "GOFLAGS" or name.startswith(("JAVA", "_JAVA", "JDK")):
        for file in (_GO_TOOL if name == "GOFLAGS" else _JAVA_AGENT).findall(options):
            if name == "GOFLAGS":
                yield from call.classify_shell(file)
            yield from _classify_override(call, name, Word(file))
        return
    if match := _LOADED_FILE.search(options):
        yield from classify_startup_file(call, name, Word(match.group(1)))
    if name == "NODE_OPTIONS":
        for kind, text in _INLINE_JAVASCRIPT.findall(options):
            yield from classify_code("node", f"eval(atob('{text}'))" if kind else decode_percent(text), call)
    elif ";" in options or "(" in options:
        yield from classify_code("perl" if name == "PERL5OPT" else "ruby", options, call)


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
