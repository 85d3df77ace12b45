"""Commands that report wrong usage with status 64, because 2 means something else for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from verdikt.cli.exit_status import EXIT_USAGE


class UsageCommand(click.Command):
    """A command that ends with status 64 when it is called wrongly."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the call."""
        with _exit_with_usage_status():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a usage error can also arise here."""
        with _exit_with_usage_status():
            return super().invoke(ctx)


@contextmanager
def _exit_with_usage_status() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        # On this error alone: the class is shared with the commands that use 2. mypy refuses a plain assignment.
        setattr(error, "exit_code", EXIT_USAGE)  # noqa: B010
        raise
