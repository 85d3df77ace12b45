"""`verdikt ledger rotate` and `verdikt ledger reindex`: keep the log small and its index in step."""

import json
import os
from pathlib import Path

import click

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.progress import show_status
from verdikt.cli.store_access import format_timestamp, home_option, json_option, open_existing_store
from verdikt.ledger.rotation import RotationPolicy, rotate_and_record


@click.command()
@json_option
@home_option
@click.pass_context
def rotate(ctx: click.Context, as_json: bool, home: Path | None) -> None:
    """Archive old sessions, trim long logs and delete old archives.

    Sessions older than $EG_HOT_DAYS (30) are archived, logs over $EG_MAX_HOT_BYTES (50000000) are trimmed, archives are
    deleted after a year. Sessions changed within the last hour are left alone. The warm process does this by itself
    when it is idle; without one, run it from a timer.

    Example: EG_HOT_DAYS=14 verdikt ledger rotate
    """
    policy = RotationPolicy.from_env(os.environ)
    store = open_existing_store(home)
    rotation = rotate_and_record(store, policy)
    record = rotation.to_record()
    timestamp = int(store.clock.now() * 1_000_000)
    if as_json:
        click.echo(json.dumps(record, indent=1))
    else:
        counts = ", ".join(f"{len(record[name])} {name}" for name in ("archived", "trimmed", "deleted"))
        click.echo(
            f"{format_timestamp(timestamp)} {counts}; {len(rotation.active)} left alone because they may be in use"
        )
        for path, why in rotation.failed.items():
            click.echo(f"  {click.style('failed', fg='red')} {path}: {why}", err=True)
    ctx.exit(EXIT_FAILURE if rotation.failed else 0)


@click.command()
@json_option
@home_option
def reindex(as_json: bool, home: Path | None) -> None:
    """Rebuild `state.db` from the log, with the same content.

    Example: verdikt ledger reindex
    """
    # An agent that removed `state.db` to hide a loss would rebuild it next.
    refuse_agents("rebuilding `state.db`")
    store = open_existing_store(home)
    with show_status("rebuilding `state.db`"):
        sessions = store.reindex()
    click.echo(
        json.dumps({"sessions": sessions}) if as_json else f"{sessions} sessions read, `{store.state.path}` rebuilt"
    )
