"""`verdikt evidence`: what an agent claims, and what the log proves of it."""

import click

from verdikt.cli.lazy_group import LazyGroup

PARTS = {
    "claims": "claims",
    "validate": "validate",
    "contracts": "reports",
    "report": "reports",
    "explain": "reports",
}
"""Subcommand → the module beside this one that holds it under its name."""


@click.group(cls=LazyGroup, places={name: f"verdikt.cli.evidence.{module}:{name}" for name, module in PARTS.items()})
def command() -> None:
    """No "done" without proof: claims, contracts, validators and what the gate made of them.

    Example: echo 'All tests pass.' | verdikt evidence claims
    """
