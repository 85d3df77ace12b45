"""What the warm process keeps between calls: policies as long as their files stay as they are, and open stores."""

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from verdikt.daemon.request import Peer
from verdikt.graph.policy import Policy
from verdikt.ledger.data_directory import find_data_directory, get_data_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.projections import load_projections
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.policy_files import list_policy_places, read_policy_places
from verdikt.policy import build_policy

MAX_POLICIES = 32
MAX_POLICY_LOOKUPS = 1024
MAX_STORES = 16

WAL_CHECKPOINT_BYTES = 4 * 1024 * 1024
"""Bytes of a store's write-ahead log from which on it is emptied: seldom, because everybody waits meanwhile."""

MTIME_SETTLE_NS = 2_000_000_000
"""A file that changed within this time may change again without its dates showing it: until then it is read each time."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FileStamp = tuple[int, ...] | None
"""What tells that a file is the same: None where there is none, and empty where nobody can tell."""


class LRUCache(Generic[K, V]):
    """The values that were asked for last; those that were not go, and `gone` hears of them."""

    def __init__(self, capacity: int, on_evict: Callable[[V], None] | None = None) -> None:
        self._capacity = capacity
        self._on_evict = on_evict
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """What is kept under a key."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put_if_absent(self, key: K, value: V) -> V:
        """Keeps a value, unless somebody was faster; the one that is kept."""
        with self._lock:
            kept = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            old = [self._values.popitem(last=False)[1] for _ in range(len(self._values) - self._capacity)]
        for each in old:
            if self._on_evict:
                self._on_evict(each)
        return kept

    def values(self) -> list[V]:
        """All of them."""
        with self._lock:
            return list(self._values.values())


class PolicyCache:
    """Compiled policies. A layer's file that appears, changes or disappears is noticed at the next call."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._by_stamp: LRUCache[tuple[tuple[tuple[str, str], ...], tuple[FileStamp, ...], Peer | None], Policy] = (
            LRUCache(MAX_POLICY_LOOKUPS)
        )
        self._by_content: LRUCache[tuple[tuple[str, str, bytes], ...], Policy] = LRUCache(MAX_POLICIES)

    def __len__(self) -> int:
        return len(self._by_content)

    def load_policy(self, directory: str, env: Mapping[str, str], reader: Peer | None = None) -> Policy:
        """The policy in force at a directory. A `PolicyError` holds every fault of every file; it is not remembered.

        What one reader may read another may not, so each reads it once.
        """
        places = list_policy_places(directory, env)
        # Taken before the files are read, so that a change in between shows at the next call.
        seen = places, tuple([get_file_stamp(path) for _, path in places]), reader
        policy = self._by_stamp.get(seen)
        if policy is not None:
            return policy
        files = read_policy_places(places)
        content = tuple((file.layer, file.path, file.data) for file in files)
        policy = self._by_content.get(content)
        if policy is None:
            # From the files alone: what an asker's data directory keeps of them would count for everybody.
            policy = self._by_content.put_if_absent(content, build_policy(files))
        settled = int(self._clock.now() * 1e9) - MTIME_SETTLE_NS
        if all(found is None or (found and max(found[-2:]) < settled) for found in seen[1]):
            self._by_stamp.put_if_absent(seen, policy)
        return policy


class StorePool:
    """Open stores, by their data directory."""

    def __init__(self, clock: Clock | None = None, group_commit: GroupCommit | None = None) -> None:
        self._clock = clock or SystemClock()
        self._group_commit = group_commit or GroupCommit()
        self._stores: LRUCache[str, FileStore] = LRUCache(MAX_STORES, _close_store)

    def get_store(self, env: Mapping[str, str]) -> FileStore:
        """The store in the data directory that an environment names, which is made if need be."""
        place = find_data_directory(env)
        store = self._stores.get(place)
        if store is None:
            store = self._stores.put_if_absent(
                place, _open_store(get_data_directory(env), self._clock, self._group_commit)
            )
        return store

    def record_heads(self) -> None:
        """Records the heads that were put off."""
        for store in self._stores.values():
            store.record_heads()

    def close(self) -> None:
        """Lets go of every file."""
        for store in self._stores.values():
            _close_store(store)


def _open_store(home: Path, clock: Clock, group_commit: GroupCommit) -> FileStore:
    return FileStore(home, clock, load_projections(), wal_limit_bytes=WAL_CHECKPOINT_BYTES, group_commit=group_commit)


def _close_store(store: FileStore) -> None:
    store.state.truncate_wal()
    store.close()


def get_file_stamp(path: str) -> FileStamp:
    """What tells whether the file at a path is the same as before."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return ()
    if stat.S_ISLNK(found.st_mode):
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_uid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
