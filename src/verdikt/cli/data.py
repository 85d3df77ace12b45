"""What commands about the data directory have in common."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.errors import LedgerError

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


def the_home(home: Path | None) -> Path:
    """The data directory that a command works on."""
    from verdikt.ledger.home import data_home

    return home or data_home(os.environ)


def opened(home: Path | None) -> "FileStore":
    """The store in the data directory, with every projection."""
    from verdikt.ledger.files import open_store
    from verdikt.projections import projections

    return open_store(the_home(home), projections=projections())


def existing(home: Path | None) -> "FileStore":
    """The store in the data directory, if there is one."""
    place = the_home(home)
    if not (place / "ledger").is_dir():
        raise LedgerError(f"no log in `{place}`: nothing was recorded yet, or VERDIKT_HOME names another directory")
    return opened(home)


def the_session(store: "FileStore", given: str, *, to_come: bool = False) -> str:
    """The session that was meant: by its id, or by the beginning of it where only one begins so.

    With `to_come` it may be one that the log does not know yet; that is said, because it may as well be a slip.
    """
    if store.reader.exists(given):
        return given
    found = [name for name in store.sessions() if name.startswith(given)]
    if len(found) > 1:
        raise LedgerError(f"expected the beginning of one session, found `{given}`, with which {len(found)} begin")
    if not found and to_come:
        click.echo(f"the log has no session `{given}` yet", err=True)
        return given
    if not found:
        raise LedgerError(f"no session `{given}` in `{store.home}`; `verdikt ledger stats` lists them")
    return found[0]


def the_sessions(store: "FileStore", given: str | None) -> list[str]:
    """That session, or all of them when none was given."""
    return [the_session(store, given)] if given else store.sessions()


def moment(ts: int) -> str:
    """Microseconds since the epoch, for people."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ts / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
