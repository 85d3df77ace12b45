"""`verdikt policy schema`: the JSON Schema of policy files."""

import json

import click


@click.command()
def command() -> None:
    """Prints the JSON Schema of governance.yaml, for editors.

    Example: verdikt policy schema > governance.schema.json
    """
    from verdikt.graph.schema import policy_schema
    from verdikt.policy import registry

    click.echo(json.dumps(policy_schema(registry()), indent=2, ensure_ascii=False))
