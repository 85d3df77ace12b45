"""The policies that recorded decisions were made with: those kept beside the log, else the one in force here."""

from functools import lru_cache
from pathlib import Path

from verdikt.errors import LedgerError
from verdikt.graph.pending_policy import PendingPolicy
from verdikt.graph.policy import Policy
from verdikt.ledger.policy_store import load_stored_policy
from verdikt.policy import load_policy, restore_policy


class RecordedPolicies:
    """Policies of a data directory by their digest, each loaded once."""

    def __init__(self, home: Path) -> None:
        self.get_policy = lru_cache(maxsize=64)(self._load_policy)
        self._home = home

    def _load_policy(self, digest: str, accepted: str = "") -> Policy:
        if accepted:
            # A change of the policy was pending: both policies made the decision.
            return PendingPolicy(self.get_policy(accepted), self.get_policy(digest))
        try:
            return restore_policy(load_stored_policy(self._home, digest))
        except LedgerError:
            # A policy that was never stored, or was deleted, will do from here if it is the same.
            policy = load_policy()
            if policy.digest != digest:
                raise
            return policy
