"""`verdikt hook`: what hosts call. `verdikt.__main__` comes here only for the help."""

import click

from verdikt.hosts.hook import main


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("event", required=False, default="")
@click.argument("payload", required=False, default="")
def command(host: str, event: str, payload: str) -> None:
    """Decides about one event of a host: payload on stdin, one JSON document on stdout.

    HOST is claude, codex, gemini, copilot, opencode, cursor or generic; EVENT is the host's own name for what happens. Hosts
    call this through the wiring that `verdikt init` writes.

    Example: verdikt hook claude PreToolUse < payload.json
    """
    main([word for word in (host, event, payload) if word])
