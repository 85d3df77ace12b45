"""Verification of a data directory: every session's chain, signatures, artifacts and end. It changes nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verdikt.errors import LedgerError
from verdikt.ledger.artifact_store import ArtifactStore
from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.chain_reader import GAP_DATABASE
from verdikt.ledger.chain_verifier import ChainReport, verify_chain
from verdikt.ledger.key_introduction import IntroducedKeys
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.projections import Projection
from verdikt.ledger.state_database import StateDatabase
from verdikt.ledger.store import OPERATOR
from verdikt.model.canonical_json import encode_canonical, sha256_hex
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import ENTRY_KINDS, Entry, EntryKind

ACCEPTED = "accepted"
"""The `reason` of a checkpoint in the operator's log by which a person accepts the loss of `state.db`."""

MAX_UNCOVERED_ENTRIES = 512
"""Number of entries at the end of a session without a signature over them above which a note is made."""


@dataclass(slots=True)
class AuditReport:
    """The findings of a verification, by session and in general."""

    sessions: list[ChainReport] = field(default_factory=list)
    general_findings: list[AuditFinding] = field(default_factory=list)

    @property
    def findings(self) -> list[AuditFinding]:
        """Return all findings."""
        return [*self.general_findings, *(fault for session in self.sessions for fault in session.findings)]

    @property
    def entry_count(self) -> int:
        """Return how many entries were examined."""
        return sum(session.entry_count for session in self.sessions)

    @property
    def is_intact(self) -> bool:
        """Return whether there was something to verify and nothing is wrong with it."""
        return self.entry_count > 0 and all(fault.is_note for fault in self.findings)


def audit(
    home: Path,
    sessions: Sequence[str] | None = None,
    *,
    witnesses: Sequence[Witness] = (),
    artifacts: bool = True,
    projections: Sequence[Projection] = (),
    bodies_required: bool = True,
) -> AuditReport:
    """Verify these sessions, or every session that the files, `state.db` or a witness name.

    The projections are folded again from the log and compared with the states in `state.db`. Without
    `bodies_required`, entries may lack the text of their body: chain and signatures cover its digest.
    """
    with _Auditor(home, witnesses, artifacts, projections, bodies_required) as auditor:
        return auditor.run(sessions)


