"""Verification of a data directory: every session's chain, signatures, artifacts and end. Reads everything, changes nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verdikt.errors import LedgerError
from verdikt.ledger.artifact_store import ArtifactStore
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.projections import Projection
from verdikt.ledger.state_database import StateDatabase
from verdikt.ledger.store import OPERATOR, ChainHead
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.entry import ENTRY_KINDS, Entry, EntryKind

MAX_UNCOVERED_ENTRIES = 512
"""How many entries at the end of a session may go without a signature over them before it is worth saying."""


@dataclass(slots=True)
class AuditReport:
    """What verification found, session by session, and what concerns none of them."""

    sessions: list[ChainReport] = field(default_factory=list)
    general_findings: list[AuditFinding] = field(default_factory=list)

    @property
    def findings(self) -> list[AuditFinding]:
        """Everything found."""
        return [*self.general_findings, *(fault for session in self.sessions for fault in session.findings)]

    @property
    def entry_count(self) -> int:
        """How many entries were examined."""
        return sum(session.entry_count for session in self.sessions)

    @property
    def is_intact(self) -> bool:
        """Whether there was something to verify and all of it holds."""
        return self.entry_count > 0 and all(fault.is_note for fault in self.findings)


def audit(
    home: Path,
    sessions: Sequence[str] | None = None,
    *,
    witnesses: Sequence[Witness] = (),
    artifacts: bool = True,
    projections: Sequence[Projection] = (),
) -> AuditReport:
    """Verifies these sessions, or all that the files, `state.db` or a witness know of.

    Projections are folded anew and compared with what `state.db` says of them.
    """
    return _Auditor(home, witnesses, artifacts, projections).run(sessions)


class _Auditor:
    def __init__(
        self, home: Path, witnesses: Sequence[Witness], artifacts: bool, projections: Sequence[Projection]
    ) -> None:
        self._reader = LogReader(home / "ledger")
        self._keyring = Keyring(home / "keys")
        self._artifacts = ArtifactStore(home / "artifacts") if artifacts else None
        self._report = AuditReport()
        # Heads before files: a session that is being written to may have grown, never shrunk, when its file is read.
        self._state = StateDatabase(home / "state.db", readonly=True)
        self._projections = projections
        self._heads = self._read_heads()
        self._witnesses = witnesses
        self._chain_starts: dict[str, ChainHead] = {}
        self._introducing_kids: dict[str, str] = {}

    def run(self, sessions: Sequence[str] | None) -> AuditReport:
        operator = self._audit_session(OPERATOR) if self._is_known(OPERATOR) else None
        if operator is not None and (sessions is None or OPERATOR in sessions):
            self._report.sessions.append(operator)
        for session in sessions if sessions is not None else self._list_sessions():
            if session != OPERATOR:
                self._report.sessions.append(self._audit_session(session))
        self._check_keys()
        self._state.close()
        return self._report

    def _list_sessions(self) -> list[str]:
        known = {*self._reader.list_sessions(), *(self._heads or ()), *(w.session for w in self._witnesses)}
        return sorted(known)

    def _is_known(self, session: str) -> bool:
        return session in (self._heads or {}) or self._reader.has_session(session)

    def _audit_session(self, session: str) -> ChainReport:
        visitors: list[Callable[[dict[str, Any]], None]] = [self._visit_operator_entry] if session == OPERATOR else []
        folding = _ProjectionCheck(self._projections, self._read_stored_projections(session))
        if self._projections:
            visitors.append(folding)
        if self._artifacts:
            visitors.append(_ArtifactCheck(self._artifacts, session, self._add_artifact_finding))

        def visit_entry(fields: dict[str, Any]) -> None:
            for visitor in visitors:
                visitor(fields)

        self._artifact_findings: list[AuditFinding] = []
        try:
            found = verify_chain(
                lambda: self._reader.read_lines(session),
                session=session,
                start=self._chain_starts.get(session, ChainHead()),
                witnesses=[*self._find_witnesses(session)],
                verify_signature=self._keyring.check_entry_signature,
                visit_entry=visit_entry if visitors else None,
            )
        except LedgerError as error:
            found = ChainReport(session)
            found.add_finding(Corruption.EDIT, 0, str(error))
        found.findings += dict.fromkeys(self._artifact_findings)
        self._check_end(found)
        if found.is_intact:
            for name in folding.find_mismatches():
                message = f"`state.db` holds another `{name}` than the log gives: run `verdikt ledger reindex`"
                found.add_finding(Corruption.STATE, found.head.seq, message)
        return found

    def _read_stored_projections(self, session: str) -> dict[str, tuple[int, str | None]]:
        """What `state.db` says of a session's projections, asked before the file is read: that can only grow meanwhile."""
        if not self._projections or self._heads is None:
            return {}
        with self._state.hold_connection() as db:
            return db.read_projections(session)

    def _find_witnesses(self, session: str) -> Iterable[Witness]:
        head = (self._heads or {}).get(session)
        if head is not None and head.seq:
            yield Witness(session, head.seq, head.hash)
        yield from (witness for witness in self._witnesses if witness.session == session)

    def _check_end(self, report: ChainReport) -> None:
        session = report.session
        words = list(self._find_witnesses(session))
        path = self._reader.hot_file_path(session)
        if (
            report.entry_count == 0
            and words
            and self._chain_starts.get(session, ChainHead()).seq < max(word.seq for word in words)
        ):
            expected = max(words, key=lambda word: word.seq)
            if path.exists():
                report.add_finding(
                    Corruption.EMPTIED,
                    1,
                    f"`{path}` is empty: expected {expected.seq} entries as {expected.source} says",
                )
            else:
                report.add_finding(
                    Corruption.MISSING,
                    1,
                    f"`{path}` is gone: expected {expected.seq} entries as {expected.source} says",
                )
        if torn := self._reader.read_torn_tail(session):
            report.add_finding(
                Corruption.TRUNCATION,
                report.head.seq + 1,
                f"the last line of `{path}` is torn ({len(torn)} bytes): the next append repairs it with a gap entry",
            )
        if report.entry_count and not words:
            report.add_finding(
                Corruption.NO_HEAD,
                report.head.seq,
                "nothing outside the chain says where it ends: `state.db` does not know the session;"
                " run `verdikt ledger reindex` if you removed it yourself",
            )
        if report.head.seq - report.last_covered_seq > MAX_UNCOVERED_ENTRIES:
            report.add_finding(
                Corruption.UNCOVERED,
                report.last_covered_seq + 1,
                f"no signature covers entries {report.last_covered_seq + 1}…{report.head.seq}: run `verdikt ledger checkpoint`",
            )

    def _read_heads(self) -> dict[str, ChainHead] | None:
        if self._state.read_identity() is None:
            return None
        try:
            with self._state.hold_connection() as db:
                return db.read_heads()
        except LedgerError as error:
            self._report.general_findings.append(AuditFinding(Corruption.NO_HEAD, "", 0, str(error)))
            return None

    def _add_artifact_finding(self, finding: AuditFinding) -> None:
        self._artifact_findings.append(finding)

    def _visit_operator_entry(self, fields: dict[str, Any]) -> None:
        """What the operator's log says of other sessions and of keys, when its signature is good."""
        body = fields.get("body")
        if not isinstance(body, dict) or not fields["sig"]:
            return
        kid, kind = str(fields.get("kid")), fields.get("kind")
        if self._keyring.check_entry_signature(kid, fields["hash"], fields["sig"], fields["ts"]) is not None:
            return
        if kind == EntryKind.ROTATION:
            for session, cut in _as_mapping(body.get("expired")).items():
                self._chain_starts[session] = ChainHead(cut["seq"], cut["hash"])
        elif kind == EntryKind.KEY_ROTATION:
            self._introducing_kids[str(body.get("new"))] = kid

    def _check_keys(self) -> None:
        """Every key but the first must have been introduced by the one before it, in the operator's log."""
        for key in self._keyring.list_keys()[1:]:
            if key.retired is None and key.kid != self._keyring.current_kid():
                continue  # prepared by a rotation that did not finish; it signs nothing
            by = self._introducing_kids.get(key.kid)
            if by is None:
                message = f"key `{key.kid}` is in the keyring, and no entry of the operator's log introduces it"
                self._report.general_findings.append(AuditFinding(Corruption.UNKNOWN_KEY, OPERATOR, 0, message))
            elif by == key.kid:
                message = f"key `{key.kid}` introduced itself, because the key before it was lost"
                self._report.general_findings.append(AuditFinding(Corruption.GAP, OPERATOR, 0, message))


