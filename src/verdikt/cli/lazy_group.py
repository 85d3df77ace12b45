"""Command groups that import a command only when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from verdikt.cli.suggesting_group import SuggestingGroup


class LazyGroup(SuggestingGroup):
    """Loads a command when it is called, so that `verdikt check` does not pay for `verdikt council`.

    `places` has `module:name` for each command, in the order of the help; `about` has the short help of each, so that
    the help need not load them all.
    """

    def __init__(
        self, *args: Any, places: Mapping[str, str], about: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.places = places
        self.about = about

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the table."""
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name; None when there is none."""
        if cmd_name not in self.places:
            return None
        # Not earlier: each command brings imports that the others do not need.
        module, _, name = self.places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands, without importing them where their short help is known."""
        if self.about is None:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))
