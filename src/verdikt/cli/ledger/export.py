"""`verdikt ledger export`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from verdikt.cli.data import existing, home_option, the_sessions
from verdikt.errors import LedgerError


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet", "in-toto"]), default="jsonl", show_default=True
)
@click.option("--session", metavar="S", help="Only this session.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; stdout otherwise.")
@home_option
def export(form: str, session: str | None, output: Path | None, home: Path | None) -> None:
    """The log in another form: its own lines, a Parquet table, or in-toto Statements, one a line.

    Example: verdikt ledger export --format parquet -o log.parquet
    """
    from verdikt.report import export as exports

    store = existing(home)
    entries = (entry for one in the_sessions(store, session) for entry in store.entries(one))
    if form == "parquet":
        if output is None:
            raise click.UsageError("--format parquet needs --output: a table is no text")
        with _written(output) as file:
            count = exports.parquet(entries, file)
        click.echo(f"{count} entries written to {output}", err=True)
        return
    lines = exports.in_toto(entries) if form == "in-toto" else exports.jsonl(entries)
    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    with _written(output) as file:
        file.writelines(lines)


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    try:
        with open(path, "wb") as file:
            yield file
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; choose another file") from error
