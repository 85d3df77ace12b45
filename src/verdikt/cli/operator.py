"""What only a person at a terminal may do."""

import os
import sys

from verdikt.errors import LedgerError
from verdikt.observe.agent import agent_around


def refuse_agents(what: str) -> None:
    """Refuses to go on inside an agent's environment."""
    if agent := agent_around(os.environ):
        raise LedgerError(f"{what} is for operators: this runs inside {agent}; use a terminal of your own")


def require_terminal(what: str) -> None:
    """Refuses to go on where no person sits at the terminal."""
    refuse_agents(what)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise LedgerError(f"{what} needs a person at a terminal: expected a TTY, found none")
