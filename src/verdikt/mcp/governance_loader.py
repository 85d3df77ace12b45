"""The governance of a relay, which follows the policy files. Half of what a relay loads, and no connection needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.daemon.cache import PolicyCache
from verdikt.govern import Governance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdikt.ledger.files import FileStore
    from verdikt.observe.clock import Clock


class GovernanceLoader:
    """Governance by the policy in force at one directory. Not thread-safe: `CallGovernor` holds a lock."""

    def __init__(self, store: FileStore, clock: Clock, env: Mapping[str, str], cwd: str) -> None:
        self._store, self._clock, self._env, self._cwd = store, clock, env, cwd
        self._policies = PolicyCache(clock)
        self.last: Governance | None = None
        """The one that was loaded last: by its policy the calls were decided that still run."""

    def load(self) -> Governance:
        """Return governance by the policy as its files are now; raise `PolicyError` when they cannot be loaded."""
        policy = self._policies.load_policy(self._cwd, self._env)
        if self.last is None or self.last.policy is not policy:
            self.last = Governance(policy, self._store, clock=self._clock, env=self._env, base_directory=self._cwd)
        return self.last
