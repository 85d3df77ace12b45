"""Acceptance of policy files by a test, in place of a person who runs `verdikt policy accept`."""

import os
from collections.abc import Mapping
from pathlib import Path

from verdikt.cli.policy_accept import accept_snapshot
from verdikt.graph.policy import Policy
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.ratchet import PolicySnapshot


def accept(directory: Path, env: Mapping[str, str] = os.environ) -> Policy:
    """Accept the policy in force at a directory, with the signed entry that a person's command leaves."""
    snapshot = PolicySnapshot.read(str(directory), env)
    with open_store(get_data_directory(env), projections=load_projections()) as store:
        accept_snapshot(snapshot, store, how="terminal")
    return snapshot.build_policy()
