"""The type of options that name a file or directory to write: verdikt's own files are refused."""

import os
from typing import Any

import click

from verdikt.errors import VerdiktError
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import find_project_root


class OutputPath(click.Path):
    """A path that a command writes to. `-` is allowed where `allow_dash` is set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raise `VerdiktError` when it leads to a guarded file, or into a guarded directory."""
        if not (self.allow_dash and os.fspath(value) == "-"):
            refuse_guarded_output(os.fspath(value))
        return super().convert(value, param, ctx)


def refuse_guarded_output(path: str) -> None:
    """Raise `VerdiktError` when a path leads to a guarded file, by whatever links, or into a guarded directory."""
    target = os.path.realpath(path)
    home = os.environ.get("HOME") or os.path.expanduser("~")
    # The target's own project too: a report must not replace the policy of another project.
    roots = {find_project_root(directory, home) for directory in (os.getcwd(), os.path.dirname(target))}
    for guarded in {os.path.realpath(name) for root in roots for name in list_guarded_paths(root, os.environ)}:
        if target == guarded or target.startswith(os.path.join(guarded, "")):
            raise VerdiktError(f"`{path}` is one of verdikt's guarded files: choose another file to write to")
