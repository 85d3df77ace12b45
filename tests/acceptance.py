"""Acceptance of policy files by a test, in place of a person who runs `verdikt policy accept`."""

import os
from collections.abc import Mapping
from pathlib import Path

from verdikt.graph.policy import Policy
from verdikt.ratchet import accept_policy


def accept(directory: Path, env: Mapping[str, str] = os.environ) -> Policy:
    """Accept the policy in force at a directory, in the data directory that an environment names."""
    return accept_policy(str(directory), env)
