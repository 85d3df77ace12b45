"""What only a person at a terminal may do."""

import os
import sys
from collections.abc import Mapping

from verdikt.errors import LedgerError

AGENT_MARKS = (
    "AI_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLINE_ACTIVE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "COPILOT_AGENT_SESSION_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "OPENCODE",
    "OPENCODE_SESSION_ID",
)
"""Variables that agents set for what they run. Settings that people keep in their shells (CODEX_HOME …) are not among them."""


def agent_mark(env: Mapping[str, str]) -> str:
    """The variable that shows an agent's environment; empty when none does."""
    return next((name for name in AGENT_MARKS if env.get(name)), "")


def refuse_agents(what: str) -> None:
    """Refuses to go on inside an agent's environment."""
    if mark := agent_mark(os.environ):
        raise LedgerError(
            f"{what} is for operators: this runs inside an agent (`{mark}` is set); use a terminal of your own"
        )


def require_terminal(what: str) -> None:
    """Refuses to go on where no person sits at the terminal."""
    refuse_agents(what)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise LedgerError(f"{what} needs a person at a terminal: expected a TTY, found none")
