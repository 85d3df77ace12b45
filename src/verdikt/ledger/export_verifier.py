"""Verification of exported lines: some entries of some sessions, in any order, as a search found them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.model.entry import unseal_line


class ExportedStretch(NamedTuple):
    """Entries of one session that follow each other, by their hashes."""

    session: str
    first: int
    last: int
    hash: str
    """Of the last one."""


@dataclass(slots=True)
class ExportReport:
    """The result: which stretches the lines are, and what is wrong with them. Entries that no search found are none."""

    entry_count: int = 0
    stretches: list[ExportedStretch] = field(default_factory=list)
    findings: list[AuditFinding] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Return whether there was something to examine and every line is as it was written."""
        return self.entry_count > 0 and not self.findings


def verify_export(lines: Iterable[bytes], witnesses: Sequence[Witness] = ()) -> ExportReport:
    """Return which stretches some lines are; a line with another hash, and one that a witness contradicts, is named."""
    report = ExportReport()
    entries: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        fields = unseal_line(line)
        if isinstance(fields, str) or not _has_place(fields):
            problem = fields if isinstance(fields, str) else "expected a session and a number in it"
            report.findings.append(AuditFinding(Corruption.EDIT, "", 0, f"line {number}: {problem}"))
        else:
            report.entry_count += 1
            entries[fields["hash"]] = fields
    report.stretches = _build_stretches(entries.values())
    report.findings += _compare_witnesses(entries, witnesses)
    return report


def _has_place(fields: Mapping[str, Any]) -> bool:
    return isinstance(fields.get("session"), str) and type(fields.get("seq")) is int


def _build_stretches(entries: Iterable[Mapping[str, Any]]) -> list[ExportedStretch]:
    """Return the entries as stretches: by their hashes, as machines of a fleet have sessions of the same name."""
    stretches: dict[str, ExportedStretch] = {}
    for fields in sorted(entries, key=lambda fields: (fields["session"], fields["seq"])):
        session, seq, hash = fields["session"], fields["seq"], fields["hash"]
        before = stretches.get(str(fields.get("prev")))
        first = seq
        if before is not None and (before.session, before.last) == (session, seq - 1):
            first = stretches.pop(before.hash).first
        stretches[hash] = ExportedStretch(session, first, seq, hash)
    return sorted(stretches.values())


def _compare_witnesses(entries: dict[str, dict[str, Any]], witnesses: Sequence[Witness]) -> list[AuditFinding]:
    """Return the entries that stand where a witness saw another one."""
    places = {(fields["session"], fields["seq"]) for fields in entries.values()}
    return [
        AuditFinding(Corruption.FORGERY, witness.session, witness.seq, f"{witness.source} has another entry here")
        for witness in witnesses
        if (witness.session, witness.seq) in places and witness.hash not in entries
    ]