class _Auditor:
    def __init__(
        self,
        home: Path,
        witnesses: Sequence[Witness],
        artifacts: bool,
        projections: Sequence[Projection],
        bodies_required: bool,
    ) -> None:
        self._bodies_required = bodies_required
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
        self._keys = IntroducedKeys(self._keyring, self._reader.read_intact_entries(OPERATOR))
        self._repeated_heads: dict[str, dict[ChainHead, None]] = {}
        self._first_introduction_ts: int | None = None
        self._lost_databases: list[int] = []

    def run(self, sessions: Sequence[str] | None) -> AuditReport:
        # The operator's log first: it says where other chains begin and which keys were introduced.
        operator = self._audit_session(OPERATOR) if self._is_known(OPERATOR) else None
        for session in sessions if sessions is not None else self._list_sessions():
            if session != OPERATOR:
                self._report.sessions.append(self._audit_session(session))
        if operator is not None and (sessions is None or OPERATOR in sessions):
            self._report.sessions.append(operator)
        self._check_keys()
        self._report.general_findings += [
            AuditFinding(
                Corruption.NO_HEAD,
                OPERATOR,
                seq,
                f"`state.db` was removed before entry {seq}: what followed the last checkpoint of each session may be"
                " missing; `verdikt ledger checkpoint --accept` accepts the log as it is",
            )
            for seq in dict.fromkeys(self._lost_databases)
        ]
        return self._report

    def __enter__(self) -> "_Auditor":
        return self

    def __exit__(self, *_: object) -> None:
        self._state.close()
        if self._artifacts:
            self._artifacts.close()

    def _list_sessions(self) -> list[str]:
        witnesses = (witness.session for witness in self._witnesses)
        sessions = {*self._reader.list_sessions(), *(self._heads or ()), *self._repeated_heads, *witnesses}
        return sorted(sessions)

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
            report = verify_chain(
                lambda: self._reader.read_lines(session),
                session=session,
                start=self._chain_starts.get(session, ChainHead()),
                witnesses=[*self._find_witnesses(session)],
                verify_signature=self._keys.check_entry_signature,
                visit_entry=visit_entry if visitors else None,
            )
        except LedgerError as error:
            report = ChainReport(session)
            report.add_finding(Corruption.EDIT, 0, str(error))
        # A damaged chain is read twice, so its artifacts may be reported twice.
        report.findings += dict.fromkeys(self._artifact_findings)
        self._check_end(report)
        self._check_coverage(report)
        self._check_introduction(report)
        # A damaged log gives no state to compare with, nor does one without the bodies that the state is folded from.
        if report.is_intact and not report.absent_body_count:
            for name in folding.find_mismatches():
                message = f"`state.db` holds another `{name}` than the log gives: run `verdikt ledger reindex`"
                report.add_finding(Corruption.STATE, report.head.seq, message)
        return report

    def _read_stored_projections(self, session: str) -> dict[str, tuple[int, str | None]]:
        """Return the stored projections of a session; called before the file is read, which can only grow meanwhile."""
        if not self._projections or self._heads is None:
            return {}
        with self._state.hold_connection() as db:
            return db.read_projections(session)

    def _find_witnesses(self, session: str) -> Iterable[Witness]:
        head = (self._heads or {}).get(session)
        if head is not None and head.seq:
            yield Witness(session, head.seq, head.hash)
        yield from (witness for witness in self._witnesses if witness.session == session)
        for head in self._repeated_heads.get(session, ()):
            yield Witness(session, head.seq, head.hash, "the operator's log")

    def _check_end(self, report: ChainReport) -> None:
        """Report a chain that does not reach as far as it should, as far as something outside of it says."""
        witnesses = list(self._find_witnesses(report.session))
        start = self._chain_starts.get(report.session, ChainHead())
        last = max(witnesses, key=lambda witness: witness.seq, default=None)
        if last is not None and report.entry_count == 0 and start.seq < last.seq:
            self._report_lost_file(report, last)
        if torn := self._reader.read_torn_tail(report.session):
            path = self._reader.hot_file_path(report.session)
            report.add_finding(
                Corruption.TRUNCATION,
                report.head.seq + 1,
                f"the last line of `{path}` is torn ({len(torn)} bytes): the next append repairs it with a gap entry",
            )
        if (
            report.entry_count
            and report.session not in (self._heads or {})
            and not any(witness.is_external for witness in witnesses)
        ):
            report.add_finding(
                Corruption.NO_HEAD,
                report.head.seq,
                "nothing outside the chain says where it ends: `state.db` does not know the session;"
                " run `verdikt ledger reindex` if you removed it yourself",
            )

    def _report_lost_file(self, report: ChainReport, last: Witness) -> None:
        path = self._reader.hot_file_path(report.session)
        corruption, state = (Corruption.EMPTIED, "empty") if path.exists() else (Corruption.MISSING, "gone")
        report.add_finding(corruption, 1, f"`{path}` is {state}: expected {last.seq} entries as {last.source} says")

    def _check_coverage(self, report: ChainReport) -> None:
        """Report entries that no signature covers, and entries without the body that their digest is of."""
        if report.head.seq - report.last_covered_seq > MAX_UNCOVERED_ENTRIES:
            report.add_finding(
                Corruption.UNCOVERED,
                report.last_covered_seq + 1,
                f"no signature covers entries {report.last_covered_seq + 1}…{report.head.seq}:"
                " run `verdikt ledger checkpoint`",
            )
        if report.absent_body_count and self._bodies_required:
            # On this machine nothing leaves bodies out, so a missing one hides what an agent did.
            report.add_finding(
                Corruption.ABSENT_BODY,
                report.first_absent_body,
                f"{report.absent_body_count} of {report.entry_count} entries have no body, the first is entry"
                f" {report.first_absent_body}: it was left out or erased, and the chain has only its digest;"
                " `--without-bodies` accepts that",
            )

    def _check_introduction(self, report: ChainReport) -> None:
        """Report a session that the operator's log does not know although it introduces every session."""
        session, begins_at = report.session, self._first_introduction_ts
        first = next(self._reader.read_intact_entries(session), None) if session not in self._repeated_heads else None
        # Sessions that are older than the first introduction were written by an earlier version.
        if session == OPERATOR or first is None or begins_at is None or first.ts < begins_at:
            return
        report.add_finding(
            Corruption.NOT_INTRODUCED,
            first.seq,
            "the operator's log does not introduce this session: its end was cut off, or the session was put here",
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
        """Remember what a validly signed entry of the operator's log says about other sessions and about keys."""
        body, kind, kid = _as_mapping(fields.get("body")), fields.get("kind"), str(fields.get("kid"))
        if kind == EntryKind.SESSION:
            # Not signed: the first call of a session must not wait for a cryptography library. A later entry covers it.
            if self._first_introduction_ts is None:
                self._first_introduction_ts = fields["ts"]
            self._add_repeated_head(body)
        elif kind == EntryKind.GAP and body.get("reason") == GAP_DATABASE:
            self._lost_databases.append(fields["seq"])
        # Without a valid signature, anything that can write the file could hide entries.
        if not fields["sig"] or self._keys.check_entry_signature(kid, fields["hash"], fields["sig"], fields["ts"]):
            return
        if kind == EntryKind.ROTATION:
            for session, cut in _as_mapping(body.get("expired")).items():
                self._chain_starts[session] = ChainHead(cut["seq"], cut["hash"])
        elif kind == EntryKind.CHECKPOINT:
            self._add_repeated_head(body)
            if body.get("reason") == ACCEPTED:
                self._lost_databases.clear()

    def _add_repeated_head(self, body: dict[str, Any]) -> None:
        session, seq, hash = body.get("session"), body.get("seq"), body.get("hash")
        if isinstance(session, str) and isinstance(seq, int) and isinstance(hash, str):
            self._repeated_heads.setdefault(session, {})[ChainHead(seq, hash)] = None

    def _check_keys(self) -> None:
        """Report every key that no entry of the operator's log introduces."""
        root = next(iter(self._keys.introduced_by), "")
        for number, key in enumerate(self._keyring.list_keys()):
            if key.retired is None and key.kid != self._keyring.current_kid():
                continue  # prepared by a rotation that did not finish; it signs nothing
            introducing_kid = self._keys.introduced_by.get(key.kid)
            if number == 0 and not root:
                continue  # made by `verdikt keys init`; where it has signed something, the entry is a finding
            if introducing_kid is None:
                message = f"key `{key.kid}` is in the keyring, and no entry of the operator's log introduces it"
                self._report.general_findings.append(AuditFinding(Corruption.UNKNOWN_KEY, OPERATOR, 0, message))
            elif introducing_kid == key.kid and key.kid != root:
                message = f"key `{key.kid}` introduced itself, because the key before it was lost"
                self._report.general_findings.append(AuditFinding(Corruption.GAP, OPERATOR, 0, message))


class _ProjectionCheck:
    """Folds the projections over the visited entries, and compares them with the stored states.

    A stored state is compared at the entry it was stored for. Visiting the first entry again starts over.
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
        # A damaged chain is walked a second time, from its first entry.
        if not self._states or fields["seq"] == self._first_seq:
            self._first_seq = fields["seq"]
            self._states = {projection.name: projection.create_initial_state() for projection in self._projections}
            self._mismatches = []
        self._last_seq = fields["seq"]
        if fields.get("kind") in ENTRY_KINDS and "body" in fields:
            entry = Entry(**{**fields, "kind": EntryKind(fields["kind"])})
            for projection in self._projections:
                if projection.applies_to(entry):
                    self._states[projection.name] = projection.fold(self._states[projection.name], entry)
        for projection, text in self._stored_states.get(fields["seq"], ()):
            # An absent row means that no entry has changed the initial state yet.
            claimed = encode_canonical(projection.initial).decode() if text is None else text
            if claimed != encode_canonical(self._states[projection.name]).decode():
                self._mismatches.append(projection.name)

    def find_mismatches(self) -> list[str]:
        """Return the projections whose stored state differs from the log's, or claims entries that the log lacks."""
        ahead = [
            projection.name
            for seq, rows in self._stored_states.items()
            if seq > self._last_seq
            for projection, _ in rows
        ]
        return self._mismatches + ahead


class _ArtifactCheck:
    """Compares the artifacts of each visited entry with the digests in its body."""

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
