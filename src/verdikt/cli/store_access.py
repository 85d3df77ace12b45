"""What commands about the data directory have in common."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.errors import LedgerError
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

home_option: Callable[[Any], Any] = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The data directory, instead of $VERDIKT_HOME.",
)
json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="JSON, for machines.")
always_json_option: Callable[[Any], Any] = click.option(
    "--json", is_flag=True, expose_value=False, help="JSON, as without it."
)


def resolve_home(home: Path | None) -> Path:
    """The data directory that a command works on."""
    return home or get_data_directory(os.environ)


def close_after_command(store: "FileStore") -> "FileStore":
    """Return the store, and close it when the command that runs now ends."""
    if context := click.get_current_context(silent=True):
        context.call_on_close(store.close)
    return store


def open_data_store(home: Path | None) -> "FileStore":
    """Open the store in the data directory, with every projection; it is closed when the command ends."""
    return close_after_command(open_store(resolve_home(home), projections=load_projections()))


def open_existing_store(home: Path | None) -> "FileStore":
    """The store in the data directory, if there is one."""
    place = resolve_home(home)
    if not (place / "ledger").is_dir():
        raise LedgerError(f"no log in `{place}`: nothing was recorded yet, or VERDIKT_HOME names another directory")
    return open_data_store(home)


def resolve_session(store: "FileStore", prefix: str, *, allow_unknown: bool = False) -> str:
    """The session that was meant: by its id, or by the beginning of it where only one begins so.

    With `to_come` it may be one that the log does not know yet; that is said, because it may as well be a slip.
    """
    if store.reader.has_session(prefix):
        return prefix
    found = [name for name in store.list_sessions() if name.startswith(prefix)]
    if len(found) > 1:
        raise LedgerError(f"expected the beginning of one session, found `{prefix}`, with which {len(found)} begin")
    if not found and allow_unknown:
        click.echo(f"the log has no session `{prefix}` yet", err=True)
        return prefix
    if not found:
        raise LedgerError(f"no session `{prefix}` in `{store.home}`; `verdikt ledger stats` lists them")
    return found[0]


def resolve_sessions(store: "FileStore", prefix: str | None) -> list[str]:
    """That session, or all of them when none was given."""
    return [resolve_session(store, prefix)] if prefix else store.list_sessions()


def format_timestamp(ts: int) -> str:
    """Microseconds since the epoch, for people."""
    return datetime.fromtimestamp(ts / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
