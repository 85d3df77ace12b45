"""`verdikt manifest`: validate manifests of tools and query them."""

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.effects.declared import ToolCall, classify_declared
from verdikt.effects.manifest import parse_manifest
from verdikt.errors import ManifestError
from verdikt.model.canonical_json import encode_canonical

if TYPE_CHECKING:
    from verdikt.effects.manifest import Manifest


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Validate and query manifests that declare what tools do, as JSON or TOML.

    Example: verdikt manifest validate tools.json
    """


def read_manifest(path: Path) -> "Manifest":
    """Read the manifest in a file, TOML by its suffix, else JSON; raise `ManifestError` when it cannot be used."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ManifestError(f"cannot read `{path}`: {error.strerror}") from error
    # By the suffix, not by trial: an invalid JSON file should get an error about JSON.
    if path.suffix != ".toml":
        return parse_manifest(data)
    try:
        return parse_manifest(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"`{path}` is not valid TOML: {error}") from error


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
def validate(path: Path) -> None:
    """Validate a manifest; status 1 when it cannot be used.

    Example: verdikt manifest validate tools.json
    """
    try:
        read_manifest(path)
    except ManifestError as error:
        click.echo(f"invalid: {error}", err=True)
        sys.exit(EXIT_FAILURE)
    click.echo(f"valid: {path}")


@command.command()
@click.argument("tool")
@click.option("-m", "--manifest", required=True, type=click.Path(path_type=Path), help="The manifest.")
def classify(tool: str, manifest: Path) -> None:
    """Show what a manifest declares about a tool, as one line of JSON; status 1 when nothing.

    Example: verdikt manifest classify git_push -m tools.json
    """
    try:
        classification = classify_declared(ToolCall(tool=tool), read_manifest(manifest))
    except ManifestError as error:
        click.echo(f"ManifestError: {error}", err=True)
        sys.exit(EXIT_FAILURE)
    click.echo(encode_canonical(classification.dump()).decode())