class _ProjectionCheck:
    """Folds the projections over the entries that it visits, and compares each with what is claimed of it at some entry.

    Begins anew when the first entry comes again.
    """

    def __init__(self, projections: Sequence[Projection], stored: Mapping[str, tuple[int, str | None]]) -> None:
        self._projections = projections
        self._stored_states: dict[int, list[tuple[Projection, str | None]]] = {}
        for projection in projections:
            if projection.label in stored:
                seq, text = stored[projection.label]
                self._stored_states.setdefault(seq, []).append((projection, text))
        self._states: dict[str, Any] = {}
        self._mismatches: list[str] = []
        self._first_seq = self._last_seq = 0

    def __call__(self, fields: dict[str, Any]) -> None:
        if not self._states or fields["seq"] == self._first_seq:
            self._first_seq = fields["seq"]
            self._states = {projection.name: projection.create_initial_state() for projection in self._projections}
            self._mismatches = []
        self._last_seq = fields["seq"]
        if fields.get("kind") in ENTRY_KINDS:
            entry = Entry(**{**fields, "kind": EntryKind(fields["kind"])})
            for projection in self._projections:
                if projection.applies_to(entry):
                    self._states[projection.name] = projection.fold(self._states[projection.name], entry)
        for projection, text in self._stored_states.get(fields["seq"], ()):
            claimed = encode_canonical(projection.initial).decode() if text is None else text
            if claimed != encode_canonical(self._states[projection.name]).decode():
                self._mismatches.append(projection.name)

    def find_mismatches(self) -> list[str]:
        """The projections of which something else is claimed than the log gives, or something of entries that it has not."""
        ahead = [each.name for seq, rows in self._stored_states.items() if seq > self._last_seq for each, _ in rows]
        return self._mismatches + ahead


class _ArtifactCheck:
    """Compares the artifacts of each entry with the digests in its body."""

    def __init__(self, artifacts: ArtifactStore, session: str, report: Any) -> None:
        self._artifacts = artifacts
        self._session = session
        self._report = report

    def __call__(self, fields: dict[str, Any]) -> None:
        body = fields.get("body")
        for name, expected in _as_mapping(_as_mapping(body).get("artifacts")).items():
            try:
                data = self._artifacts.read_artifact(self._session, fields["seq"], name)
            except LedgerError as error:
                self._report_finding(fields["seq"], str(error))
                continue
            if sha256_hex(data) != _as_mapping(expected).get("sha256"):
                self._report_finding(
                    fields["seq"], f"artifact `{name}` of entry {fields['seq']} is not what the entry says"
                )

    def _report_finding(self, seq: int, message: str) -> None:
        self._report(AuditFinding(Corruption.ARTIFACT, self._session, seq, message))


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
