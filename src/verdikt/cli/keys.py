"""`verdikt keys`: create, list and rotate the keys that sign the log."""

import json
from pathlib import Path

import click

from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import format_timestamp, home_option, json_option, open_data_store, resolve_home
from verdikt.ledger.key_rotation import rotate_key
from verdikt.ledger.keys import ALGORITHM_LABELS, Keyring, to_public_records

_ALGORITHM_OPTION = click.option(
    "--algorithm",
    type=click.Choice(["ed25519", "hmac-sha256"]),
    default="ed25519",
    show_default=True,
    help="With hmac-sha256, anyone who can read the key can forge the log.",
)


@click.group()
def command() -> None:
    """Manage the keys that sign the log.

    Example: verdikt keys init
    """


@command.command()
@_ALGORITHM_OPTION
@json_option
@home_option
def init(algorithm: str, as_json: bool, home: Path | None) -> None:
    """Create the first key; without this command it is created when first needed.

    Example: verdikt keys init
    """
    refuse_agents("creating keys")
    keyring = open_data_store(home).keyring
    key = keyring.create_first_key(algorithm)
    if as_json:
        click.echo(json.dumps(to_public_records([key])[0]))
        return
    click.echo(f"{key.kid}: {key.algorithm}, {ALGORITHM_LABELS[key.algorithm]}")
    click.echo(f"kept in `{keyring.directory}`, readable by you alone")


@command.command("list")
@json_option
@home_option
def list_keys(as_json: bool, home: Path | None) -> None:
    """List all keys, also those rotated out, oldest first.

    Example: verdikt keys list
    """
    # The key ring alone: a list must not create a store where there is none.
    keyring = Keyring(resolve_home(home) / "keys")
    keys, current = keyring.list_keys(), keyring.current_kid()
    if as_json:
        click.echo(json.dumps({"current": current, "keys": to_public_records(keys)}, indent=1))
        return
    if not keys:
        click.echo(f"no key in `{keyring.directory}`; run `verdikt keys init`")
    for key in keys:
        if key.kid == current:
            state = click.style("signs", fg="green")
        elif key.retired is not None:
            state = f"verifies, rotated out {format_timestamp(key.retired * 1_000_000)}"
        else:
            state = "prepared, never used"
        click.echo(f"{key.kid}  {key.algorithm}  made {format_timestamp(key.created * 1_000_000)}  {state}")
        click.echo(f"    {ALGORITHM_LABELS[key.algorithm]}")


@command.command()
@_ALGORITHM_OPTION
@click.option("--lost", is_flag=True, help="The current secret key is lost: let the new key sign its own introduction.")
@json_option
@home_option
def rotate(algorithm: str, lost: bool, as_json: bool, home: Path | None) -> None:
    """Replace the current key; what it signed stays verifiable, and the log records the change.

    Example: verdikt keys rotate
    """
    # An agent with a fresh key could sign a history of its own making.
    refuse_agents("rotating keys")
    key, entry = rotate_key(open_data_store(home), algorithm, lost=lost)
    if as_json:
        click.echo(
            json.dumps({"key": to_public_records([key])[0], "entry": {"session": entry.session, "seq": entry.seq}})
        )
    else:
        click.echo(
            f"{key.kid} signs from now on; {entry.body['old']} still verifies (entry {entry.seq} of `{entry.session}`)"
        )
