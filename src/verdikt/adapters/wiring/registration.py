"""The command line that a host is given: the wrapper, its limits, the interpreter and the hook."""

import os
import shlex

from verdikt import adapters
from verdikt.model.regex import regex
from verdikt.model.value import Value

CLIENT_SECONDS = 30
"""How long a client waits; explicit, because the clients' own defaults range from one second to ten minutes."""

GUARD_SECONDS = 20
"""How long the wrapper waits for the hook, which itself answers within ten."""

LAUNCH = os.path.join(os.path.dirname(adapters.__file__), "launch.py")
"""The script that is the hook: started by its path it need not be searched for."""

SCRIPT = "guard.sh"
NATIVE = "verdikt-hook"
NAMES = (NATIVE, SCRIPT)
"""What a wrapper can be called."""

_OURS = regex(r"\bverdikt[./]adapters[./](entry|launch)\b|\bverdikt-hook\b")

_MISSING = "{ [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"
"""What follows a wrapper that did not end with 0: it has blocked in its own words, or it is gone or was killed, which blocks too. With
a word on stderr, without which Codex and Gemini CLI run the tool. For every POSIX shell: clients use sh, bash or zsh."""


class Registration(Value, kw_only=True):
    """Where the wrapper lies and how the hook is started, all absolute."""

    guard: str
    python: tuple[str, ...]
    """The interpreter with its flags; isolated, so that nothing in the project can stand in for a module of ours."""
    socket: str = ""
    """Of a warm process that another user runs; then nobody else is asked."""

    @property
    def wrapper(self) -> list[str]:
        """The wrapper and whom it asks; the script only hands on what the hook says, which then asks by itself."""
        return [self.guard, *(self._asked if os.path.basename(self.guard) != SCRIPT else [])]

    @property
    def _asked(self) -> list[str]:
        return ["--socket", self.socket] if self.socket else []

    def hook(self, host: str, event: str) -> list[str]:
        """The hook without its wrapper."""
        asked = self._asked if os.path.basename(self.guard) == SCRIPT else []
        return [*self.python, "-S", LAUNCH, *asked, host, event]

    def command(self, host: str, event: str, *, closed: bool) -> str:
        """The line for a host's settings. Where the agent is about to act, even a missing wrapper blocks."""
        mode = "closed" if closed else "open"
        line = shlex.join([*self.wrapper, str(GUARD_SECONDS), mode, *self.hook(host, event)])
        return f"{line} || {_MISSING}" if closed else line


def is_ours(command: object) -> bool:
    """Whether a command in somebody's settings is the hook."""
    return isinstance(command, str) and _OURS.search(command) is not None
