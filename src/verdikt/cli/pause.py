"""`verdikt pause`: a person's way out, recorded and expiring."""

import json
import os
import re
import sys

import click

from verdikt.cli.store_access import open_data_store
from verdikt.errors import VerdiktError
from verdikt.ledger import pause
from verdikt.observe.agent_environment import detect_agent

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}


@click.command()
@click.argument("duration", required=False)
@click.option("--reason", default="", help="Why. It goes into the log.")
@click.option("--end", "over", is_flag=True, help="End the pause now.")
@click.option("--json", "as_json", is_flag=True, help="The state as JSON.")
def command(*, duration: str | None, reason: str, over: bool, as_json: bool) -> None:
    """Lets everything but red lines through for a while, or shows whether it does. What happens meanwhile is still decided and logged.

    Works only from a terminal of your own: not from a pipe, and not from an agent.

    Example: verdikt pause 10m --reason 'rebuilding the staging server by hand'
    """
    try:
        store = open_data_store(None)
        if duration or over:
            _require_operator()
            by = os.environ.get("USER") or os.environ.get("LOGNAME") or ""
            if over:
                pause.end_pause(store, by=by)
            else:
                pause.begin_pause(store, seconds=_parse_duration(duration or ""), reason=reason, by=by)
        now = pause.find_active_pause(store)
        left = max(0, now.until - int(store.clock.now())) if now else 0
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"paused": now is not None, "seconds": left, "reason": now.reason if now else ""}))
    elif now:
        click.echo(click.style("paused", fg="yellow") + f" for {left // 60} min {left % 60} s: {now.reason}")
        click.echo("`verdikt pause --end` ends it")
    else:
        click.echo("not paused")


def _require_operator() -> None:
    agent = detect_agent(os.environ)
    if agent:
        raise click.ClickException(
            f"{agent} runs this command, and agents cannot pause verdikt; run it in a terminal of your own"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.ClickException("only a person at a terminal can pause verdikt; run it in a terminal of your own")


def _parse_duration(duration: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([smh])", duration)
    if not found:
        raise click.UsageError(f"expected a duration such as `90s`, `10m` or `1h`, found `{duration}`")
    return float(found[1]) * _UNIT_SECONDS[found[2]]
