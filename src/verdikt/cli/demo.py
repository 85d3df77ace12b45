"""`verdikt demo`: a scripted agent session through the real engine."""

import click


@click.command()
def command() -> None:
    """Shows a scripted agent session. Example: verdikt demo"""
    click.echo("verdikt demo")
