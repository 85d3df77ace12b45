"""`verdikt ledger export`: write the log in another format."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from verdikt.cli.output_path import OutputPath
from verdikt.cli.store_access import home_option, open_existing_store, resolve_sessions
from verdikt.errors import LedgerError
from verdikt.report import export as exports


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet", "in-toto"]),
    default="jsonl",
    show_default=True,
    help="The format.",
)
@click.option("--session", metavar="S", help="Only this session.")
@click.option(
    "-o", "--output", type=OutputPath(dir_okay=False, path_type=Path), help="Write to this file; default: stdout."
)
@home_option
def export(form: str, session: str | None, output: Path | None, home: Path | None) -> None:
    """Write the log as its own lines, as a Parquet table, or as in-toto Statements, one per line.

    Example: verdikt ledger export --format parquet -o log.parquet
    """
    store = open_existing_store(home)
    # With the canaries: an export is the log itself, not a view of it.
    entries = (entry for name in resolve_sessions(store, session, canaries=True) for entry in store.read_entries(name))
    if form == "parquet":
        if output is None:
            raise click.UsageError("--format parquet needs --output: a table is not text")
        with _open_output(output) as file:
            count = exports.export_parquet(entries, file)
        click.echo(f"{count} entries written to {output}", err=True)
        return
    lines = exports.export_in_toto(entries) if form == "in-toto" else exports.export_jsonl(entries)
    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    with _open_output(output) as file:
        file.writelines(lines)


@contextmanager
def _open_output(path: Path) -> Iterator[BinaryIO]:
    try:
        with open(path, "wb") as file:
            yield file
    # Also for errors while writing: a full disk must not look like a complete export.
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; choose another file") from error
