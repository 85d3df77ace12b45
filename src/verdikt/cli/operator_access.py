"""Checks for what only a person at a terminal may do, and who that person is."""

import getpass
import os
import sys
from typing import TextIO

from verdikt.errors import LedgerError
from verdikt.observe.agent_environment import detect_agent
from verdikt.observe.process_ancestry import find_agent_process


def refuse_agents(what: str) -> None:
    """Raise `LedgerError` inside an agent's environment and below an agent's process.

    Every command that only a person may run calls this, also those that need no terminal.
    """
    # An agent that sits in a pseudo-terminal passes a TTY check, but its environment gives it away. One that clears
    # the environment still has its agent among its ancestors, or no login session at all.
    if agent := detect_agent(os.environ) or find_agent_process():
        raise LedgerError(f"{what} is for operators: this runs inside {agent}; use a terminal of your own")


def require_terminal(what: str, *, screen: TextIO | None = None) -> None:
    """Raise `LedgerError` inside an agent, and where stdin or `screen` (default: stderr) is not a terminal."""
    refuse_agents(what)
    if not (sys.stdin.isatty() and (screen or sys.stderr).isatty()):
        raise LedgerError(f"{what} needs a person at a terminal: expected a TTY, found none")


def get_user_name() -> str:
    """Return the name of the user, or the user id where the system has no name for it."""
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        # KeyError before Python 3.13. Containers often run under an id that is not in the user database.
        return str(os.getuid())
