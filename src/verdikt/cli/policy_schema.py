"""`verdikt policy schema`: print the JSON Schema of policy files."""

import json

import click

from verdikt.graph.policy_schema import build_policy_schema
from verdikt.policy import get_registry


@click.command()
def command() -> None:
    """Print the JSON Schema of governance.yaml, for editors.

    Example: verdikt policy schema > governance.schema.json
    """
    click.echo(json.dumps(build_policy_schema(get_registry()), indent=2, ensure_ascii=False))
