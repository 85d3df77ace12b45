"""`verdikt posture`: who is there to answer, kept per session in the log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.data import existing, home_option, json_option, opened, the_session
from verdikt.cli.usage import UsageCommand
from verdikt.errors import LedgerError
from verdikt.model.posture import Posture

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

_MEANING = {
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
    store = existing(home)
    session = the_session(store, session) if session else newest(store)
    posture, kept = _current(store, session)
    if as_json:
        click.echo(json.dumps({"session": session, "posture": posture, "set": kept}))
    else:
        source = "set for this session" if kept else "as the policy starts every session"
        click.echo(f"{click.style(posture, bold=True)}: {_MEANING[posture]} (session `{session}`, {source})")


@command.command("set", cls=UsageCommand)
@click.argument("posture", type=click.Choice([posture.value for posture in Posture]))
@click.option("--session", default="", help="The session; the newest one when not given.")
@click.option("--reason", default="", help="Why. It goes into the log.")
@json_option
@home_option
def set_(*, posture: str, session: str, reason: str, as_json: bool, home: Path | None) -> None:
    """Moves a session to another posture, signed and on record. Loosening needs a person at a terminal.

    Example: verdikt posture set dry_run --reason 'rehearsing the migration'
    """
    from verdikt.cli.operator import require_terminal
    from verdikt.model.posture import move, strictest_posture

    store = opened(home) if session else existing(home)
    session = the_session(store, session, to_come=True) if session else newest(store)
    after = Posture(posture)
    before, _ = _current(store, session)
    move(before, after)
    if strictest_posture(before, after) is not after:
        require_terminal("loosening the posture")
    entry = store.append(session, "posture", {"before": before, "after": after, "reason": reason, "by": _user()})
    if as_json:
        click.echo(json.dumps({"session": session, "before": before, "after": after, "seq": entry.seq}))
    else:
        click.echo(f"{before} → {click.style(after, bold=True)} (session `{session}`, entry {entry.seq})")
        click.echo(_MEANING[after])


def newest(store: "FileStore") -> str:
    """The agent's session that was written to last."""
    from verdikt.adapters.live.canary import SESSION
    from verdikt.ledger.findings import is_council
    from verdikt.ledger.store import OPERATOR

    found = [
        name
        for name in store.sessions()
        if name not in (OPERATOR, SESSION) and not is_council(name) and store.reader.path(name).exists()
    ]
    if not found:
        raise LedgerError("no session in the log yet; name one with --session")
    return max(found, key=lambda name: store.reader.path(name).stat().st_mtime_ns)


def _current(store: "FileStore", session: str) -> tuple[Posture, bool]:
    kept = store.project("posture", session)
    if kept:
        return Posture(kept), True
    from verdikt.policy import load_policy

    return load_policy().posture, False


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
