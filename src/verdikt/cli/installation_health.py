"""What of an installation is broken, as far as it can be told without firing a canary."""

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from verdikt.errors import PolicyError, VerdiktError
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.hosts.wiring.host_wiring import WiredFile
from verdikt.hosts.wiring.inspection import find_wired_files, get_wrapper_state
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.acceptance_log import find_unlogged_projects
from verdikt.ledger.accepted_policies import read_index
from verdikt.observe.runtime_environment import find_enclosing_project
from verdikt.policy import load_policy

INTACT = "intact"


class InstallationHealth(NamedTuple):
    """What an installation rests on beside the clients' settings."""

    wrapper: str
    """`intact`, or what became of the wrapper that the clients call."""
    policy_fault: str
    """Why the policy cannot be loaded; empty when it can."""
    unlogged_acceptances: list[str]
    """Projects whose policy was accepted by something that left no entry."""
    runtime: dict[str, str]
    """The environment that the hooks run from, and the project in which it lies."""

    def list_faults(self, *, is_wrapper_called: bool) -> list[str]:
        """Return the names of what is broken."""
        broken = {
            # A broken wrapper matters only if a client calls it.
            "the wrapper": is_wrapper_called and self.wrapper != INTACT,
            "the acceptance of the policy": bool(self.unlogged_acceptances),
            "the policy": bool(self.policy_fault),
            "the interpreter": bool(self.runtime["project"]),
        }
        return [name for name, is_broken in broken.items() if is_broken]


def inspect_installation(installation: Installation, scopes: set[str]) -> InstallationHealth:
    """Return what an installation rests on; `scopes` are those whose clients call the wrapper."""
    return InstallationHealth(
        wrapper=get_wrapper_state(installation, scopes),
        policy_fault=_find_policy_fault(installation),
        unlogged_acceptances=_find_unlogged_acceptances(installation),
        runtime=_inspect_runtime(installation),
    )


def is_wired_whole(file: WiredFile) -> bool:
    """Return whether a client's settings name the hook for every event, the client trusts it, and no gap is open."""
    return file.is_trusted and not file.missing_events and not any(gap.open for gap in file.known_gaps)


def list_machine_faults(installation: Installation) -> list[str]:
    """Return what `verdikt doctor` would find at fault, except by firing: which clients, and what they rest on."""
    files = list(find_wired_files(installation))
    faults = sorted({file.host for file in files if not is_wired_whole(file)})
    scopes = {file.scope for file in files if file.is_wrapped}
    return faults + inspect_installation(installation, scopes).list_faults(is_wrapper_called=bool(scopes))


def read_policy_digest(installation: Installation) -> str:
    """Return the digest of the policy that is in force at an installation's project; empty when it has a fault."""
    try:
        return load_cached_policy(installation.project, installation.env).digest
    except VerdiktError:
        return ""


def _find_policy_fault(installation: Installation) -> str:
    try:
        load_policy(installation.project, environ=installation.env)
    except PolicyError as error:
        return str(error)
    return ""


def _find_unlogged_acceptances(installation: Installation) -> list[str]:
    if not os.path.isdir(installation.data_directory):
        return []
    # A damaged record is reported with the policy.
    with suppress(PolicyError):
        return find_unlogged_projects(installation.data_directory, read_index(installation.data_directory))
    return []


def _inspect_runtime(installation: Installation) -> dict[str, str]:
    """Return the environment that the hooks run from, and the project in which it lies.

    `project` is set where an agent works: in this project, and in every one with a policy. `other_project` is one that
    nothing governs.
    """
    for environment in _list_environments(find_wired_files(installation)):
        enclosing = find_enclosing_project(environment, installation.home)
        if enclosing:
            is_governed = os.path.realpath(enclosing) == installation.project or any(
                os.path.lexists(os.path.join(enclosing, name)) for name in ("governance.yaml", "governance.yml")
            )
            kind = "project" if is_governed else "other_project"
            return {"environment": environment, "project": "", "other_project": "", kind: enclosing}
    return {"environment": sys.prefix, "project": "", "other_project": ""}


def _list_environments(files: Iterable[WiredFile]) -> list[str]:
    """Return our own environment, and those of the interpreters that wired commands name."""
    return sorted({sys.prefix, *map(_get_environment, files)} - {""})


def _get_environment(wired: WiredFile) -> str:
    python = re.search(r"(/[^ '\"]*)/bin/python[0-9.]*\b", wired.before_command)
    return python[1] if python and python[1] != "/usr" else ""
