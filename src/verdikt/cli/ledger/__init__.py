"""`verdikt ledger`: read, verify, rotate and export the log."""

import click

from verdikt.cli.lazy_group import LazyGroup

PARTS = {
    "verify": "verify",
    "checkpoint": "verify",
    "tail": "entries",
    "show": "entries",
    "stats": "entries",
    "export": "export",
    "rotate": "maintenance",
    "reindex": "maintenance",
}
"""Subcommand → the module of this package that defines it under its name."""


@click.group(cls=LazyGroup, places={name: f"verdikt.cli.ledger.{module}:{name}" for name, module in PARTS.items()})
def command() -> None:
    """Read, verify, rotate and export the tamper-evident log of all decisions and actions.

    Example: verdikt ledger verify
    """
