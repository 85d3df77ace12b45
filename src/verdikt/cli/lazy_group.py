"""Command groups that import a command only when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from verdikt.cli.suggesting_group import SuggestingGroup


class LazyGroup(SuggestingGroup):
    """Loads a command when it is called, so that `verdikt check` does not pay for `verdikt council`.

    `places` has `module:name` for each command, in the order of the help; `sections` has the short help of each below
    the title of its section, so that neither the help nor the shell's completion need load them all.
    """

    def __init__(
        self,
        *args: Any,
        places: Mapping[str, str],
        sections: Mapping[str, Mapping[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.places = places
        self.sections = sections

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
        """Write the commands section by section, without importing them where their short help is known."""
        if self.sections is None:
            super().format_commands(ctx, formatter)
            return
        # One width for all sections: the purposes stand below each other.
        width = max(len(name) for commands in self.sections.values() for name in commands)
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), purpose) for name, purpose in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with a word, without importing them."""
        if self.sections is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=purpose)
            for commands in self.sections.values()
            for name, purpose in commands.items()
            if name.startswith(incomplete)
        ]
