"""The command line that a host runs: the wrapper, its limits, the interpreter and the hook."""

import os
import shlex
from dataclasses import dataclass
from typing import Protocol

from verdikt.model.lazy_regex import compile_lazily

CLIENT_TIMEOUT_SECONDS = 60
"""How long a client waits. Always written out, because the clients' own defaults range from a second to ten minutes."""

WRAPPER_TIMEOUT_SECONDS = 50
"""How long the wrapper may take. The hook responds within ten seconds, or 45 while people have to approve the call."""

HOOK_MODULE = "verdikt.hosts.hook"
"""The module that is the hook, run with `python -m`."""

SCRIPT_WRAPPER = "guard.sh"
NATIVE_WRAPPER = "verdikt-hook"
LAUNCHER = "verdikt-launch"
"""Calls the wrapper with what is particular to a machine, for settings that are the same on all of them."""

WRAPPER_NAMES = (NATIVE_WRAPPER, SCRIPT_WRAPPER, LAUNCHER)

# Names of earlier versions count too, so that `verdikt init` replaces their entries instead of adding a second one.
_HOOK_COMMAND = compile_lazily(r"\bverdikt[./](hosts[./]hook|adapters[./](entry|launch))\b|\bverdikt-(hook|launch)\b")

# A wrapper that ended with 2 has blocked with a reason of its own. Any other failure means that it is missing or was
# killed, which must block too, with a word on stderr: without one Codex and Gemini CLI run the tool. The syntax is
# that of every POSIX shell, because clients use sh, bash or zsh.
BLOCK_IF_MISSING = "{ [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"

_LAUNCHER_HEAD = """\
#!/bin/sh
# Written by `verdikt init`. Settings that a team commits name no path of a machine; they find this file instead.
"""

# The shell replaces itself with the wrapper, which saves one process for every call.
_EXEC_PREFIX = "exec "


class HookCommandBuilder(Protocol):
    """Builds the lines that hosts run: with the paths of this machine, or the same for every machine."""

    def build_command_line(
        self, host: str, event_name: str, *, fail_closed: bool, host_blocks_on_failure: bool = False
    ) -> str:
        """Return the line for a host's settings."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Where the wrapper lies and how the hook is started; all paths are absolute."""

    wrapper_path: str
    python: tuple[str, ...]
    """The interpreter with its flags; isolated, so that nothing in the project can stand in for a module of ours."""
    socket_path: str = ""
    """The socket of a warm process that another user runs; if set, no other process is asked."""

    @property
    def wrapper_argv(self) -> list[str]:
        """The wrapper with the socket; the script takes none and leaves it to the hook."""
        return [self.wrapper_path, *([] if self._is_script else self._socket_arguments)]

    @property
    def _is_script(self) -> bool:
        return os.path.basename(self.wrapper_path) == SCRIPT_WRAPPER

    @property
    def _socket_arguments(self) -> list[str]:
        return ["--socket", self.socket_path] if self.socket_path else []

    def build_hook_argv(self, host: str, event_name: str) -> list[str]:
        """Return the command of the hook without its wrapper."""
        socket_arguments = self._socket_arguments if self._is_script else []
        return [*self.python, "-m", HOOK_MODULE, *socket_arguments, host, event_name]

    def build_command_line(
        self, host: str, event_name: str, *, fail_closed: bool, host_blocks_on_failure: bool = False
    ) -> str:
        """Return the line for a host's settings.

        With `fail_closed` even a missing wrapper blocks: by what follows it on the line, or, with
        `host_blocks_on_failure`, by the host itself.
        """
        mode = "closed" if fail_closed else "open"
        line = shlex.join(
            [*self.wrapper_argv, str(WRAPPER_TIMEOUT_SECONDS), mode, *self.build_hook_argv(host, event_name)]
        )
        if not fail_closed:
            return line
        return f"{_EXEC_PREFIX}{line}" if host_blocks_on_failure else f"{line} || {BLOCK_IF_MISSING}"

    def build_launcher(self) -> bytes:
        """Return the script that calls the wrapper: `verdikt-launch closed|open HOST EVENT`."""
        argv = shlex.join([*self.wrapper_argv, str(WRAPPER_TIMEOUT_SECONDS)])
        hook = shlex.join([*self.python, "-m", HOOK_MODULE])
        return f'{_LAUNCHER_HEAD}exec {argv} "$1" {hook} "$2" "$3"\n'.encode()


def is_hook_command(command: object) -> bool:
    """Whether a command in a settings file is the hook."""
    return isinstance(command, str) and _HOOK_COMMAND.search(command) is not None


def split_command_line(line: str) -> list[str] | None:
    """Return the words of a line that is one command; None for one that only a shell can run."""
    if relies_on_host(line):
        return shlex.split(line.removeprefix(_EXEC_PREFIX))
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    # Quoted again, the words of one plain command are the line itself.
    return words if words and shlex.join(words) == line else None


def join_arguments(command: str, arguments: list[str], *, blocks_on_failure: bool) -> str:
    """Return the line that does what a command with a list of arguments does."""
    return (_EXEC_PREFIX if blocks_on_failure else "") + shlex.join([command, *arguments])


def relies_on_host(command: str) -> bool:
    """Whether the line leaves it to the host to block when the wrapper is missing."""
    return command.startswith(_EXEC_PREFIX)
