"""A store that lives as long as the process: for tests, dry runs and embedded use."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from verdikt.errors import LedgerError
from verdikt.ledger.chain_reader import read_chain
from verdikt.ledger.projections import Projection, index_by_name
from verdikt.ledger.store import ChainHead, LogWriter, Signer
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.observe.clock import Clock, SystemClock

T = TypeVar("T")


class MemoryStore:
    """The log in lists. The same contract as the file store, without durability."""

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
        """Adds one entry and returns it."""
        return self.update(session, lambda log: log.append(kind, body, sign=sign, artifacts=artifacts))

    def update(self, session: str, fn: Callable[[LogWriter], T]) -> T:
        """Runs `fn` alone on the store; what it appends is added when it returns, all or nothing."""
        if not session:
            raise LedgerError("expected a session id, found an empty one")
        with self._lock:
            if self._busy:
                raise LedgerError(f"an update of session `{session}` is already under way in this thread")
            self._busy = True
            try:
                writer = LogWriter(
                    session,
                    self._heads.get(session, ChainHead()),
                    now=self._clock.now,
                    signer=self._signer,
                    projections=self._projections,
                    load_state=lambda name: self._load_state(name, session),
                )
                result = fn(writer)
            finally:
                self._busy = False
            self._store_entries(writer)
        return result

    def _store_entries(self, writer: LogWriter) -> None:
        if not writer.lines:
            return
        self._lines.setdefault(writer.session, []).extend(writer.lines)
        self._heads[writer.session] = writer.head
        for name in writer.change_seqs:
            self._states[writer.session, name] = json.loads(encode_canonical(writer.states[name]))
        for seq, artifacts in writer.artifacts:
            for name, data in artifacts.items():
                self._artifacts[writer.session, seq, name] = data

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after `since`, oldest first."""
        return read_chain(list(self._lines.get(session, ()))[since:], session)

    def read_head(self, session: str) -> ChainHead:
        """The last entry's place; seq 0 when there is none."""
        return self._heads.get(session, ChainHead())

    def list_sessions(self) -> list[str]:
        """Every session with at least one entry, sorted."""
        return sorted(self._lines)

    def read_projection(self, name: str, session: str) -> Any:
        """The state of a projection after the last entry; the caller's own copy."""
        with self._lock:
            return json.loads(encode_canonical(self.update(session, lambda log: log.read_projection(name))))

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """What was kept under that name with that entry."""
        try:
            return self._artifacts[session, seq, name]
        except KeyError:
            raise LedgerError(f"no artifact `{name}` with entry {seq} of session `{session}`") from None

    def _load_state(self, name: str, session: str) -> Any:
        key = (session, name)
        return self._states[key] if key in self._states else self._projections[name].create_initial_state()


def _refuse_signing() -> Signer:
    raise LedgerError("this store has no key to sign with: give it a `signer`")
