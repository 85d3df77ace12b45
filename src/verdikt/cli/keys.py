"""`verdikt keys`: the keys that sign the log."""

import json
from pathlib import Path

import click

from verdikt.cli.data import home_option, json_option, moment, opened, the_home

_ALGORITHM = click.option(
    "--algorithm",
    type=click.Choice(["ed25519", "hmac-sha256"]),
    default="ed25519",
    show_default=True,
    help="hmac-sha256 can be forged by whoever can read it.",
)


@click.group()
def command() -> None:
    """The keys that sign the log.

    Example: verdikt keys init
    """


@command.command()
@_ALGORITHM
@json_option
@home_option
def init(algorithm: str, as_json: bool, home: Path | None) -> None:
    """Makes the first key. (It is made when first needed, too.)

    Example: verdikt keys init
    """
    from verdikt.ledger.keys import LABELS, public_record

    keyring = opened(home).keyring
    key = keyring.init(algorithm)
    if as_json:
        click.echo(json.dumps(public_record([key])[0]))
        return
    click.echo(f"{key.kid}: {key.algorithm}, {LABELS[key.algorithm]}")
    click.echo(f"kept in `{keyring.directory}`, readable by you alone")


@command.command("list")
@json_option
@home_option
def list_(as_json: bool, home: Path | None) -> None:
    """Every key there ever was, oldest first.

    Example: verdikt keys list
    """
    from verdikt.ledger.keys import LABELS, Keyring, public_record

    keyring = Keyring(the_home(home) / "keys")
    keys, current = keyring.known(), keyring.current_kid()
    if as_json:
        click.echo(json.dumps({"current": current, "keys": public_record(keys)}, indent=1))
        return
    if not keys:
        click.echo(f"no key in `{keyring.directory}`; run `verdikt keys init`")
    for key in keys:
        if key.kid == current:
            state = click.style("signs", fg="green")
        elif key.retired is not None:
            state = f"verifies, rotated out {moment(key.retired * 1_000_000)}"
        else:
            state = "prepared, never used"
        click.echo(f"{key.kid}  {key.algorithm}  made {moment(key.created * 1_000_000)}  {state}")
        click.echo(f"    {LABELS[key.algorithm]}")


@command.command()
@_ALGORITHM
@click.option("--lost", is_flag=True, help="The secret half of the current key is gone: the new key introduces itself.")
@json_option
@home_option
def rotate(algorithm: str, lost: bool, as_json: bool, home: Path | None) -> None:
    """Replaces the current key. Everything signed before stays verifiable; the log records it.

    Example: verdikt keys rotate
    """
    from verdikt.cli.operator import refuse_agents
    from verdikt.ledger.key_rotation import rotate_key
    from verdikt.ledger.keys import public_record

    refuse_agents("rotating keys")
    key, entry = rotate_key(opened(home), algorithm, lost=lost)
    if as_json:
        click.echo(json.dumps({"key": public_record([key])[0], "entry": {"session": entry.session, "seq": entry.seq}}))
    else:
        click.echo(
            f"{key.kid} signs from now on; {entry.body['old']} still verifies (entry {entry.seq} of `{entry.session}`)"
        )
