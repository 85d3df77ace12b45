"""Commands whose status 2 means something, so that a wrong call must end with another."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

EXIT_USAGE = 64


class UsageCommand(click.Command):
    """A command that is called wrongly ends with status 64."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """The parsed call."""
        with _exit_with_usage_status():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs it."""
        with _exit_with_usage_status():
            return super().invoke(ctx)


@contextmanager
def _exit_with_usage_status() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        setattr(error, "exit_code", EXIT_USAGE)  # noqa: B010  # for this error alone
        raise
