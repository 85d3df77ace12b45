"""What the warm process keeps between calls: compiled policies, until their files change, and open stores."""

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Generic, TypeVar

from verdikt.daemon.request import Peer
from verdikt.graph.policy import Policy
from verdikt.ledger.accepted_policies import get_index_path, read_index
from verdikt.ledger.backed_acceptance import find_backed_acceptance
from verdikt.ledger.data_directory import find_data_directory, get_data_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.projections import load_projections
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.guarded_paths import HOST_PROJECT_VARIABLES
from verdikt.observe.policy_files import list_policy_places, read_policy_places
from verdikt.ratchet import settle_policy

MAX_POLICIES = 32
MAX_POLICY_LOOKUPS = 1024
MAX_STORES = 16

# A store's write-ahead log is emptied at this size: rarely, because all callers wait meanwhile.
WAL_CHECKPOINT_BYTES = 4 * 1024 * 1024

# A file can change twice within the resolution of its timestamps, so a younger one is read at every call.
MTIME_SETTLE_NS = 2_000_000_000

_ACCEPTANCE_VARIABLES = ("HOME", *HOST_PROJECT_VARIABLES)
"""The variables by which the accepted project around a directory is found."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FileStamp = tuple[int, ...] | None
"""Equal as long as a file is the same: None where there is none, and empty where that cannot be told."""


class LRUCache(Generic[K, V]):
    """LRU cache; calls `on_evict` for each value it drops."""

    def __init__(self, capacity: int, on_evict: Callable[[V], None] | None = None) -> None:
        self._capacity = capacity
        self._on_evict = on_evict
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key; None when it is not cached."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put_if_absent(self, key: K, value: V) -> V:
        """Cache a value, unless another thread was faster, and return the one that is cached."""
        with self._lock:
            cached_value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            evicted_values = [self._values.popitem(last=False)[1] for _ in range(len(self._values) - self._capacity)]
        # Outside the lock: closing a store takes time.
        for evicted_value in evicted_values:
            if self._on_evict:
                self._on_evict(evicted_value)
        return cached_value

    def values(self) -> list[V]:
        """Return all values."""
        with self._lock:
            return list(self._values.values())


class PolicyCache:
    """Compiled policies. A policy file that appears, changes or disappears counts from the next call on."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._by_stamp: LRUCache[Hashable, Policy] = LRUCache(MAX_POLICY_LOOKUPS)
        self._by_content: LRUCache[Hashable, Policy] = LRUCache(MAX_POLICIES)

    def __len__(self) -> int:
        return len(self._by_content)

    def load_policy(
        self,
        directory: str,
        env: Mapping[str, str],
        reader: Peer | None = None,
        access: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Policy:
        """Return the policy in force at a directory; raise `PolicyError` with every error of every file.

        Errors are not cached. Neither are files across readers: what one may read, another may not. `access` gives the
        rights with which the policy files are read; what is accepted is read with those of this process.
        """
        home = find_data_directory(env)
        with access():
            places = list_policy_places(directory, env)
            # Taken before the files are read, so that a change in between shows at the next call.
            file_stamps = [get_file_stamp(path) for _, path in places]
        stamps = (*file_stamps, get_file_stamp(get_index_path(home)))
        # Everything on which the files and what is accepted depend, so that a hit looks up nothing else.
        lookup_key = places, stamps, reader, directory, home, *map(env.get, _ACCEPTANCE_VARIABLES)
        policy = self._by_stamp.get(lookup_key)
        if policy is not None:
            return policy
        # Only here, where the record is new to this process: the log is long, and the record's stamp is in the key.
        acceptance = find_backed_acceptance(home, read_index(home), directory, env, places)
        with access():
            files = tuple(read_policy_places(places))
        content = files, acceptance
        policy = self._by_content.get(content)
        if policy is None:
            # Not from the compiled form in the caller's data directory: this policy will serve other callers too.
            policy = self._by_content.put_if_absent(content, settle_policy(files, acceptance))
        # Included files have no stamp in the key.
        if self._is_settled(stamps) and not any(file.included for file in files):
            self._by_stamp.put_if_absent(lookup_key, policy)
        return policy

    def _is_settled(self, stamps: tuple[FileStamp, ...]) -> bool:
        """Return whether no file is so young that it could change again without a change of its stamp."""
        settled_before = int(self._clock.now() * 1e9) - MTIME_SETTLE_NS
        return all(stamp is None or (stamp and max(stamp[-2:]) < settled_before) for stamp in stamps)


class StorePool:
    """Open stores by data directory."""

    def __init__(self, clock: Clock | None = None, group_commit: GroupCommit | None = None) -> None:
        self._clock = clock or SystemClock()
        self._group_commit = group_commit or GroupCommit()
        self._stores: LRUCache[str, FileStore] = LRUCache(MAX_STORES, _close_store)

    def get_store(self, env: Mapping[str, str]) -> FileStore:
        """Return the store in the data directory that an environment names, and create it if necessary."""
        data_directory = find_data_directory(env)
        store = self._stores.get(data_directory)
        if store is None:
            store = self._stores.put_if_absent(
                data_directory, _open_store(get_data_directory(env), self._clock, self._group_commit)
            )
        return store

    def list_stores(self) -> list[FileStore]:
        """Return the stores that are open."""
        return list(self._stores.values())

    def record_heads(self) -> None:
        """Record the chain heads that were deferred."""
        for store in self._stores.values():
            store.record_heads()

    def close(self) -> None:
        """Close every store."""
        for store in self._stores.values():
            _close_store(store)


def _open_store(home: Path, clock: Clock, group_commit: GroupCommit) -> FileStore:
    return FileStore(home, clock, load_projections(), wal_limit_bytes=WAL_CHECKPOINT_BYTES, group_commit=group_commit)


def _close_store(store: FileStore) -> None:
    store.state.truncate_wal()
    store.close()


def get_file_stamp(path: str) -> FileStamp:
    """Return a value that changes with the file at a path."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return ()
    if stat.S_ISLNK(status.st_mode):
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return ()
    if not stat.S_ISREG(status.st_mode):
        return ()
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_uid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
