"""Options and look-ups that commands about the data directory share."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.canary_sessions import is_canary_session
from verdikt.errors import LedgerError
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

home_option: Callable[[Any], Any] = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The data directory; default: $VERDIKT_HOME.",
)
json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
canaries_option: Callable[[Any], Any] = click.option(
    "--canaries", is_flag=True, help="Include the calls of `verdikt doctor`."
)
# For commands whose output is always JSON: scripts may pass --json everywhere.
always_json_option: Callable[[Any], Any] = click.option(
    "--json", is_flag=True, expose_value=False, help="Accepted for uniformity: the output is always JSON."
)


def resolve_home(home: Path | None) -> Path:
    """Return the data directory that a command works on."""
    return home or get_data_directory(os.environ)


def close_after_command(store: "FileStore") -> "FileStore":
    """Return the store, and close it when the command that runs now ends."""
    if context := click.get_current_context(silent=True):
        context.call_on_close(store.close)
    return store


def open_data_store(home: Path | None) -> "FileStore":
    """Open the store in the data directory, created if missing, with every projection; closed with the command."""
    return close_after_command(open_store(resolve_home(home), projections=load_projections()))


def open_existing_store(home: Path | None) -> "FileStore":
    """Open the store in the data directory; raise `LedgerError` when there is none."""
    directory = resolve_home(home)
    if not (directory / "ledger").is_dir():
        raise LedgerError(f"no log in `{directory}`: nothing was recorded yet, or VERDIKT_HOME names another directory")
    return open_data_store(home)


def resolve_session(store: "FileStore", prefix: str, *, allow_unknown: bool = False) -> str:
    """Return the session with this id, or the only one whose id begins with it.

    With `allow_unknown` it may be a session that the log does not know yet. That is reported, because it may also be
    a typing error.
    """
    # A complete id first: it may be the beginning of another one.
    if store.reader.has_session(prefix):
        return prefix
    matches = [name for name in store.list_sessions() if name.startswith(prefix)]
    if len(matches) > 1:
        raise LedgerError(f"expected the beginning of one session, found `{prefix}`, which fits {len(matches)}")
    if not matches and allow_unknown:
        click.echo(f"the log has no session `{prefix}` yet", err=True)
        return prefix
    if not matches:
        raise LedgerError(f"no session `{prefix}` in `{store.home}`; `verdikt ledger stats` lists them")
    return matches[0]


def resolve_sessions(store: "FileStore", prefix: str | None, *, canaries: bool = False) -> list[str]:
    """Return the session with this id or prefix as a list, or all sessions without a prefix.

    Without `canaries`, what `verdikt doctor` left in the log is not among them.
    """
    if prefix:
        return [resolve_session(store, prefix)]
    return [name for name in store.list_sessions() if canaries or not is_canary_session(store, name)]


def format_timestamp(ts: int) -> str:
    """Return microseconds since the epoch as a date and time in UTC."""
    return datetime.fromtimestamp(ts / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
