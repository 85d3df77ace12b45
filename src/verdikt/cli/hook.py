"""`verdikt hook`, which hosts call. `verdikt.__main__` runs the hook itself and comes here only for the help."""

import click

from verdikt.hosts.hook import main
from verdikt.hosts.registry import HOSTS

_NAMES = list(HOSTS)
# A docstring cannot be formatted, and the list of hosts comes from the registry.
_HELP = f"""Decide about one event of a host: payload on stdin, one JSON document on stdout.

HOST is {", ".join(_NAMES[:-1])} or {_NAMES[-1]}; EVENT is the host's own name for what happens. Hosts call this through
the wiring that `verdikt init` writes.

Example: verdikt hook claude PreToolUse < payload.json
"""


@click.command(context_settings={"ignore_unknown_options": True}, help=_HELP)
@click.argument("host")
@click.argument("event", required=False, default="")
@click.argument("payload", required=False, default="")
def command(host: str, event: str, payload: str) -> None:
    """Run the hook with these arguments."""
    main([argument for argument in (host, event, payload) if argument])
