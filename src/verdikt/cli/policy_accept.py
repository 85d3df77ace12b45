"""`verdikt policy accept`: let the policy on disk take effect, on the word of a person."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from verdikt.cli.operator_access import get_user_name, refuse_agents, require_terminal
from verdikt.cli.policy_pending import change_to_dict, project_option, read_snapshot, render_change
from verdikt.cli.replay import group_changes, render_comparison
from verdikt.cli.store_access import json_option, open_data_store
from verdikt.errors import ChainBroken, LedgerError
from verdikt.graph.policy import Policy
from verdikt.ledger.acceptance_log import log_acceptance
from verdikt.ledger.files import FileStore
from verdikt.ratchet import PolicySnapshot, hash_layers
from verdikt.replay import PolicyComparison, RecordedDecision, compare_policy, read_decision

COMPARED_SECONDS = 7 * 86_400
MAX_COMPARED_DECISIONS = 2000
"""The newest part of the log that is decided again, so that the answer takes seconds."""


@click.command()
@click.option("--digest", default="", help="Accept without a terminal, and only the policy with this digest.")
@project_option
@json_option
def command(*, digest: str, project: str, as_json: bool) -> None:
    """Accept the policy on disk, so that what it loosens takes effect. Shows the difference and asks.

    What would have been decided differently is computed from the last seven days of the log. With --digest (as
    `verdikt policy show` prints it) nothing is asked, for provisioning. Not from an agent. Exit status: 0 accepted, or
    nothing to accept; 1 not accepted; 65 a policy file is broken.

    Example: verdikt policy accept
    """
    if digest:
        refuse_agents("accepting a policy")
    else:
        require_terminal("accepting a policy")
    snapshot = read_snapshot(project)
    policy, changes = snapshot.build_policy(), snapshot.list_changes()
    if digest and digest != policy.digest:
        raise LedgerError(f"nothing was accepted: expected the policy `{digest}`, found `{policy.digest}`")
    if not changes and not snapshot.find_damage():
        _report(policy, snapshot, [], accepted=False, as_json=as_json)
        return
    store = open_data_store(None)
    if not digest:
        _show_changes(snapshot, policy, store)
        # A word, not `y`: a habit of confirming must not be enough to loosen a policy.
        if click.prompt("type `accept` to confirm", err=True) != "accept":
            raise click.Abort
    accept_snapshot(snapshot, store, how="digest" if digest else "terminal")
    _report(policy, snapshot, [change_to_dict(change) for change in changes], accepted=True, as_json=as_json)


def accept_snapshot(snapshot: PolicySnapshot, store: FileStore, *, how: str) -> None:
    """Record the acceptance in the operator's log, signed, and let it take effect."""
    policy = snapshot.build_policy()
    layers = hash_layers([*snapshot.user_layers, *snapshot.project_layers])
    # The log first: an acceptance that is in force without an entry could not be explained later.
    log_acceptance(
        store,
        root=snapshot.root,
        directory=snapshot.directory,
        digest=policy.digest,
        layers=layers,
        by=get_user_name(),
        how=how,
    )
    snapshot.accept()


def _show_changes(snapshot: PolicySnapshot, policy: Policy, store: FileStore) -> None:
    for change in snapshot.list_changes():
        click.echo("\n".join(render_change(change)), err=True)
    comparison = _compare_with_log(snapshot, policy, store)
    if comparison.total:
        click.echo(render_comparison(comparison, group_changes(comparison)), err=True)
    else:
        click.echo("the log has no decision of the last seven days to compare with", err=True)


def _compare_with_log(snapshot: PolicySnapshot, policy: Policy, store: FileStore) -> PolicyComparison:
    top = snapshot.root or snapshot.directory
    return compare_policy(islice(_iter_decisions(store, top), MAX_COMPARED_DECISIONS), policy)


def _iter_decisions(store: FileStore, top: str) -> Iterator[RecordedDecision]:
    """Yield the recorded decisions of the last days about actions in a project."""
    not_before = store.clock.now() - COMPARED_SECONDS
    for session in store.list_sessions():
        try:
            for entry in store.read_entries(session):
                if entry.timestamp_seconds < not_before or (past := read_decision(entry)) is None:
                    continue
                if os.path.commonpath([top, past.receipt["action"]["cwd"] or "/"]) == top:
                    yield past
        except (ChainBroken, LedgerError, ValueError):
            continue  # what cannot be read, or was made elsewhere, only makes the preview shorter


def _report(
    policy: Policy, snapshot: PolicySnapshot, changes: list[dict[str, Any]], *, accepted: bool, as_json: bool
) -> None:
    if as_json:
        report = {"accepted": accepted, "root": snapshot.root, "digest": policy.digest, "changes": changes}
        click.echo(json.dumps(report))
    elif accepted:
        where = f" for `{snapshot.root}`" if snapshot.root else ""
        click.echo(click.style("accepted", fg="green") + f": policy {policy.digest[:12]}{where}")
    else:
        click.echo("nothing to accept: the policy on disk is the accepted one")
