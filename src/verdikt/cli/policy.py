"""`verdikt policy`: show, check, test and describe policies."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verdikt.cli.lazy_group import LazyGroup
from verdikt.cli.store_access import json_option
from verdikt.errors import PolicyError
from verdikt.observe.policy_files import MANAGED_POLICY_PATH
from verdikt.policy import load_file, load_policy

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy

EXIT_BAD_POLICY = 65

COMMANDS: dict[str, str] = {
    "show": "the policy in force here, and where each part comes from",
    "lint": "finds rules that never fire, never decide or contradict another",
    "test": "runs the cases of *.cases.yaml",
    "schema": "the JSON Schema of policy files, for editors",
}
"""Subcommand → what it is for; `verdikt.cli.policy_<name>` holds `command`."""


@click.group(cls=LazyGroup, places={name: f"verdikt.cli.policy_{name}:command" for name in COMMANDS}, about=COMMANDS)
def command() -> None:
    """Shows, checks and tests policies.

    A policy that cannot be loaded ends every command with status 65 and one message for each fault.

    Example: verdikt policy show
    """


def policy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which every subcommand is told which policy it is about."""
    function = json_option(function)
    function = click.option("--managed", type=click.Path(dir_okay=False), help="Read this as the managed layer.")(
        function
    )
    function = click.option("--project", type=click.Path(exists=True, file_okay=False), default=".", help="Where to look for layers.")(function)  # fmt: skip
    return click.option("--policy", "file", type=click.Path(), help="One policy file by itself, instead of the layers.")(function)  # fmt: skip


def load_selected_policy(file: str | None, project: str, managed: str | None) -> "Policy":
    """The policy that the options name, or an exit with status 65 and every fault on stderr."""
    try:
        return load_file(file) if file else load_policy(project, managed=managed or MANAGED_POLICY_PATH)
    except PolicyError as error:
        exit_with_faults(error)


def exit_with_faults(error: PolicyError) -> NoReturn:
    """Says every fault and exits with the status for a bad policy."""
    for fault in error.faults:
        click.secho(str(fault), fg="red", err=True)
    sys.exit(EXIT_BAD_POLICY)
