"""`verdikt ledger`: the log, looked at, verified, kept small and taken elsewhere."""

from importlib import import_module

import click

PARTS = {
    "verify": "verify",
    "checkpoint": "verify",
    "tail": "look",
    "show": "look",
    "stats": "look",
    "export": "export",
    "rotate": "upkeep",
    "reindex": "upkeep",
}
"""Subcommand → the module beside this one that holds it under its name."""


class Parts(click.Group):
    """Loads a subcommand's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, in the table's order."""
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, loaded now."""
        if cmd_name not in PARTS:
            return None
        command: click.Command = getattr(import_module(f"verdikt.cli.ledger.{PARTS[cmd_name]}"), cmd_name)
        return command


@click.group(cls=Parts)
def command() -> None:
    """The tamper-evident log of everything decided and done.

    Example: verdikt ledger verify
    """
