"""Variables that make other programs run something, or leave something aside."""

from __future__ import annotations

from verdikt.effects import zone as places
from verdikt.effects.argument import words
from verdikt.effects.code import read_code
from verdikt.model.effect import Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdikt.effects.call import Call
    from verdikt.model.effect import Effect

_COMMANDS = words(
    "PAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE "
    "MANPAGER BROWSER PROMPT_COMMAND FZF_DEFAULT_COMMAND SUDO_ASKPASS SYSTEMD_PAGER HGEDITOR SVN_EDITOR PSQL_EDITOR PSQL_PAGER KUBE_EDITOR AWS_PAGER"
)
"""Variables whose value other programs run as a command."""
_AROUND = words(
    "CLAUDE_CODE_SIMPLE CLAUDE_CONFIG_DIR CLAUDE_CODE_MANAGED_SETTINGS_PATH CLAUDE_CODE_PERSONAL_HOOKS_OFF CLAUDE_CODE_RESTRICT_PERSONAL_CONFIG "
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP CODEX_HOME GEMINI_CLI_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH GEMINI_CLI_SYSTEM_DEFAULTS_PATH "
    "GEMINI_CLI_TRUSTED_FOLDERS_PATH COPILOT_HOME COPILOT_ALLOW_ALL OPENCODE_CONFIG OPENCODE_CONFIG_DIR OPENCODE_CONFIG_CONTENT "
    "OPENCODE_DISABLE_PROJECT_CONFIG OPENCODE_PURE OPENCODE_PERMISSION OPENCODE_TEST_HOME OPENCODE_TEST_MANAGED_CONFIG_DIR"
)
"""Variables that tell an agent to leave its settings, and our hooks in them, aside."""
_FILES = words("BASH_ENV ENV PYTHONSTARTUP")
_HISTORY = words("HISTFILE HISTSIZE HISTFILESIZE")
_OPTIONS = words(
    "NODE_OPTIONS PERL5OPT RUBYOPT MAKEFLAGS GNUMAKEFLAGS GOFLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS"
)
_INSTEAD = words(
    "RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTC CC CXX LD SHELL npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL "
    "npm_config_shell npm_config_git CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER PYTHONBREAKPOINT CARGO_TARGET_RUNNER"
)
"""Variables that name a program to run in the place of another one."""
_SEARCHED = words(
    "PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB GEM_PATH CLASSPATH LUA_PATH GIT_EXEC_PATH PYTHONHOME GCONV_PATH"
)
"""Variables that name directories from which programs load code."""
_AGENT = regex(r"-(?:javaagent|agentpath):([^\s=]+)")
_TOOL = regex(r"(?:^|\s)-{1,2}(?:toolexec|exec)[= ](\S+)")
_EVALUATED = regex(r"(?s)--eval[= ](.*)")
_MADE = regex(r"\$\(shell\s+([^()]*(?:\([^()]*\)[^()]*)*)\)")
_LOADED = regex(r"(?:--require|--import|--loader|-r|-M|-I)[= ]?(\.{0,2}/\S+)")
_INLINE = regex(r"data:text/javascript(?:;charset=[\w-]+)?(;base64)?,(\S+)")
_LIBRARIES = words("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES")


def assigned(call: Call, name: str, value: Word, *, lasting: bool = False) -> Iterator[Effect]:
    """What giving a variable a value makes other programs run; `lasting` for all that follow."""
    if name.startswith("VERDIKT_") or name in _AROUND:
        yield call.effect("guard.environment", (Target(name, "other"),))
    elif name in _COMMANDS and value.text not in ("", "cat"):
        yield from call.shell(value.text)
    elif name in _FILES and value.text not in ("", "/dev/null"):
        yield from loaded(call, name, value)
    elif name in _LIBRARIES and value.text:
        target = call.path(value)
        built = target.zone is Zone.PROJECT and places.is_build(target.path)
        if target.zone is not Zone.SYSTEM and not built:
            yield call.effect("code.unknown", (target,), note=f"{name} loads code into every program")
    elif name in _HISTORY:
        if (lasting or not call.command.argv) and value.text in ("/dev/null", "0", ""):
            target = Target("the shell's history", "other")
            yield call.effect("sys.log", (target,), note="nothing more is recorded", possible=True)
    elif name == "PATH" and _anybodys(value.text.partition(":")[0]):
        target = Target(value.text.partition(":")[0] or ".", "other")
        yield call.effect("code.unknown", (target,), note="programs would be taken from there before any other place")
    elif name in _OPTIONS:
        yield from _told(call, name, value.text)
    elif name == "PERL5DB":
        yield from read_code("perl", value.text, call)
    elif name in _INSTEAD and "/" in value.text:
        yield from call.shell(value.text)
        yield from _strange(call, name, Word(value.text.split()[0]))
    elif name in _SEARCHED and any(_is_hidden(place) for place in value.text.split(":")):
        yield call.effect("code.unknown", (Target(value.shown, "other"),), note=f"{name} has code loaded from there")


def _told(call: Call, name: str, options: str) -> Iterator[Effect]:
    """Options that a program takes from a variable: files to load, programs to run, or program text."""
    if name.endswith("MAKEFLAGS"):
        for text in _EVALUATED.findall(options):
            yield from call.shell("\n".join(_MADE.findall(text)))
        return
    if name == "GOFLAGS" or name.startswith(("JAVA", "_JAVA", "JDK")):
        for file in (_TOOL if name == "GOFLAGS" else _AGENT).findall(options):
            yield from _strange(call, name, Word(file))
        return
    if found := _LOADED.search(options):
        yield from loaded(call, name, Word(found.group(1)))
    if name == "NODE_OPTIONS":
        for kind, text in _INLINE.findall(options):
            from verdikt.effects.code.decoder import unquoted

            yield from read_code("node", f"eval(atob('{text}'))" if kind else unquoted(text), call)
    elif ";" in options or "(" in options:
        yield from read_code("perl" if name == "PERL5OPT" else "ruby", options, call)


def _strange(call: Call, name: str, file: Word) -> Iterator[Effect]:
    """A program that takes another one's place, from where anybody may have put it."""
    target = call.path(file)
    if target.zone is Zone.TEMP or _is_hidden(target.path):
        yield call.effect("code.unknown", (target,), note=f"{name} has it run in the place of another program")


def _is_hidden(directory: str) -> bool:
    return directory.startswith(("/tmp/.", "/var/tmp/.", "/dev/shm/")) and UNKNOWN not in directory


def loaded(call: Call, name: str, file: Word) -> Iterator[Effect]:
    """A file that runs before anything else, because a variable says so."""
    for effect in call.on("code.run", [file]):
        yield effect
        target = effect.targets[0]
        if target.zone not in (Zone.PROJECT, Zone.SYSTEM) and target.path and call.facts.text(target.path) is None:
            yield call.effect("code.unknown", (target,), note=f"{name} has it run before anything else")


def _anybodys(directory: str) -> bool:
    """Whether anybody may put programs there: the place for temporary files, hidden below it, or wherever one happens to be."""
    if directory.rstrip("/") in _OPEN_PLACES:
        return UNKNOWN not in directory
    inside = directory.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) and UNKNOWN not in directory
    return inside and ("/." in directory or (directory.rstrip("/").count("/") < 3 and not directory.endswith("bin")))


_OPEN_PLACES = words(". .. /tmp /var/tmp /dev/shm")
