"""The options by which views of the log select entries."""

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import click

from verdikt.cli.duration import parse_duration
from verdikt.report.entry_filter import EntryFilter

_PLACE_OPTIONS = ("since", "until", "project", "host")


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with the filter options; it gets them as one `entry_filter`."""
    return _add_options(function, _OPTIONS)


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with those filter options that select whole sessions: time, project and host."""
    return _add_options(function, {name: _OPTIONS[name] for name in _PLACE_OPTIONS})


def _add_options(function: Callable[..., Any], options: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    @wraps(function)
    def with_filter(*args: Any, **kwargs: Any) -> Any:
        values = {name: value for name in options if (value := kwargs.pop(name))}
        if "project" in values:
            values["project"] = os.path.realpath(values["project"])
        return function(*args, entry_filter=EntryFilter(**values), **kwargs)

    decorated: Callable[..., Any] = with_filter
    for option in reversed(options.values()):
        decorated = option(decorated)
    return decorated


def _parse_moment(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a moment in seconds since the epoch: an age, or a date with or without a time, in UTC."""
    if value is None:
        return None
    seconds = parse_duration(value, "mhdw")
    if seconds is not None:
        return time.time() - seconds
    if re.fullmatch(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?", value):
        try:
            return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
        except ValueError:
            pass
    raise click.BadParameter(f"expected an age such as 2h or 7d, or a date such as 2026-11-16, found `{value}`")


_OPTIONS: dict[str, Callable[..., Any]] = {
    "since": click.option("--since", callback=_parse_moment, metavar="TIME", help="Newer than 30m, 2h, 7d, or a date."),
    "until": click.option("--until", callback=_parse_moment, metavar="TIME", help="Older than that."),
    "project": click.option("--project", metavar="DIR", help="Only in this directory and below it."),
    "host": click.option("--host", help="Only from this host, such as claude."),
    "verdict": click.option(
        "--verdict", type=click.Choice(["pass", "warn", "ask", "block"]), help="Only these decisions."
    ),
    "rule": click.option("--rule", help="Only decisions by this rule or guard."),
}
"""Field of an `EntryFilter` → the option that sets it, in the order of the help."""
