"""What only a person at a terminal may do."""

import os
import sys

from verdikt.errors import LedgerError
from verdikt.observe.agent_environment import detect_agent


def refuse_agents(what: str) -> None:
    """Refuses to go on inside an agent's environment."""
    if agent := detect_agent(os.environ):
        raise LedgerError(f"{what} is for operators: this runs inside {agent}; use a terminal of your own")


def require_terminal(what: str) -> None:
    """Refuses to go on where no person sits at the terminal."""
    refuse_agents(what)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise LedgerError(f"{what} needs a person at a terminal: expected a TTY, found none")
