"""The port to the log: what every store offers, and the writer of one locked session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import SIGNED_KINDS, EntryKind, build_entry

if TYPE_CHECKING:
    from verdikt.ledger.projections import Projection
    from verdikt.model.entry import Entry

OPERATOR = "operator"
"""The session of entries that belong to no agent session: grants, pauses, key rotations, expired archives.

It also introduces every other session and repeats its checkpoints, so that a session that is removed leaves a trace."""


def head_to_record(head: ChainHead) -> dict[str, Any]:
    """Return a head as plain data."""
    return {"seq": head.seq, "hash": head.hash}


class Signer(Protocol):
    """The current signing key."""

    @property
    def kid(self) -> str:
        """The id of the key."""

    def sign(self, message: bytes) -> str:
        """Return the signature of a message in lower-case hex."""


class LogStore(Protocol):
    """A log of many sessions, each a hash chain. Safe for concurrent threads and processes.

    A store is a context manager that closes itself.
    """

    def append(
        self,
        session: str,
        kind: EntryKind | str,
        body: Mapping[str, Any],
        *,
        sign: bool = False,
        artifacts: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """Add one entry and return it once it is durable; raise `LedgerError` when it could not be written."""

    def session(self, session_id: str) -> AbstractContextManager[LogWriter]:
        """Lock one session for a `with` block, in which its projections are read and entries are appended.

        The projections do not change under the block, except by its own appends. The entries are written when the block
        ends without an error: all of them or, when it raises, none. A second block on the same session in the same
        thread is refused, because it would wait for itself.
        """

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """Yield the entries after seq `since`, oldest first; raise `ChainBroken` at the first that does not verify."""

    def read_head(self, session: str) -> ChainHead:
        """Return the head of a session's chain; seq 0 when it has no entries."""

    def list_sessions(self) -> list[str]:
        """Return the ids of all sessions that have at least one entry, sorted."""

    def read_projection(self, name: str, session: str) -> Any:
        """Return a copy of the state of a projection after the last entry."""

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """Return the artifact that was stored under that name with that entry."""

    def close(self) -> None:
        """Release all resources; the store may be closed more than once."""

    def __enter__(self) -> Self:
        """Return the store itself."""

    def __exit__(self, *exception: object) -> None:
        """Close the store."""


class LogWriter:
    """One session under its lock: read its projections, collect the entries to be written."""

    def __init__(
        self,
        session_id: str,
        head: ChainHead,
        *,
        now: Callable[[], float],
        signer: Callable[[], Signer],
        projections: Mapping[str, Projection],
        load_state: Callable[[str], Any],
        introduce_key: Callable[[LogWriter, str], None] | None = None,
    ) -> None:
        self.session_id = session_id
        self.head = head
        self.lines: list[bytes] = []
        self.signed_entries: list[Entry] = []
        self.artifacts: list[tuple[int, Mapping[str, bytes]]] = []
        self.states: dict[str, Any] = {}
        self.change_seqs: dict[str, int] = {}
        self._now = now
        self._signer = signer
        self._projections = projections
        self._load_state = load_state
        self._introduce_key = introduce_key

    def read_projection(self, name: str) -> Any:
        """Return the state of a projection, this block's appends included. The caller must not change it in place."""
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
        """Add an entry; it is written when the `session` block ends without an error."""
        kind = _to_entry_kind(kind)
        body = dict(body)
        signer = self._signer() if sign or kind in SIGNED_KINDS else None
        # A key signs nothing before an entry introduces it; that entry it may sign itself.
        is_introduction = kind is EntryKind.KEY_ROTATION and signer is not None and body.get("new") == signer.kid
        if signer and self._introduce_key and not is_introduction:
            self._introduce_key(self, signer.kid)
        seq = self.head.seq + 1
        if artifacts:
            # The digests are part of the hashed body, so a changed artifact shows like a changed entry.
            body["artifacts"] = {
                name: {"bytes": len(data), "sha256": sha256_hex(data)} for name, data in artifacts.items()
            }
        entry, line = build_entry(
            seq=seq,
            # Microseconds as an integer, which every JSON reader gives back exactly.
            ts=int(self._now() * 1_000_000),
            session=self.session_id,
            kind=kind,
            body=body,
            prev=self.head.hash,
            kid=signer.kid if signer else "",
            sign=signer.sign if signer else None,
        )
        # Folded at once, so that what the block reads next includes this entry.
        for name, projection in self._projections.items():
            if projection.kinds is None or kind in projection.kinds:
                self.states[name] = projection.fold(self.read_projection(name), entry)
                self.change_seqs[name] = seq
        if artifacts:
            self.artifacts.append((seq, artifacts))
        self.lines.append(line)
        if signer:
            self.signed_entries.append(entry)
        self.head = ChainHead(entry.seq, entry.hash)
        return entry


def _to_entry_kind(kind: EntryKind | str) -> EntryKind:
    if type(kind) is EntryKind:
        return kind
    try:
        return EntryKind(kind)
    except ValueError:
        raise LedgerError(f"expected one of {', '.join(EntryKind)}, found the kind `{kind}`") from None
