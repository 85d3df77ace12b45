"""`verdikt evidence validate`: asks one validator about one claim."""

import json
import os
from pathlib import Path

import click

from verdikt.cli.data import existing, home_option, json_option
from verdikt.cli.usage import UsageCommand

STATUS = {"pass": 0, "fail": 2, "refused": 3}


def _arguments(ctx: click.Context, parameter: click.Parameter, value: str) -> dict[str, str]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise click.BadParameter(f'expected a JSON object such as {{"path": "src/app.py"}}, found `{value}`')
    return {str(key): str(inner) for key, inner in found.items()}


@click.command(cls=UsageCommand)
@click.option("--session", required=True, metavar="S", help="The session that claims it.")
@click.option("--claim", required=True, type=click.Choice(["done", "blocked", "delegation"]), help="What is claimed.")
@click.option("--validator", required=True, metavar="NAME", help="Ours, or one of `evidence.validators`.")
@click.option("--args", "arguments", default="{}", callback=_arguments, metavar="JSON", help="What it is about.")
@json_option
@home_option
def validate(
    *, session: str, claim: str, validator: str, arguments: dict[str, str], as_json: bool, home: Path | None
) -> None:
    """Whether the log of the session's present turn proves a claim; a pass is signed into it.

    Exit status 0 PASS, 2 FAIL (no such evidence), 3 REFUSED (wrong validator, weak arguments, no contract), 64 wrong call.

    Example: verdikt evidence validate --session 1f0c… --claim done --validator command_zero_exit --args '{"command": "make verify"}'
    """
    from verdikt.evidence.section import EvidenceSettings
    from verdikt.policy import load_policy
    from verdikt.proving import Proving

    store = existing(home)
    settings = load_policy(os.getcwd()).section("evidence") or EvidenceSettings()
    proof = Proving(settings, store, store.clock).validated(session, claim, validator, arguments)
    if as_json:
        click.echo(json.dumps({**proof.record(), "signed": proof.signed or None}))
    elif proof.holds:
        rests = ", ".join(map(str, proof.entries)) or "nothing"
        click.echo(click.style("PASS", fg="green") + f" {validator}, signed as entry {proof.signed}, on {rests}")
    else:
        word = "REFUSED" if proof.status == "refused" else "FAIL"
        click.echo(click.style(word, fg="red") + f" {validator}: {proof.reason}")
    raise SystemExit(STATUS[proof.status.value])
