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


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with the filter options; it gets them as one `entry_filter`."""

    @wraps(function)
    def with_filter(*args: Any, **kwargs: Any) -> Any:
        values: dict[str, Any] = {name: kwargs.pop(name) or "" for name in ("project", "host", "verdict", "rule")}
        if values["project"]:
            values["project"] = os.path.realpath(values["project"])
        values |= {name: kwargs.pop(name) or 0.0 for name in ("since", "until")}
        return function(*args, entry_filter=EntryFilter(**values), **kwargs)

    options = (
        click.option("--since", callback=_parse_moment, metavar="TIME", help="Newer than 30m, 2h, 7d, or a date."),
        click.option("--until", callback=_parse_moment, metavar="TIME", help="Older than that."),
        click.option("--project", metavar="DIR", help="Only in this directory and below it."),
        click.option("--host", help="Only from this host, such as claude."),
        click.option("--verdict", type=click.Choice(["pass", "warn", "ask", "block"]), help="Only these decisions."),
        click.option("--rule", help="Only decisions by this rule or guard."),
    )
    decorated: Callable[..., Any] = with_filter
    for option in reversed(options):
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
