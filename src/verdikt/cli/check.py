"""`verdikt check`: what the policy says of a tool call."""

import os
import sys

import click

from verdikt.graph.layer import PROFILES


@click.command()
@click.option("--batch", is_flag=True, help="Read JSON lines {id, tool, input, cwd}; answer each with a line.")
@click.option("--profile", type=click.Choice(PROFILES), default="standard", show_default=True)
def command(batch: bool, profile: str) -> None:
    """Asks the policy about tool calls. Nothing is run and nothing is recorded.

    Example: verdikt check --batch < history.jsonl
    """
    if not batch:
        raise click.UsageError("expected --batch")
    from verdikt.cli.batch import answers
    from verdikt.policy import parse_policy

    policy = parse_policy(f"profile: {profile}")
    for line in answers(sys.stdin.buffer, policy, home=os.environ.get("HOME", "")):
        click.echo(line)
