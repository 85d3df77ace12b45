"""`verdikt ledger rotate` and `verdikt ledger reindex`."""

import json
import os
from pathlib import Path

import click

from verdikt.cli.store_access import format_timestamp, home_option, json_option, open_existing_store
from verdikt.ledger.rotation import RotationPolicy
from verdikt.ledger.rotation import rotate as run


@click.command()
@json_option
@home_option
@click.pass_context
def rotate(ctx: click.Context, as_json: bool, home: Path | None) -> None:
    """Archives what is older than $EG_HOT_DAYS (30), trims logs over $EG_MAX_HOT_BYTES (50000000), deletes archives after a year.

    Sessions touched within the last hour are left alone. Made for a timer: once a day at 03:30 UTC will do.

    Example: EG_HOT_DAYS=14 verdikt ledger rotate
    """
    policy = RotationPolicy.from_env(os.environ)
    store = open_existing_store(home)
    done = run(store, policy)
    record = {
        **{name: [str(path) for path in getattr(done, name)] for name in ("archived", "trimmed", "deleted", "active")},
        "failed": {str(path): why for path, why in done.failed.items()},
    }
    ts = int(store.clock.now() * 1_000_000)
    with open(store.home / "_rotate.log", "a", encoding="utf-8") as file:
        file.write(json.dumps({"ts": ts, **record}) + "\n")
    if as_json:
        click.echo(json.dumps(record, indent=1))
    else:
        counts = ", ".join(f"{len(record[name])} {name}" for name in ("archived", "trimmed", "deleted"))
        click.echo(f"{format_timestamp(ts)} {counts}; {len(done.active)} left alone because they may be in use")
        for path, why in done.failed.items():
            click.echo(f"  {click.style('failed', fg='red')} {path}: {why}", err=True)
    ctx.exit(1 if done.failed else 0)


@click.command()
@json_option
@home_option
def reindex(as_json: bool, home: Path | None) -> None:
    """Rebuilds `state.db` from the log, to the same content.

    Example: verdikt ledger reindex
    """
    store = open_existing_store(home)
    sessions = store.reindex()
    click.echo(
        json.dumps({"sessions": sessions}) if as_json else f"{sessions} sessions read, `{store.state.path}` rebuilt"
    )
