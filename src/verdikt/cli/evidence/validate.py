"""`verdikt evidence validate`: ask one validator about one claim."""

import json
import os
from pathlib import Path
from typing import NoReturn

import click

from verdikt.cli.exit_status import EXIT_BY_PROOF_STATUS
from verdikt.cli.store_access import home_option, json_option, open_existing_store, resolve_session
from verdikt.cli.usage_command import UsageCommand
from verdikt.errors import LedgerError
from verdikt.evidence.gate_service import EvidenceGate
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.validator import Proof, ProofStatus
from verdikt.graph.policy_cache import load_cached_policy


def _parse_arguments(ctx: click.Context, parameter: click.Parameter, value: str) -> dict[str, str]:
    try:
        arguments = json.loads(value)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise click.BadParameter(f'expected a JSON object such as {{"path": "src/app.py"}}, found `{value}`')
    return {str(key): str(inner) for key, inner in arguments.items()}


@click.command(cls=UsageCommand)
@click.option("--session", required=True, metavar="S", help="The session that claims it.")
@click.option("--claim", required=True, type=click.Choice(["done", "blocked", "delegation"]), help="What is claimed.")
@click.option("--validator", required=True, metavar="NAME", help="A built-in one, or one of `evidence.validators`.")
@click.option(
    "--args", "arguments", default="{}", callback=_parse_arguments, metavar="JSON", help="The validator's arguments."
)
@json_option
@home_option
def validate(
    *, session: str, claim: str, validator: str, arguments: dict[str, str], as_json: bool, home: Path | None
) -> None:
    """Check whether the log of the session's present turn proves a claim; sign a pass into the log.

    Exit status 0 PASS, 2 FAIL (no such evidence), 3 REFUSED (wrong validator, weak arguments, no contract), 64 wrong
    usage.

    \b
    Validators, and the keys of --args:
      done        command_zero_exit (command or command_substring; keyword)
                  pytest_pass (target or path; required_runs)
                  file_diff_present (path)       http_2xx (url)
                  tests_pass, tests_no_worse, build_passes, image_builds, lint_clean, types_clean,
                  commit_exists
      blocked     ladder_exhaustion_proof
      delegation  fetch_attempt_proof (keyword)

    Example: verdikt evidence validate --session 1f0c… --claim done --validator pytest_pass --args '{"path": "tests"}'
    """  # noqa: D301
    store = open_existing_store(home)
    try:
        session = resolve_session(store, session)
    except LedgerError as error:
        # An unknown session is an answer about the claim, with the status for it, not a failure of the command.
        _exit_with_proof(Proof(validator, ProofStatus.REFUSED, str(error)), validator, as_json=as_json)
    settings = load_cached_policy("", os.environ).section("evidence") or EvidenceSettings()
    proof = EvidenceGate(settings, store, store.clock).validate_claim(session, claim, validator, arguments)
    _exit_with_proof(proof, validator, as_json=as_json)


def _exit_with_proof(proof: Proof, validator: str, *, as_json: bool) -> NoReturn:
    """Print the result and exit with its status."""
    if as_json:
        click.echo(json.dumps({**proof.record(), "signed": proof.signed or None}))
    elif proof.holds:
        entries = ", ".join(map(str, proof.entries)) or "nothing"
        click.echo(click.style("PASS", fg="green") + f" {validator}, signed as entry {proof.signed}, on {entries}")
    else:
        word = "REFUSED" if proof.status == "refused" else "FAIL"
        click.echo(click.style(word, fg="red") + f" {validator}: {proof.reason}")
    raise SystemExit(EXIT_BY_PROOF_STATUS[proof.status.value])
