"""`verdikt evidence`: what an agent claims, and what the log proves of it."""

from importlib import import_module

import click

PARTS = {
    "claims": "claims",
    "validate": "validate",
    "contracts": "look",
    "report": "look",
    "explain": "look",
}
"""Subcommand → the module beside this one that holds it under its name."""


class EvidenceParts(click.Group):
    """Loads a subcommand's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, in the table's order."""
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, loaded now."""
        if cmd_name not in PARTS:
            return None
        command: click.Command = getattr(import_module(f"verdikt.cli.evidence.{PARTS[cmd_name]}"), cmd_name)
        return command


@click.group(cls=EvidenceParts)
def command() -> None:
    """No "done" without proof: claims, contracts, validators and what the gate made of them.

    Example: echo 'All tests pass.' | verdikt evidence claims
    """
