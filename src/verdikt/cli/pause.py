"""`verdikt pause`: let a person suspend everything but red lines, recorded and expiring."""

import json
import sys

import click

from verdikt.cli.duration import parse_duration
from verdikt.cli.operator_access import get_user_name, require_terminal
from verdikt.cli.store_access import open_data_store
from verdikt.ledger import pause


@click.command()
@click.argument("duration", required=False)
@click.option("--reason", default="", help="Why; it goes into the log.")
@click.option("--end", "end_now", is_flag=True, help="End the pause now.")
@click.option("--json", "as_json", is_flag=True, help="Print the state as JSON.")
def command(*, duration: str | None, reason: str, end_now: bool, as_json: bool) -> None:
    """Let everything but red lines through for a while, or show whether that is so.

    What happens meanwhile is still decided and logged. Works only from a terminal of your own: not from a pipe, not
    from an agent.

    Example: verdikt pause 10m --reason 'rebuilding the staging server by hand'
    """
    store = open_data_store(None)
    if duration or end_now:
        # stdout, because the answer goes there: a pause in a pipeline is a script's, not a person's.
        require_terminal("pausing verdikt", screen=sys.stdout)
        by = get_user_name()
        if end_now:
            pause.end_pause(store, by=by)
        else:
            pause.begin_pause(store, seconds=_parse_length(duration or ""), reason=reason, by=by)
    # Read back from the log: what is shown is what the hooks will see.
    active = pause.find_active_pause(store)
    seconds = max(0, active.until - int(store.clock.now())) if active else 0
    if as_json:
        state = {"paused": active is not None, "seconds": seconds, "reason": active.reason if active else ""}
        click.echo(json.dumps(state))
    elif active:
        click.echo(click.style("paused", fg="yellow") + f" for {seconds // 60} min {seconds % 60} s: {active.reason}")
        click.echo("`verdikt pause --end` ends it")
    else:
        click.echo("the pause is over: the policy decides again" if end_now else "not paused")


def _parse_length(duration: str) -> float:
    seconds = parse_duration(duration, "smh")
    if seconds is None:
        raise click.UsageError(f"expected a duration such as `90s`, `10m` or `1h`, found `{duration}`")
    return float(seconds)
