"""The `verdikt` command: one module per command, loaded only when it is called."""

import sys
from typing import Any

import click

from verdikt.cli.lazy_group import LazyGroup
from verdikt.errors import PolicyError, VerdiktError

COMMANDS: dict[str, str] = {
    "findings": "what reviewers found: record, show, explain, retro, clear, import, export, gate",
    "council": "reviewers of what is about to be committed: plan, run, done, history, purge",
    "git": "hooks that make commits wait for the councils: install, uninstall, status, check",
    "demo": "a scripted agent session through the real engine",
    "policy": "show, check and test policies",
    "check": "what the policy says of a tool call, or of many",
    "explain": "what a command would do, part by part, and who decides",
    "manifest": "what tools declare that they do: validate, classify",
    "hook": "what hosts call: decides about one event",
    "ledger": "the tamper-evident log: verify, tail, show, stats, export, checkpoint, rotate, reindex",
    "replay": "decide again what was decided, or what another policy would have said",
    "posture": "who is there to answer: show, set",
    "evidence": "no `done` without proof: claims, contracts, validators, reports",
    "completion": "what must be true before an agent may stop: show, check",
    "keys": "the keys that sign the log: init, list, rotate",
    "grant": "an operator's permission to get past a guard: add, list, revoke",
    "init": "make this project governed: policy and hooks",
    "uninstall": "take the hooks out, files as they were",
    "doctor": "prove that the hooks fire",
    "daemon": "the warm process that answers hooks: start, stop, status, hooks, logs",
    "pause": "let everything but red lines through for a while, on record",
}
"""Command → what it is for. `verdikt.cli.<command>` (dashes as underscores) holds `command`, a click command."""


class BadPolicy(click.ClickException):
    """Ends the command with the status of a policy that cannot be loaded."""

    exit_code = 65


class RootGroup(LazyGroup):
    """Every command; here errors stop."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; what verdikt refuses on purpose is told in a line, with status 1, or 65 when it is the policy."""
        try:
            return super().invoke(ctx)
        except VerdiktError as error:
            raise (BadPolicy if isinstance(error, PolicyError) else click.ClickException)(str(error)) from error


@click.group(
    cls=RootGroup,
    places={name: f"verdikt.cli.{name.replace('-', '_')}:command" for name in COMMANDS},
    about=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="verdikt")
def root() -> None:
    """verdikt stands between an AI agent and the world.

    Example: verdikt check --tool Bash 'rm -rf build'
    """


def main(argv: list[str] | None = None) -> Any:
    """Runs the command line and exits with the command's status."""
    # click reports its own usage errors with status 2.
    return root.main(args=argv if argv is not None else sys.argv[1:], prog_name="verdikt")
