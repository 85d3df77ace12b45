"""The `verdikt` command: one module per command, loaded only when it is called."""

import os
import sys
from typing import Any

import click

from verdikt.cli.exit_status import EXIT_BAD_POLICY
from verdikt.cli.lazy_group import LazyGroup
from verdikt.errors import PolicyError, VerdiktError

COMMANDS: dict[str, str] = {
    # Each text is what `verdikt --help` shows: a table, so that the help loads none of the modules.
    "findings": "what reviewers found: record, show, explain, retro, clear, import, export, gate",
    "council": "reviewers of what is about to be committed: plan, run, done, history, purge",
    "git": "hooks that make commits wait for the councils: install, uninstall, status, check",
    "demo": "a scripted agent session through the real engine",
    "policy": "show, check and test policies",
    "check": "what the policy says about a tool call, or many of them",
    "explain": "what a command would do, part by part, and which guard decides",
    "manifest": "declared effects of tools: validate, classify",
    "knowledge": "what verdikt knows of programs: show, lint, learn",
    "hook": "the command that hosts call: decides one event",
    "ledger": "the tamper-evident log: verify, tail, show, stats, export, checkpoint, rotate, reindex",
    "replay": "repeat recorded decisions, with their own policy or another",
    "posture": "whether a person is there to answer: show, set",
    "evidence": "no `done` without proof: claims, contracts, validators, reports",
    "completion": "what must be true before an agent may stop: show, check",
    "keys": "the keys that sign the log: init, list, rotate",
    "grant": "an operator's permission to get past a guard: add, list, revoke",
    "rule": "the catalogue of rules, or everything about one",
    "allow": "an exception for what was stopped, for a while or for good",
    "status": "one screen: what is wired, what is in force, what happened today",
    "report": "what agents did, what was stopped, what they did then, what could be allowed",
    "init": "set up this project: policy and hooks",
    "uninstall": "remove the hooks and restore the files",
    "doctor": "prove that the hooks fire",
    "daemon": "the warm process that answers hooks: start, stop, status, hooks, logs",
    "pause": "allow everything but red lines for a while, on record",
}
"""Command → its purpose. `verdikt.cli.<command>` (dashes as underscores) defines `command`, a click command."""


class BadPolicy(click.ClickException):
    """A policy that cannot be loaded, as an error of the command line."""

    exit_code = EXIT_BAD_POLICY


class RootGroup(LazyGroup):
    """All commands; the one place where errors become a message and a status."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; report a `VerdiktError` in one line, with status 1, or 65 for a bad policy."""
        try:
            return super().invoke(ctx)
        # Only our own errors: a traceback of any other is worth more to a bug report than a message.
        except VerdiktError as error:
            exception_type = BadPolicy if isinstance(error, PolicyError) else click.ClickException
            raise exception_type(str(error)) from error


@click.group(
    cls=RootGroup,
    places={name: f"verdikt.cli.{name.replace('-', '_')}:command" for name in COMMANDS},
    about=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(package_name="verdikt")
@click.pass_context
def root(ctx: click.Context) -> None:
    """Decide what an AI agent may do, before it happens, and keep a tamper-evident log.

    Example: verdikt check --tool Bash 'rm -rf build'
    """
    if ctx.invoked_subcommand is None:
        from verdikt.cli.status import command, is_governed  # heavy, and rarely without a command

        # Where nothing is governed yet, the commands are what a newcomer needs.
        if is_governed(os.getcwd()):
            ctx.invoke(command)
        else:
            click.echo(ctx.get_help())


def main(argv: list[str] | None = None) -> Any:
    """Run the command line and exit with the command's status."""
    # click reports its own usage errors with status 2; `UsageCommand` changes that where 2 is taken.
    return root.main(args=argv if argv is not None else sys.argv[1:], prog_name="verdikt")
