"""`verdikt ledger`: the log, looked at, verified, kept small and taken elsewhere."""

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
"""Subcommand → the module beside this one that holds it under its name."""


@click.group(cls=LazyGroup, places={name: f"verdikt.cli.ledger.{module}:{name}" for name, module in PARTS.items()})
def command() -> None:
    """The tamper-evident log of everything decided and done.

    Example: verdikt ledger verify
    """
