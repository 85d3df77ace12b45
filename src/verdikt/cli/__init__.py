"""The `verdikt` command: one module per command, loaded only when it is called."""

import os
import sys
from typing import Any

import click

from verdikt import __version__
from verdikt.cli.exit_status import EXIT_BAD_POLICY
from verdikt.cli.lazy_group import LazyGroup
from verdikt.errors import PolicyError, VerdiktError

SECTIONS: dict[str, dict[str, str]] = {
    # Each text is what `verdikt --help` shows: a table, so that the help loads none of the modules.
    "Start": {
        "init": "set up this project: policy and hooks",
        "doctor": "prove that the hooks fire",
        "status": "one screen: what is wired, what is in force, what happened today",
        "docs": "the documentation, in the terminal: install, now-what, policy …",
        "demo": "a scripted agent session through the real engine",
        "uninstall": "remove the hooks and restore the files",
        "completion": "complete commands in bash, zsh or fish",
    },
    "Ask what would happen": {
        "check": "what the policy says about a tool call, or many of them",
        "explain": "what a command would do, part by part, and which guard decides",
        "rule": "the catalogue of rules, or everything about one",
        "knowledge": "what verdikt knows of programs: show, lint, learn",
        "manifest": "declared effects of tools: validate, classify",
    },
    "Look at what happened": {
        "report": "what agents did, what was stopped, what they did then, what could be allowed",
        "ledger": "the tamper-evident log: verify, tail, show, stats, export, checkpoint, rotate, reindex",
        "replay": "repeat recorded decisions, with their own policy or another",
        "serve": "the log in the browser: what happens now, sessions, search, export; for one or for a team",
        "ship": "send this machine's log to a team service: enrol, run, status, forget",
    },
    "Change what is allowed": {
        "allow": "an exception for what was stopped, for a while or for good",
        "policy": "show, check, test and accept policies",
        "grant": "an operator's permission to get past a guard: add, list, revoke",
        "pause": "allow everything but red lines for a while, on record",
        "posture": "whether a person is there to answer: show, set",
    },
    "Prove that work is done": {
        "evidence": "no `done` without proof: claims, contracts, validators, reports",
        "stop-check": "what must be true before an agent may stop: show, check",
        "council": "reviewers of what is about to be committed: plan, run, done, history, purge",
        "findings": "what reviewers found: record, show, explain, retro, clear, import, export, gate",
        "git": "hooks that make commits wait for the councils: install, uninstall, status, check",
    },
    "Behind the hooks": {
        "hook": "the command that hosts call: decides one event",
        "daemon": "the warm process that answers hooks: start, stop, status, hooks, logs",
        "keys": "the keys that sign the log: init, list, rotate",
        "mcp": "govern an MCP server for any client: the relay, and the pins of its tools",
    },
}
"""Task → its commands, each with its purpose, in the order of the help."""

COMMANDS: dict[str, str] = {name: purpose for commands in SECTIONS.values() for name, purpose in commands.items()}
"""Command → its purpose. `verdikt.cli.<command>` (dashes as underscores) defines `command`, a click command."""

COMPLETION_VARIABLE = "_VERDIKT_COMPLETE"
"""Set by the shell's completion script, which calls `verdikt` without arguments."""


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
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__)
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
    arguments = argv if argv is not None else sys.argv[1:]
    if arguments:
        # click would complete words instead of running the command, and end with 0: `_VERDIKT_COMPLETE=bash_source git
        # commit` would then be a commit that no council sees.
        os.environ.pop(COMPLETION_VARIABLE, None)
    # click reports its own usage errors with status 2; `UsageCommand` changes that where 2 is taken.
    return root.main(args=arguments, prog_name="verdikt", complete_var=COMPLETION_VARIABLE)
