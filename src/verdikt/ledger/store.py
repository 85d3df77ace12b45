"""The port to the log: what every store offers, and the writer that an update works with."""

from __future__ import annotations

from verdikt.errors import LedgerError
from verdikt.model.canonical import sha256
from verdikt.model.entry import GENESIS, SIGNED, EntryKind, write
from verdikt.model.protocol import Protocol
from verdikt.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeVar

    from verdikt.ledger.projection import Projection
    from verdikt.model.entry import Entry

    T = TypeVar("T")

OPERATOR = "operator"
"""The session that holds what concerns no session in particular: grants, key rotations, expired archives."""


class Head(Value):
    """Where a session's chain ends."""

    seq: int = 0
    hash: str = GENESIS


class Signer(Protocol):
    """The current key."""

    @property
    def kid(self) -> str:
        """Its id."""

    def sign(self, message: bytes) -> str:
        """The signature, in lower-case hex."""


class Store(Protocol):
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

    def update(self, session: str, fn: Callable[[Writer], T]) -> T:
        """Runs `fn` alone on the session: what it reads stays true until what it appends is in the log, all or nothing."""

    def entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""

    def head(self, session: str) -> Head:
        """The last entry's place; seq 0 when there is none."""

    def sessions(self) -> list[str]:
        """Every session with at least one entry, sorted."""

    def project(self, name: str, session: str) -> Any:
        """The state of a projection after the last entry; the caller's own copy."""

    def artifact(self, session: str, seq: int, name: str) -> bytes:
        """What was kept under that name with that entry."""


class Writer:
    """One session under its lock: reads its projections, collects the entries to be written."""

    def __init__(
        self,
        session: str,
        head: Head,
        *,
        now: Callable[[], float],
        signer: Callable[[], Signer],
        projections: Mapping[str, Projection],
        load: Callable[[str], Any],
    ) -> None:
        self.session = session
        self.head = head
        self.lines: list[bytes] = []
        self.artifacts: list[tuple[int, Mapping[str, bytes]]] = []
        self.states: dict[str, Any] = {}
        self.changed: dict[str, int] = {}
        self._now = now
        self._signer = signer
        self._projections = projections
        self._load = load

    def project(self, name: str) -> Any:
        """The state of a projection, the entries appended so far included; not to be changed in place."""
        if name not in self._projections:
            known = ", ".join(sorted(self._projections)) or "none"
            raise LedgerError(f"no projection `{name}`; this store has: {known}")
        if name not in self.states:
            self.states[name] = self._load(name)
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
        kind = _known(kind)
        body = dict(body)
        seq = self.head.seq + 1
        if artifacts:
            body["artifacts"] = {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in artifacts.items()}
        signer = self._signer() if sign or kind in SIGNED else None
        entry, line = write(
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
                self.states[name] = projection.fold(self.project(name), entry)
                self.changed[name] = seq
        if artifacts:
            self.artifacts.append((seq, artifacts))
        self.lines.append(line)
        self.head = Head(entry.seq, entry.hash)
        return entry


def _known(kind: EntryKind | str) -> EntryKind:
    if type(kind) is EntryKind:
        return kind
    try:
        return EntryKind(kind)
    except ValueError:
        raise LedgerError(f"expected one of {', '.join(EntryKind)}, found the kind `{kind}`") from None
