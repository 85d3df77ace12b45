"""Verification of a data directory: every session's chain, signatures, artifacts and end. Reads everything, changes nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verdikt.errors import LedgerError
from verdikt.ledger.artifact import Artifacts
from verdikt.ledger.chain import Examination, examine
from verdikt.ledger.fault import Corruption, Fault, Witness
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projection import Projection
from verdikt.ledger.reader import Reader
from verdikt.ledger.state import StateDb
from verdikt.ledger.store import OPERATOR, Head
from verdikt.model.canonical import canonical, sha256
from verdikt.model.entry import KINDS, Entry, EntryKind
from verdikt.model.value import Record, field

COVER_WITHIN = 512
"""How many entries at the end of a session may go without a signature over them before it is worth saying."""


class Audit(Record):
    """What verification found, session by session, and what concerns none of them."""

    sessions: list[Examination] = field(default_factory=list)
    general: list[Fault] = field(default_factory=list)

    @property
    def faults(self) -> list[Fault]:
        """Everything found."""
        return [*self.general, *(fault for session in self.sessions for fault in session.faults)]

    @property
    def entries(self) -> int:
        """How many entries were examined."""
        return sum(session.entries for session in self.sessions)

    @property
    def holds(self) -> bool:
        """Whether there was something to verify and all of it holds."""
        return self.entries > 0 and all(fault.note for fault in self.faults)


def audit(
    home: Path,
    sessions: Sequence[str] | None = None,
    *,
    witnesses: Sequence[Witness] = (),
    artifacts: bool = True,
    projections: Sequence[Projection] = (),
) -> Audit:
    """Verifies these sessions, or all that the files, `state.db` or a witness know of.

    Projections are folded anew and compared with what `state.db` says of them.
    """
    return _Auditor(home, witnesses, artifacts, projections).run(sessions)


class _Auditor:
    def __init__(
        self, home: Path, witnesses: Sequence[Witness], artifacts: bool, projections: Sequence[Projection]
    ) -> None:
        self._reader = Reader(home / "ledger")
        self._keyring = Keyring(home / "keys")
        self._artifacts = Artifacts(home / "artifacts") if artifacts else None
        self._found = Audit()
        # Heads before files: a session that is being written to may have grown, never shrunk, when its file is read.
        self._state = StateDb(home / "state.db", readonly=True)
        self._projections = projections
        self._heads = self._recorded()
        self._witnesses = witnesses
        self._expired: dict[str, Head] = {}
        self._introduced: dict[str, str] = {}

    def run(self, sessions: Sequence[str] | None) -> Audit:
        operator = self._session(OPERATOR) if self._known(OPERATOR) else None
        if operator is not None and (sessions is None or OPERATOR in sessions):
            self._found.sessions.append(operator)
        for session in sessions if sessions is not None else self._every():
            if session != OPERATOR:
                self._found.sessions.append(self._session(session))
        self._check_keys()
        self._state.close()
        return self._found

    def _every(self) -> list[str]:
        known = {*self._reader.sessions(), *(self._heads or ()), *(w.session for w in self._witnesses)}
        return sorted(known)

    def _known(self, session: str) -> bool:
        return session in (self._heads or {}) or self._reader.exists(session)

    def _session(self, session: str) -> Examination:
        visitors: list[Callable[[dict[str, Any]], None]] = [self._notice_operator] if session == OPERATOR else []
        folding = _Folding(self._projections, self._claims(session))
        if self._projections:
            visitors.append(folding)
        if self._artifacts:
            visitors.append(_ArtifactCheck(self._artifacts, session, self._artifacts_fault))

        def visit(fields: dict[str, Any]) -> None:
            for visitor in visitors:
                visitor(fields)

        self._pending: list[Fault] = []
        try:
            found = examine(
                lambda: self._reader.lines(session),
                session=session,
                start=self._expired.get(session, Head()),
                witnesses=[*self._words(session)],
                check=self._keyring.check,
                visit=visit if visitors else None,
            )
        except LedgerError as error:
            found = Examination(session)
            found.fault(Corruption.EDIT, 0, str(error))
        found.faults += dict.fromkeys(self._pending)
        self._check_end(found)
        if found.holds:
            for name in folding.wrong():
                message = f"`state.db` holds another `{name}` than the log gives: run `verdikt ledger reindex`"
                found.fault(Corruption.STATE, found.head.seq, message)
        return found

    def _claims(self, session: str) -> dict[str, tuple[int, str | None]]:
        """What `state.db` says of a session's projections, asked before the file is read: that can only grow meanwhile."""
        if not self._projections or self._heads is None:
            return {}
        with self._state.reading() as db:
            return db.claims(session)

    def _words(self, session: str) -> Iterable[Witness]:
        head = (self._heads or {}).get(session)
        if head is not None and head.seq:
            yield Witness(session, head.seq, head.hash)
        yield from (witness for witness in self._witnesses if witness.session == session)

    def _check_end(self, found: Examination) -> None:
        session = found.session
        words = list(self._words(session))
        path = self._reader.path(session)
        if found.entries == 0 and words and self._expired.get(session, Head()).seq < max(word.seq for word in words):
            expected = max(words, key=lambda word: word.seq)
            if path.exists():
                found.fault(
                    Corruption.EMPTIED,
                    1,
                    f"`{path}` is empty: expected {expected.seq} entries as {expected.source} says",
                )
            else:
                found.fault(
                    Corruption.MISSING,
                    1,
                    f"`{path}` is gone: expected {expected.seq} entries as {expected.source} says",
                )
        if torn := self._reader.torn(session):
            found.fault(
                Corruption.TRUNCATION,
                found.head.seq + 1,
                f"the last line of `{path}` is torn ({len(torn)} bytes): the next append repairs it with a gap entry",
            )
        if found.entries and not words:
            found.fault(
                Corruption.NO_HEAD,
                found.head.seq,
                "nothing outside the chain says where it ends: `state.db` does not know the session;"
                " run `verdikt ledger reindex` if you removed it yourself",
            )
        if found.head.seq - found.covered > COVER_WITHIN:
            found.fault(
                Corruption.UNCOVERED,
                found.covered + 1,
                f"no signature covers entries {found.covered + 1}…{found.head.seq}: run `verdikt ledger checkpoint`",
            )

    def _recorded(self) -> dict[str, Head] | None:
        if self._state.identity() is None:
            return None
        try:
            with self._state.reading() as db:
                return db.heads()
        except LedgerError as error:
            self._found.general.append(Fault(Corruption.NO_HEAD, "", 0, str(error)))
            return None

    def _artifacts_fault(self, fault: Fault) -> None:
        self._pending.append(fault)

    def _notice_operator(self, fields: dict[str, Any]) -> None:
        """What the operator's log says of other sessions and of keys, when its signature is good."""
        body = fields.get("body")
        if not isinstance(body, dict) or not fields["sig"]:
            return
        kid, kind = str(fields.get("kid")), fields.get("kind")
        if self._keyring.check(kid, fields["hash"], fields["sig"], fields["ts"]) is not None:
            return
        if kind == EntryKind.ROTATION:
            for session, cut in _mapping(body.get("expired")).items():
                self._expired[session] = Head(cut["seq"], cut["hash"])
        elif kind == EntryKind.KEY_ROTATION:
            self._introduced[str(body.get("new"))] = kid

    def _check_keys(self) -> None:
        """Every key but the first must have been introduced by the one before it, in the operator's log."""
        for key in self._keyring.known()[1:]:
            if key.retired is None and key.kid != self._keyring.current_kid():
                continue  # prepared by a rotation that did not finish; it signs nothing
            by = self._introduced.get(key.kid)
            if by is None:
                message = f"key `{key.kid}` is in the keyring, and no entry of the operator's log introduces it"
                self._found.general.append(Fault(Corruption.UNKNOWN_KEY, OPERATOR, 0, message))
            elif by == key.kid:
                message = f"key `{key.kid}` introduced itself, because the key before it was lost"
                self._found.general.append(Fault(Corruption.GAP, OPERATOR, 0, message))


