"""Command groups that suggest a name for a mistyped command."""

import click

from verdikt.model.yaml_node import suggest_name


class SuggestingGroup(click.Group):
    """A group that answers an unknown command with the closest known one.

    Newer releases of click do so themselves, but only for commands that are registered before the call.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names."""
        name = args[0]
        names = self.list_commands(ctx)
        # What begins with a dash is an option in the wrong place, which click reports better.
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"no command `{name}`{suggest_name(name, names, list_names=False)}")
        return super().resolve_command(ctx, args)
