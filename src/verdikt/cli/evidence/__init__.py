"""`verdikt evidence`: the claims of an agent, and what the log proves."""

import click

from verdikt.cli.lazy_group import LazyGroup

PARTS = {
    "claims": "claims",
    "validate": "validate",
    "contracts": "reports",
    "report": "reports",
    "explain": "reports",
}
"""Subcommand → the module of this package that defines it under its name."""


@click.group(cls=LazyGroup, places={name: f"verdikt.cli.evidence.{module}:{name}" for name, module in PARTS.items()})
def command() -> None:
    """Show claims, contracts and what the evidence gate decided; run a validator.

    Example: echo 'All tests pass.' | verdikt evidence claims
    """
