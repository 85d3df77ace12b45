"""Commands whose status 2 means something, so that a wrong call must end with another."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

USAGE = 64


class UsageCommand(click.Command):
    """A command that is called wrongly ends with status 64."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """The parsed call."""
        with _told_apart():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs it."""
        with _told_apart():
            return super().invoke(ctx)


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        setattr(error, "exit_code", USAGE)  # noqa: B010  # for this error alone
        raise
