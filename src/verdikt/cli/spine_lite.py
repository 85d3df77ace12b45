"""`spine-lite`: the commands of that program, on verdikt's manifests, postures and eight-field receipts."""

import sys
from pathlib import Path
from typing import Any

import click

from verdikt import __version__
from verdikt.cli.check import exit_with_denial
from verdikt.cli.exit_status import EXIT_BAD_PAYLOAD, EXIT_BAD_POLICY, EXIT_BY_DISPOSITION
from verdikt.cli.manifest import classify, read_manifest, validate
from verdikt.effects.declared import judge, receive
from verdikt.errors import HookError, ManifestError
from verdikt.model.posture import Posture


@click.group()
def command() -> None:
    """Classify tool calls by a manifest; each command is also one of `verdikt`.

    Example: spine-lite hook --manifest tools.json < call.json
    """


@command.command()
def version() -> None:
    """Print the version.

    Example: spine-lite version
    """
    click.echo(__version__)


command.add_command(validate, "validate-manifest")
command.add_command(classify, "classify")


@command.command()
@click.option(
    "-m",
    "--manifest",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The manifest.",
)
@click.option(
    "--posture",
    type=click.Choice([posture.value for posture in Posture]),
    default=Posture.INTERACTIVE.value,
    show_default=True,
    help="Whether a person is there to answer.",
)
def hook(manifest: Path, posture: str) -> None:
    """Decide the tool call on stdin and print its receipt.

    Exit status: 0 allow, 1 deny, 2 escalate or wrong usage, 64 bad payload, 65 bad manifest.

    Example: spine-lite hook --manifest tools.json --posture locked < call.json
    """
    try:
        declared = read_manifest(manifest)
        receipt = judge(receive(sys.stdin.buffer.read()), declared, Posture(posture))
    except HookError as error:
        exit_with_denial(error, EXIT_BAD_PAYLOAD)
    except ManifestError as error:
        exit_with_denial(error, EXIT_BAD_POLICY)
    click.echo(receipt.bytes + b"\n", nl=False)
    sys.exit(EXIT_BY_DISPOSITION[receipt.disposition])


def main(argv: list[str] | None = None) -> Any:
    """Run `spine-lite`."""
    return command.main(args=argv, prog_name="spine-lite")


if __name__ == "__main__":
    main()
