"""The command line that a host is given: the wrapper, its limits, the interpreter and the hook."""

import os
import shlex
from dataclasses import dataclass

from verdikt.model.lazy_regex import compile_lazily

CLIENT_TIMEOUT_SECONDS = 30
"""How long a client waits; explicit, because the clients' own defaults range from one second to ten minutes."""

WRAPPER_TIMEOUT_SECONDS = 20
"""How long the wrapper waits for the hook, which itself answers within ten."""

HOOK_MODULE = "verdikt.hosts.hook"
"""The module that is the hook, run with `python -m`."""

SCRIPT_WRAPPER = "guard.sh"
NATIVE_WRAPPER = "verdikt-hook"
WRAPPER_NAMES = (NATIVE_WRAPPER, SCRIPT_WRAPPER)
"""What a wrapper can be called."""

_HOOK_COMMAND = compile_lazily(r"\bverdikt[./](hosts[./]hook|adapters[./](entry|launch))\b|\bverdikt-hook\b")

_BLOCK_IF_MISSING = "{ [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"
"""What follows a wrapper that did not end with 0: it has blocked in its own words, or it is gone or was killed, which blocks too. With
a word on stderr, without which Codex and Gemini CLI run the tool. For every POSIX shell: clients use sh, bash or zsh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Where the wrapper lies and how the hook is started, all absolute."""

    wrapper_path: str
    python: tuple[str, ...]
    """The interpreter with its flags; isolated, so that nothing in the project can stand in for a module of ours."""
    socket_path: str = ""
    """Of a warm process that another user runs; then nobody else is asked."""

    @property
    def wrapper_argv(self) -> list[str]:
        """The wrapper and whom it asks; the script only hands on what the hook says, which then asks by itself."""
        return [
            self.wrapper_path,
            *(self._socket_arguments if os.path.basename(self.wrapper_path) != SCRIPT_WRAPPER else []),
        ]

    @property
    def _socket_arguments(self) -> list[str]:
        return ["--socket", self.socket_path] if self.socket_path else []

    def build_hook_argv(self, host: str, event_name: str) -> list[str]:
        """The hook without its wrapper."""
        asked = self._socket_arguments if os.path.basename(self.wrapper_path) == SCRIPT_WRAPPER else []
        return [*self.python, "-m", HOOK_MODULE, *asked, host, event_name]

    def build_command_line(self, host: str, event_name: str, *, fail_closed: bool) -> str:
        """The line for a host's settings. Where the agent is about to act, even a missing wrapper blocks."""
        mode = "closed" if fail_closed else "open"
        line = shlex.join(
            [*self.wrapper_argv, str(WRAPPER_TIMEOUT_SECONDS), mode, *self.build_hook_argv(host, event_name)]
        )
        return f"{line} || {_BLOCK_IF_MISSING}" if fail_closed else line


def is_hook_command(command: object) -> bool:
    """Whether a command in somebody's settings is the hook."""
    return isinstance(command, str) and _HOOK_COMMAND.search(command) is not None
