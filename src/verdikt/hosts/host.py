"""The description of one host. Guarded files, zones, wiring, canaries and documentation are derived from it.

This module, `hook_event.py`, `registry.py` and the `__init__.py` of every host are plain data: they import nothing
else of verdikt, so that every other package may import them.
"""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from verdikt.hosts.hook_event import HookEventKind

SCOPES = ("project", "local", "user", "managed")
"""Where hooks can be wired: in a project's committed settings, in those of a project that stay on this machine, in a
person's own settings, in the settings of the machine."""

PROJECT_SCOPES = ("project", "local")
"""The scopes that govern one project."""


class FieldNames(NamedTuple):
    """The names of a host's payload fields. The defaults are Claude Code's, which most hosts adopted."""

    event: str = "hook_event_name"
    session: str = "session_id"
    tool: str = "tool_name"
    input: str = "tool_input"
    call: str = "tool_use_id"
    result: str = "tool_response"
    prompt: str = "prompt"
    message: str = "last_assistant_message"
    transcript: str = "transcript_path"
    cwd: str = "cwd"


_CLAUDE_FIELD_NAMES = FieldNames()


# Descriptions are constants: they are never compared or printed, and a cold hook creates these classes at each call.


class ToolNames(NamedTuple):
    """The host's own tools by what they do; each field is a list of names separated by blanks."""

    read: str = ""
    write: str = ""
    shell: str = ""
    code: str = ""
    fetch: str = ""
    agent: str = ""
    task: str = ""

    def items(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the name of each field with its tools."""
        for name, tools in zip(self._fields, self, strict=True):
            yield name, tuple(tools.split())


class KnownGap(NamedTuple):
    """Something that a host lets happen past the hook, and how to close it. `open` means: not protected here."""

    what: str
    fix: str
    open: bool = False


class ExitStatus(enum.StrEnum):
    """How reliably a host reports the exit status of a command. Evidence depends on it."""

    ALWAYS = "always"  # a missing status means that the command still runs, or that the client interpreted it
    SOMETIMES = "sometimes"
    NEVER = "never"  # only what the command printed can prove anything


class SettingsLookup(enum.StrEnum):
    """Where a host looks for the settings of a project."""

    START_DIRECTORY = "start directory"  # only where the session starts
    REPOSITORY = "repository"  # in the whole repository, or only where the session starts if there is none
    UNKNOWN = "unknown"


class Host(NamedTuple):
    """Everything that is known of one host and is not code.

    Files are written relative to the project, with `~/` for the home directory, or absolute; a trailing `/` marks a
    directory and everything below it.
    """

    name: str
    """The word on the command line and in the log: `claude`."""
    title: str
    """The name for people: `Claude Code`."""

    # What it sends.
    events: Mapping[str, HookEventKind]
    """The host's own event names. An event that is not listed is judged by what its payload holds."""
    field_names: FieldNames = _CLAUDE_FIELD_NAMES
    tools: ToolNames = ToolNames()
    mcp_prefixes: tuple[str, ...] = ()
    """How the names of tools of MCP servers begin."""
    stdin_tools: tuple[str, ...] = ()
    """Shell tools that type into a program that already runs, and therefore have no command."""
    exit_status: ExitStatus = ExitStatus.SOMETIMES
    transcript_has_calls: bool = False
    """Whether its transcript names every tool call by the id that its hooks get."""
    payload_directories: tuple[str, ...] = ()
    """Recorded payloads, below `tests/contract/payloads/`."""
    canary_payload: Mapping[str, Any] = MappingProxyType({})
    """A shell call before it runs, as the host sends it, with `{event}`, `{session}`, `{cwd}` and `{command}`.

    Only for a host whose payload has another form than flat fields of its own names; see `canary_template`.
    """

    # What it understands.
    asks: str = ""
    """When an `ask` reaches a person, in words for the documentation."""
    blocks: str = ""
    """The form of a block, in words for the documentation."""

    # What it reads.
    program: str = ""
    """The name of its executable."""
    agent_packages: tuple[str, ...] = ()
    """Further names of its program, and of the packages that an interpreter runs it from (`claude-code`)."""
    project_marker: str = ""
    """The file or directory that shows that a project is used with this host."""
    settings_files: Mapping[str, str] = MappingProxyType({})
    """Scope → the file that names the hooks. Managed files lie below `/etc/`.

    A host without settings of its own for `local` has the project's file there, which git is then told to ignore.
    """
    config_directory: str = ""
    """The directory of a person's own settings."""
    config_variable: str = ""
    """The variable that moves `config_directory`."""
    guarded_files: tuple[str, ...] = ()
    """Further files that the host executes or takes permissions from; the settings files need not be repeated."""
    extension_files: tuple[str, ...] = ()
    """Files from which the host takes commands, skills, agents, plugins and MCP servers; writing one needs approval."""
    off_switches: Mapping[str, str] = MappingProxyType({})
    """Files that hosts and people write at any time → the word in them that switches the hooks off."""
    settings_lookup: SettingsLookup = SettingsLookup.UNKNOWN
    wired_events: tuple[str, ...] = ()
    """The events that `verdikt init` wires."""
    extra_settings: Mapping[str, Any] = MappingProxyType({})
    """What the settings file must hold beside the hooks, unless it says otherwise."""
    merges_equal_hooks: bool = False
    """Whether the host calls the same command once when two settings files name it."""
    blocks_on_failure: tuple[str, ...] = ()
    """The events at which the host itself blocks when its hook fails or is missing, if it is new enough."""
    blocks_on_failure_since: str = ""
    """The first version of which that was observed."""
    takes_arguments_since: str = ""
    """The first version known to start a hook from a list of arguments, without a shell; empty for none."""
    approval_advice: str = ""
    """What a person must do before the host runs hooks at all; empty when hooks need no approval."""

    # Its environment.
    agent_variables: tuple[str, ...] = ()
    """Variables that it sets for the commands of its agent. Variables that people set themselves do not belong here."""
    project_variable: str = ""
    """The variable in which it tells its hooks where the session was started."""
    attendance_variables: tuple[str, ...] = ()
    """Variables that say whether a person watches the session."""
    bypass_variables: tuple[str, ...] = ()
    """Variables that start a session without the hooks, or with other settings."""

    # Its limits and its documentation.
    known_gaps: tuple[KnownGap, ...] = ()
    """Limits that no setting closes."""
    proven_on: str = ""
    """The versions that tests/clients runs, in words for the documentation."""

    @property
    def docs_page(self) -> str:
        """The page of the documentation, as `verdikt docs` names it."""
        return f"hosts/{self.name}"

    @property
    def canary_template(self) -> Mapping[str, Any]:
        """`canary_payload`, or else the call of its first shell tool in fields of its own names."""
        names = self.field_names
        return self.canary_payload or {
            names.event: "{event}",
            names.session: "{session}",
            names.cwd: "{cwd}",
            names.tool: self.tools.shell.split()[0],
            names.input: {"command": "{command}"},
        }

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes in which the host can be wired; empty for one that `verdikt init` does not know how to wire."""
        return tuple(self.settings_files)

    @property
    def all_guarded_files(self) -> tuple[str, ...]:
        """Every file that wires the host, and every file that it executes or takes permissions from."""
        return tuple(dict.fromkeys((*self.settings_files.values(), *self.guarded_files)))

    @property
    def decision_variables(self) -> tuple[str, ...]:
        """The variables on which a decision depends; only these reach the warm process."""
        names = (self.config_variable, self.project_variable, *self.attendance_variables)
        return tuple(name for name in names if name)

    def find_event(self, kind: HookEventKind) -> str:
        """Return the first wired event of that kind, or else the first known one; empty if there is none."""
        names = (*self.wired_events, *self.events)
        return next((name for name in names if self.events.get(name) is kind), "")

    def resolve_file(
        self, file: str, *, project: str, home: str, env: Mapping[str, str], system_directory: str = "/etc"
    ) -> str:
        """Return where a file of this description lies for a project, a home directory and an environment."""
        if file.startswith("/etc/"):
            return posixpath.join(system_directory, file.removeprefix("/etc/"))
        if not file.startswith("~/"):
            return posixpath.join(project, file)
        below = posixpath.join(self.config_directory, "")
        if file.startswith(below) and env.get(self.config_variable):
            return posixpath.join(env[self.config_variable], file.removeprefix(below))
        if file.startswith("~/.config/"):
            return posixpath.join(env.get("XDG_CONFIG_HOME") or f"{home}/.config", file.removeprefix("~/.config/"))
        return posixpath.join(home, file.removeprefix("~/"))
