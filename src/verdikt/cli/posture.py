"""`verdikt posture`: show and set whether a person is there to answer, per session, in the log."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.canary_sessions import is_canary_session
from verdikt.cli.operator_access import get_user_name, require_terminal
from verdikt.cli.store_access import home_option, json_option, open_data_store, open_existing_store, resolve_session
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.cli.usage_command import UsageCommand
from verdikt.errors import LedgerError
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.ledger.council_findings import is_council_session
from verdikt.ledger.shared_memory import is_memory_session
from verdikt.ledger.store import OPERATOR
from verdikt.model.posture import Posture, move
from verdikt.model.verdict import strictest_posture

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

_POSTURE_MEANINGS = {
    Posture.INTERACTIVE: "a person is there to answer",
    Posture.AUTONOMOUS: "no person is there to answer: what would ask is blocked",
    Posture.DRY_RUN: "only reads are allowed; receipts say what would have been decided live",
    Posture.LOCKED: "only reads are allowed",
}


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Show or set the posture of a session: interactive, autonomous, dry_run or locked.

    Moves: interactive → any; autonomous, dry_run → interactive, locked; locked → interactive.

    Example: verdikt posture set locked
    """


@command.command(cls=UsageCommand)
@click.option("--session", default="", help="The session; default: the newest.")
@json_option
@home_option
def show(session: str, as_json: bool, home: Path | None) -> None:
    """Show the posture of a session.

    Example: verdikt posture show --json
    """
    store = open_existing_store(home)
    session = resolve_session(store, session) if session else find_newest_session(store)
    posture, is_set = _read_posture(store, session)
    if as_json:
        click.echo(json.dumps({"session": session, "posture": posture, "set": is_set}))
    else:
        source = "set for this session" if is_set else "the policy's default"
        click.echo(f"{click.style(posture, bold=True)}: {_POSTURE_MEANINGS[posture]} (session `{session}`, {source})")


@command.command("set", cls=UsageCommand)
@click.argument("posture", type=click.Choice([posture.value for posture in Posture]))
@click.option("--session", default="", help="The session; default: the newest.")
@click.option("--reason", default="", help="Why; it goes into the log.")
@json_option
@home_option
def set_posture(*, posture: str, session: str, reason: str, as_json: bool, home: Path | None) -> None:
    """Move a session to another posture, signed and recorded. Loosening needs a person at a terminal.

    Example: verdikt posture set dry_run --reason 'rehearsing the migration'
    """
    store = open_data_store(home) if session else open_existing_store(home)
    session = resolve_session(store, session, allow_unknown=True) if session else find_newest_session(store)
    after = Posture(posture)
    before, _ = _read_posture(store, session)
    # Raises where the table of moves has none from here to there.
    move(before, after)
    # A stricter posture may be set from anywhere, also by an agent for itself.
    if strictest_posture(before, after) is not after:
        require_terminal("loosening the posture")
    entry = store.append(
        session, "posture", {"before": before, "after": after, "reason": reason, "by": get_user_name()}
    )
    if as_json:
        click.echo(json.dumps({"session": session, "before": before, "after": after, "seq": entry.seq}))
    else:
        click.echo(f"{before} → {click.style(after, bold=True)} (session `{session}`, entry {entry.seq})")
        click.echo(_POSTURE_MEANINGS[after])


def find_newest_session(store: "FileStore") -> str:
    """Return the agent session that was written to last; raise `LedgerError` when there is none."""
    # Not the operator's log, doctor's canaries or the councils' findings: no agent works in those.
    candidates = [
        name
        for name in store.list_sessions()
        if name != OPERATOR
        and not is_council_session(name)
        and not is_memory_session(name)
        and store.reader.hot_file_path(name).exists()
        and not is_canary_session(store, name)
    ]
    if not candidates:
        raise LedgerError("no session in the log yet; name one with --session")
    return max(candidates, key=lambda name: store.reader.hot_file_path(name).stat().st_mtime_ns)


def _read_posture(store: "FileStore", session: str) -> tuple[Posture, bool]:
    recorded = store.read_projection("posture", session)
    if recorded:
        return Posture(recorded), True
    return load_cached_policy("", os.environ).posture, False
