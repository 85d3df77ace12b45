"""What the warm process keeps between calls: policies as long as their files stay as they are, and open stores."""

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from verdikt.daemon.question import Peer
from verdikt.graph.policy import Policy
from verdikt.ledger.files import FileStore
from verdikt.ledger.home import data_home
from verdikt.ledger.later import Later
from verdikt.ledger.place import data_place
from verdikt.observe.clock import Clock, SystemClock
from verdikt.observe.policy import policy_places, read_places
from verdikt.policy import build_policy
from verdikt.projections import projections

MOST_POLICIES = 32
MOST_PLACES = 1024
MOST_STORES = 16

LONG_WAL = 4 * 1024 * 1024
"""Bytes of a store's write-ahead log from which on it is emptied: seldom, because everybody waits meanwhile."""

FRESH_NS = 2_000_000_000
"""A file that changed within this time may change again without its dates showing it: until then it is read each time."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Stamp = tuple[int, ...] | None
"""What tells that a file is the same: None where there is none, and empty where nobody can tell."""


class Newest(Generic[K, V]):
    """The values that were asked for last; those that were not go, and `gone` hears of them."""

    def __init__(self, most: int, gone: Callable[[V], None] | None = None) -> None:
        self._most = most
        self._gone = gone
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

    def keep(self, key: K, value: V) -> V:
        """Keeps a value, unless somebody was faster; the one that is kept."""
        with self._lock:
            kept = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            old = [self._values.popitem(last=False)[1] for _ in range(len(self._values) - self._most)]
        for each in old:
            if self._gone:
                self._gone(each)
        return kept

    def values(self) -> list[V]:
        """All of them."""
        with self._lock:
            return list(self._values.values())


class HeldPolicies:
    """Compiled policies. A layer's file that appears, changes or disappears is noticed at the next call."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._by_stamp: Newest[tuple[tuple[tuple[str, str], ...], tuple[Stamp, ...], Peer | None], Policy] = Newest(
            MOST_PLACES
        )
        self._by_content: Newest[tuple[tuple[str, str, bytes], ...], Policy] = Newest(MOST_POLICIES)

    def __len__(self) -> int:
        return len(self._by_content)

    def at(self, directory: str, env: Mapping[str, str], reader: Peer | None = None) -> Policy:
        """The policy in force at a directory. A `PolicyError` holds every fault of every file; it is not remembered.

        What one reader may read another may not, so each reads it once.
        """
        places = policy_places(directory, env)
        # Taken before the files are read, so that a change in between shows at the next call.
        seen = places, tuple([stamp(path) for _, path in places]), reader
        policy = self._by_stamp.get(seen)
        if policy is not None:
            return policy
        files = read_places(places)
        content = tuple((file.layer, file.path, file.data) for file in files)
        policy = self._by_content.get(content)
        if policy is None:
            # From the files alone: what an asker's data directory keeps of them would count for everybody.
            policy = self._by_content.keep(content, build_policy(files))
        settled = int(self._clock.now() * 1e9) - FRESH_NS
        if all(found is None or (found and max(found[-2:]) < settled) for found in seen[1]):
            self._by_stamp.keep(seen, policy)
        return policy


class HeldStores:
    """Open stores, by their data directory."""

    def __init__(self, clock: Clock | None = None, later: Later | None = None) -> None:
        self._clock = clock or SystemClock()
        self._later = later or Later()
        self._stores: Newest[str, FileStore] = Newest(MOST_STORES, _let_go)

    def of(self, env: Mapping[str, str]) -> FileStore:
        """The store in the data directory that an environment names, which is made if need be."""
        place = data_place(env)
        store = self._stores.get(place)
        if store is None:
            store = self._stores.keep(place, _opened(data_home(env), self._clock, self._later))
        return store

    def record(self) -> None:
        """Records the heads that were put off."""
        for store in self._stores.values():
            store.record()

    def close(self) -> None:
        """Lets go of every file."""
        for store in self._stores.values():
            _let_go(store)


def _opened(home: Path, clock: Clock, later: Later) -> FileStore:
    return FileStore(home, clock, projections(), long_wal=LONG_WAL, later=later)


def _let_go(store: FileStore) -> None:
    store.state.empty()
    store.close()


def stamp(path: str) -> Stamp:
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
