"""`verdikt posture`: who is there to answer, kept per session in the log."""

import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.operator_access import require_terminal
from verdikt.cli.store_access import home_option, json_option, open_data_store, open_existing_store, resolve_session
from verdikt.cli.usage_command import UsageCommand
from verdikt.errors import LedgerError
from verdikt.hosts.live.canary import CANARY_SESSION
from verdikt.ledger.council_findings import is_council_session
from verdikt.ledger.store import OPERATOR
from verdikt.model.posture import Posture, move
from verdikt.model.verdict import strictest_posture
from verdikt.policy import load_policy

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

_POSTURE_MEANINGS = {
    Posture.INTERACTIVE: "a person is there to answer",
    Posture.AUTONOMOUS: "nobody is there to answer: what would ask is blocked",
    Posture.DRY_RUN: "only reads happen; receipts say what would have happened live",
    Posture.LOCKED: "only reads happen",
}


@click.group()
def command() -> None:
    """The posture of a session: interactive, autonomous, dry_run or locked.

    Moves: interactive → any; autonomous, dry_run → interactive, locked; locked → interactive.

    Example: verdikt posture set locked
    """


@command.command(cls=UsageCommand)
@click.option("--session", default="", help="The session; the newest one when not given.")
@json_option
@home_option
def show(session: str, as_json: bool, home: Path | None) -> None:
    """Shows the posture that a session is in.

    Example: verdikt posture show --json
    """
    store = open_existing_store(home)
    session = resolve_session(store, session) if session else find_newest_session(store)
    posture, kept = _read_posture(store, session)
    if as_json:
        click.echo(json.dumps({"session": session, "posture": posture, "set": kept}))
    else:
        source = "set for this session" if kept else "as the policy starts every session"
        click.echo(f"{click.style(posture, bold=True)}: {_POSTURE_MEANINGS[posture]} (session `{session}`, {source})")


@command.command("set", cls=UsageCommand)
@click.argument("posture", type=click.Choice([posture.value for posture in Posture]))
@click.option("--session", default="", help="The session; the newest one when not given.")
@click.option("--reason", default="", help="Why. It goes into the log.")
@json_option
@home_option
def set_posture(*, posture: str, session: str, reason: str, as_json: bool, home: Path | None) -> None:
    """Moves a session to another posture, signed and on record. Loosening needs a person at a terminal.

    Example: verdikt posture set dry_run --reason 'rehearsing the migration'
    """
    store = open_data_store(home) if session else open_existing_store(home)
    session = resolve_session(store, session, allow_unknown=True) if session else find_newest_session(store)
    after = Posture(posture)
    before, _ = _read_posture(store, session)
    move(before, after)
    if strictest_posture(before, after) is not after:
        require_terminal("loosening the posture")
    entry = store.append(
        session, "posture", {"before": before, "after": after, "reason": reason, "by": _get_user_name()}
    )
    if as_json:
        click.echo(json.dumps({"session": session, "before": before, "after": after, "seq": entry.seq}))
    else:
        click.echo(f"{before} → {click.style(after, bold=True)} (session `{session}`, entry {entry.seq})")
        click.echo(_POSTURE_MEANINGS[after])


def find_newest_session(store: "FileStore") -> str:
    """The agent's session that was written to last."""
    found = [
        name
        for name in store.list_sessions()
        if name not in (OPERATOR, CANARY_SESSION)
        and not is_council_session(name)
        and store.reader.hot_file_path(name).exists()
    ]
    if not found:
        raise LedgerError("no session in the log yet; name one with --session")
    return max(found, key=lambda name: store.reader.hot_file_path(name).stat().st_mtime_ns)


def _read_posture(store: "FileStore", session: str) -> tuple[Posture, bool]:
    kept = store.read_projection("posture", session)
    if kept:
        return Posture(kept), True

    return load_policy().posture, False


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
