"""`verdikt policy`: show, lint, test and accept policies, and print their schema."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verdikt.cli.exit_status import EXIT_BAD_POLICY
from verdikt.cli.lazy_group import LazyGroup
from verdikt.cli.store_access import json_option
from verdikt.errors import PolicyError
from verdikt.observe.policy_files import MANAGED_POLICY_PATH
from verdikt.policy import load_file, load_policy

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy

COMMANDS: dict[str, str] = {
    "show": "the policy in force here, and where each part comes from",
    "lint": "find rules that never fire, never decide or contradict another",
    "test": "run the cases of *.cases.yaml",
    "pending": "what waits for a person to accept it",
    "accept": "let the policy on disk take effect",
    "schema": "the JSON Schema of policy files, for editors",
}
"""Subcommand → its purpose; `verdikt.cli.policy_<name>` defines `command`."""


@click.group(
    cls=LazyGroup,
    places={name: f"verdikt.cli.policy_{name}:command" for name in COMMANDS},
    sections={"Commands": COMMANDS},
)
def command() -> None:
    """Show, lint, test and accept policies.

    A policy that cannot be loaded ends every command with status 65 and one message for each error.

    Example: verdikt policy show
    """


def policy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a subcommand with the options that select a policy, and with --json."""
    managed = click.option("--managed", type=click.Path(dir_okay=False), help="Read this as the managed layer.")
    project_path = click.Path(exists=True, file_okay=False)
    project = click.option("--project", type=project_path, default=".", help="The project whose layers count.")
    file = click.option("--policy", "file", type=click.Path(), help="Read this file alone, instead of the layers.")
    # From the inside out: the help lists the options in the opposite order.
    decorated: Callable[..., Any] = file(project(managed(json_option(function))))
    return decorated


def load_selected_policy(file: str | None, project: str, managed: str | None) -> "Policy":
    """Return the policy that the options select; exit with status 65 and every error on stderr if it is bad."""
    try:
        return load_file(file) if file else load_policy(project, managed=managed or MANAGED_POLICY_PATH)
    except PolicyError as error:
        exit_with_faults(error)


def exit_with_faults(error: PolicyError) -> NoReturn:
    """Print every error of a policy and exit with status 65."""
    for fault in error.faults:
        click.secho(str(fault), fg="red", err=True)
    sys.exit(EXIT_BAD_POLICY)