class _Folding:
    """Folds the projections over the entries that it visits, and compares each with what is claimed of it at some entry.

    Begins anew when the first entry comes again.
    """

    def __init__(self, projections: Sequence[Projection], claims: Mapping[str, tuple[int, str | None]]) -> None:
        self._projections = projections
        self._claimed: dict[int, list[tuple[Projection, str | None]]] = {}
        for projection in projections:
            if projection.label in claims:
                seq, text = claims[projection.label]
                self._claimed.setdefault(seq, []).append((projection, text))
        self._states: dict[str, Any] = {}
        self._wrong: list[str] = []
        self._first = self._last = 0

    def __call__(self, fields: dict[str, Any]) -> None:
        if not self._states or fields["seq"] == self._first:
            self._first = fields["seq"]
            self._states = {projection.name: projection.fresh() for projection in self._projections}
            self._wrong = []
        self._last = fields["seq"]
        if fields.get("kind") in KINDS:
            entry = Entry(**{**fields, "kind": EntryKind(fields["kind"])})
            for projection in self._projections:
                if projection.concerns(entry):
                    self._states[projection.name] = projection.fold(self._states[projection.name], entry)
        for projection, text in self._claimed.get(fields["seq"], ()):
            claimed = canonical(projection.initial).decode() if text is None else text
            if claimed != canonical(self._states[projection.name]).decode():
                self._wrong.append(projection.name)

    def wrong(self) -> list[str]:
        """The projections of which something else is claimed than the log gives, or something of entries that it has not."""
        ahead = [each.name for seq, rows in self._claimed.items() if seq > self._last for each, _ in rows]
        return self._wrong + ahead


class _ArtifactCheck:
    """Compares the artifacts of each entry with the digests in its body."""

    def __init__(self, artifacts: Artifacts, session: str, report: Any) -> None:
        self._artifacts = artifacts
        self._session = session
        self._report = report

    def __call__(self, fields: dict[str, Any]) -> None:
        body = fields.get("body")
        for name, expected in _mapping(_mapping(body).get("artifacts")).items():
            try:
                data = self._artifacts.read(self._session, fields["seq"], name)
            except LedgerError as error:
                self._fault(fields["seq"], str(error))
                continue
            if sha256(data) != _mapping(expected).get("sha256"):
                self._fault(fields["seq"], f"artifact `{name}` of entry {fields['seq']} is not what the entry says")

    def _fault(self, seq: int, message: str) -> None:
        self._report(Fault(Corruption.ARTIFACT, self._session, seq, message))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
