"""Agents that an agent starts: allowed where the wiring covers the child too.

Whether it does is read from the settings that the child would load: those of the directory it starts in, of the person,
and of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.arguments import NO_OPTIONS, Arguments, word_set
from verdikt.hosts.host import PROJECT_SCOPES, Host, SettingsLookup
from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import find_role, find_role_words
from verdikt.model.effect import Target
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_UNGOVERNED = find_role("ungoverned_agent")
_START_VERBS = find_role_words("agent_verb")
"""Programs that are an agent with one of these verbs only: another `goose` migrates databases."""
_HOST_BY_PROGRAM = {
    # `npx` and `uvx` run the packages.
    **{name: host for host in HOSTS.values() if host.program for name in (host.program, *host.agent_packages)},
    **{name: HOSTS[name] for name in _START_VERBS if name in HOSTS},
}
_OTHER_VERBS = word_set(
    "mcp config doctor update upgrade install plugin plugins setup-token auth login logout completion features models "
    "extensions skills hooks stats export import help version sandbox debug whoami status list"
)
"""Verbs with which these programs start no agent."""
_LOOK_OPTIONS = "--version -v -V --help -h --list-sessions --list-extensions"
_DIRECTORY_OPTIONS = "-C --cd --cwd --dir --workspace"
_VALUE_FLAGS = NO_OPTIONS.with_values(
    "-p --print --prompt --model -m --permission-mode --allowedTools --disallowedTools -s --sandbox -a -c --config "
    f"--ask-for-approval --approval-mode --settings --mcp-config --message {_DIRECTORY_OPTIONS}"
)
_SETTINGS_OPTIONS = "--settings"
_SANDBOX_OPTIONS = {name: " ".join(options) for name, options in find_role_words("sandboxed_agent").items()}
_OVERRIDES = "-c --config --enable --add-dir --profile -p"
"""Options that may lift a sandbox again."""


def find_child_agent(call: Invocation, command: Command) -> Iterator[Effect]:
    """Yield the effect of starting an agent that no policy watches; nothing where the wiring covers it."""
    name = call.name.partition("@")[0]
    host = _HOST_BY_PROGRAM.get(name)
    if host is None and name not in _UNGOVERNED:
        return
    args = Arguments(command.argv[1:], _VALUE_FLAGS)
    verb = args.operands[0].text if args.operands else ""
    # An option that is not known may take the word after it, and then the verb comes later.
    verbs = {word.text for word in args.operands[: 1 + len(args.flags)]} or {""}
    if args.has_flag(_LOOK_OPTIONS) or verb in _OTHER_VERBS or verbs.isdisjoint(_START_VERBS.get(name, verbs)):
        return
    if host is None:
        note = f"verdikt cannot watch `{name}`: do the work yourself"
    elif problem := _find_gap(call, command, host, args):
        note = problem
    else:
        return
    what = "guard.reader" if _is_read_only(name, args) else "guard.child"
    yield call.make_effect(what, (Target(name, "other"),), note=note)


def _is_read_only(name: str, args: Arguments) -> bool:
    """Return whether an agent is started in a sandbox of its own that lets it read only, without the network."""
    levels = [word.text for word in args.get_values(_SANDBOX_OPTIONS.get(name, ""))]
    return bool(levels) and set(levels) == {"read-only"} and not args.has_flag(_OVERRIDES)


def _find_gap(call: Invocation, command: Command, host: Host, args: Arguments) -> str:
    """Return what keeps the wiring from covering a child, as what to do about it; empty when it is covered."""
    for word in args.get_values(_SETTINGS_OPTIONS):
        path = call.resolver.to_absolute(word.text, command.cwd) if word.is_known else ""
        if path and "disableAllHooks" in (call.facts.text(path) or ""):
            return f"start it without `--settings {word.text}`, which switches its hooks off"
    option = args.get_value(_DIRECTORY_OPTIONS)
    directory = call.resolver.to_absolute(option.text if option is not None else ".", command.cwd)
    if option is not None and not option.is_known:
        directory = ""
    if _is_wired(call, host, "managed", "/") or _is_wired(call, host, "user", "/"):
        return ""
    top = call.facts.project_root
    if directory and _is_project_wired(call, host, directory):
        return ""
    if _is_project_wired(call, host, top):
        inside = directory == top or directory.startswith(f"{top}/")
        if inside and host.settings_lookup is SettingsLookup.REPOSITORY:
            return ""
        return f"start it in `{top}`, whose settings it then reads"
    return f"ask the person to run `verdikt init --host {host.name}` where it is to run"


def _is_project_wired(call: Invocation, host: Host, project: str) -> bool:
    return any(_is_wired(call, host, scope, project) for scope in PROJECT_SCOPES)


def _is_wired(call: Invocation, host: Host, scope: str, project: str) -> bool:
    """Return whether the settings of a scope name the hook."""
    file = host.settings_files.get(scope)
    if not file:
        return False
    path = host.resolve_file(file, project=project, home=call.facts.home, env={})
    text = call.facts.text(call.resolver.to_absolute(path)) or ""
    return "verdikt" in text and "disableAllHooks" not in text


def find_module_agent(call: Invocation, command: Command, module: Word) -> Iterator[Effect]:
    """Yield the same for an agent that runs as a Python module: `python -m aider`."""
    if module.text in _UNGOVERNED:
        note = f"verdikt cannot watch `{module.text}`: do the work yourself"
        yield call.make_effect("guard.child", (Target(module.text, "other"),), note=note)


AGENT_PROGRAMS = frozenset(_HOST_BY_PROGRAM) | _UNGOVERNED
