"""The public keys of machines, held in memory: every request of a machine needs one."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import select

from verdikt.serve import schema

if TYPE_CHECKING:
    from verdikt.serve.database import Database

CACHE_SECONDS = 10.0
"""How long keys are used without asking the database: a revocation takes effect within this time."""

MAX_CACHED_KEYS = 50_000


class MachineKey(NamedTuple):
    """The key of a machine that may send, and the organisation that it belongs to."""

    organisation: int
    public_key: bytes

    def load(self) -> Ed25519PublicKey:
        """Return the key, ready to verify with."""
        return _load_key(self.public_key)


@lru_cache(maxsize=MAX_CACHED_KEYS)
def _load_key(public_key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key)


class MachineKeys:
    """All keys at once, read again every few seconds: one query then serves the requests of thousands of machines."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._keys: dict[int, MachineKey] = {}
        self._read_at = 0.0

    def find_cached(self, machine: int, now: float) -> MachineKey | None:
        """Return a machine's key without asking the database; None when that has to be asked."""
        return self._keys.get(machine) if self._is_fresh(now) else None

    def read(self, machine: int, now: float) -> MachineKey | None:
        """Return a machine's key; None when it is not enrolled, or was revoked."""
        with self._lock:
            if not self._is_fresh(now):
                self._keys = self._select_keys()
                self._read_at = now
            elif machine not in self._keys:
                # Enrolled since, or one of more than are held.
                self._keys |= self._select_keys(machine)
            return self._keys.get(machine)

    def _is_fresh(self, now: float) -> bool:
        return 0 <= now - self._read_at < CACHE_SECONDS

    def _select_keys(self, machine: int | None = None) -> dict[int, MachineKey]:
        table = schema.machine
        query = select(table.c.id, table.c.organisation, table.c.public_key).where(table.c.revoked.is_(None))
        if machine is not None:
            query = query.where(table.c.id == machine)
        # The newest, which are the likeliest to send.
        query = query.order_by(table.c.id.desc()).limit(MAX_CACHED_KEYS)
        with self._database.begin_read() as connection:
            rows = connection.execute(query).all()
        return {id: MachineKey(organisation, bytes(key)) for id, organisation, key in rows if len(key) == 32}
