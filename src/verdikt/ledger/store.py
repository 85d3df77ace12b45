"""The port to the log: what every store offers, and the writer that an update works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.entry import GENESIS_HASH, SIGNED_KINDS, EntryKind, build_entry

if TYPE_CHECKING:
    from verdikt.ledger.projections import Projection
    from verdikt.model.entry import Entry

T = TypeVar("T")

OPERATOR = "operator"
"""The session that holds what concerns no session in particular: grants, key rotations, expired archives."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where a session's chain ends."""

    seq: int = 0
    hash: str = GENESIS_HASH


class Signer(Protocol):
    """The current key."""

    @property
    def kid(self) -> str:
        """Its id."""

    def sign(self, message: bytes) -> str:
        """The signature, in lower-case hex."""


class LogStore(Protocol):
    """A log of many sessions, each a chain. Safe for many threads and processes at once."""

    def append(
        self,
        session: str,
        kind: EntryKind | str,
        body: Mapping[str, Any],
        *,
        sign: bool = False,
        artifacts: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """Adds one entry and returns it once it is durable; `LedgerError` when it could not be written."""

    def update(self, session: str, fn: Callable[[LogWriter], T]) -> T:
        """Runs `fn` alone on the session: what it reads stays true until what it appends is in the log, all or nothing."""

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""

    def read_head(self, session: str) -> ChainHead:
        """The last entry's place; seq 0 when there is none."""

    def list_sessions(self) -> list[str]:
        """Every session with at least one entry, sorted."""

    def read_projection(self, name: str, session: str) -> Any:
        """The state of a projection after the last entry; the caller's own copy."""

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """What was kept under that name with that entry."""


class LogWriter:
    """One session under its lock: reads its projections, collects the entries to be written."""

    def __init__(
        self,
        session: str,
        head: ChainHead,
        *,
        now: Callable[[], float],
        signer: Callable[[], Signer],
        projections: Mapping[str, Projection],
        load_state: Callable[[str], Any],
    ) -> None:
        self.session = session
        self.head = head
        self.lines: list[bytes] = []
        self.artifacts: list[tuple[int, Mapping[str, bytes]]] = []
        self.states: dict[str, Any] = {}
        self.change_seqs: dict[str, int] = {}
        self._now = now
        self._signer = signer
        self._projections = projections
        self._load_state = load_state

    def read_projection(self, name: str) -> Any:
        """The state of a projection, the entries appended so far included; not to be changed in place."""
        if name not in self._projections:
            known = ", ".join(sorted(self._projections)) or "none"
            raise LedgerError(f"no projection `{name}`; this store has: {known}")
        if name not in self.states:
            self.states[name] = self._load_state(name)
        return self.states[name]

    def append(
        self,
        kind: EntryKind | str,
        body: Mapping[str, Any],
        *,
        sign: bool = False,
        artifacts: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """Adds an entry; it is written when the update ends without an error."""
        kind = _to_entry_kind(kind)
        body = dict(body)
        seq = self.head.seq + 1
        if artifacts:
            body["artifacts"] = {
                name: {"bytes": len(data), "sha256": sha256_hex(data)} for name, data in artifacts.items()
            }
        signer = self._signer() if sign or kind in SIGNED_KINDS else None
        entry, line = build_entry(
            seq=seq,
            ts=int(self._now() * 1_000_000),
            session=self.session,
            kind=kind,
            body=body,
            prev=self.head.hash,
            kid=signer.kid if signer else "",
            sign=signer.sign if signer else None,
        )
        for name, projection in self._projections.items():
            if projection.kinds is None or kind in projection.kinds:
                self.states[name] = projection.fold(self.read_projection(name), entry)
                self.change_seqs[name] = seq
        if artifacts:
            self.artifacts.append((seq, artifacts))
        self.lines.append(line)
        self.head = ChainHead(entry.seq, entry.hash)
        return entry


def _to_entry_kind(kind: EntryKind | str) -> EntryKind:
    if type(kind) is EntryKind:
        return kind
    try:
        return EntryKind(kind)
    except ValueError:
        raise LedgerError(f"expected one of {', '.join(EntryKind)}, found the kind `{kind}`") from None
