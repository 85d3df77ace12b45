"""A second store for the contract of `LogStore`, written apart from the first: the log in lists."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from verdikt.errors import LedgerError
from verdikt.ledger.chain_reader import read_chain
from verdikt.ledger.projections import Projection, index_by_name
from verdikt.ledger.store import LogWriter, Signer
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import Entry, EntryKind
from verdikt.observe.clock import Clock, SystemClock


class MemoryStore:
    """The log in lists. Fulfils the contract of `LogStore` without durability."""

    def __init__(
        self,
        clock: Clock | None = None,
        projections: tuple[Projection, ...] = (),
        signer: Callable[[], Signer] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._projections = index_by_name(projections)
        self._signer = signer or _refuse_signing
        self._lines: dict[str, list[bytes]] = {}
        self._heads: dict[str, ChainHead] = {}
        self._states: dict[tuple[str, str], Any] = {}
        self._artifacts: dict[tuple[str, int, str], bytes] = {}
        # Reentrant, so that a nested block in the same thread reaches the check of `_busy` instead of hanging.
        self._lock = threading.RLock()
        self._busy = False

    def append(
        self,
        session: str,
        kind: EntryKind | str,
        body: Mapping[str, Any],
        *,
        sign: bool = False,
        artifacts: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """Add one entry and return it."""
        with self.session(session) as log:
            return log.append(kind, body, sign=sign, artifacts=artifacts)

    @contextmanager
    def session(self, session_id: str) -> Iterator[LogWriter]:
        """Lock the store for a `with` block; its entries are added when it ends without an error."""
        if not session_id:
            raise LedgerError("expected a session id, found an empty one")
        with self._lock:
            if self._busy:
                raise LedgerError(f"an update of session `{session_id}` is already under way in this thread")
            self._busy = True
            try:
                writer = LogWriter(
                    session_id,
                    self._heads.get(session_id, ChainHead()),
                    now=self._clock.now,
                    signer=self._signer,
                    projections=self._projections,
                    load_state=lambda name: self._load_state(name, session_id),
                )
                yield writer
            finally:
                self._busy = False
            self._store_entries(writer)

    def _store_entries(self, writer: LogWriter) -> None:
        if not writer.lines:
            return
        self._lines.setdefault(writer.session_id, []).extend(writer.lines)
        self._heads[writer.session_id] = writer.head
        for name in writer.change_seqs:
            # Stored as a copy of plain data, so that nothing a caller holds can change it later.
            self._states[writer.session_id, name] = json.loads(encode_canonical(writer.states[name]))
        for seq, artifacts in writer.artifacts:
            for name, data in artifacts.items():
                self._artifacts[writer.session_id, seq, name] = data

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """Yield the entries after `since`, oldest first."""
        return read_chain(list(self._lines.get(session, ()))[since:], session)

    def read_head(self, session: str) -> ChainHead:
        """Return the head of a session's chain; seq 0 when it has no entries."""
        return self._heads.get(session, ChainHead())

    def list_sessions(self) -> list[str]:
        """Return the ids of all sessions that have at least one entry, sorted."""
        return sorted(self._lines)

    def read_projection(self, name: str, session: str) -> Any:
        """Return a copy of the state of a projection after the last entry."""
        with self.session(session) as log:
            return json.loads(encode_canonical(log.read_projection(name)))

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """Return the artifact that was stored under that name with that entry."""
        try:
            return self._artifacts[session, seq, name]
        except KeyError:
            raise LedgerError(f"no artifact `{name}` with entry {seq} of session `{session}`") from None

    def close(self) -> None:
        """Do nothing: the store holds no file, and its entries stay readable."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _load_state(self, name: str, session: str) -> Any:
        key = (session, name)
        return self._states[key] if key in self._states else self._projections[name].create_initial_state()


def _refuse_signing() -> Signer:
    raise LedgerError("this store has no key to sign with: give it a `signer`")
