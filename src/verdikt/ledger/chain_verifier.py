"""Verification of one chain, and diagnosis of what was done to a damaged one. Pure."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verdikt.ledger.audit_finding import AuditFinding, Corruption, Witness
from verdikt.ledger.chain_reader import GAP_LOST, GAP_REWRITTEN
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import ENTRY_KINDS, READABLE_VERSIONS, SIGNED_KINDS, EntryKind, unseal_line
from verdikt.model.gap import describe_gap

SignatureCheck = Callable[[str, str, str, int], Corruption | None]
"""(kid, hash, sig, ts) → what is wrong with the signature, if anything."""


@dataclass(slots=True)
class ChainReport:
    """The result of examining one session: its findings, and how far the log reaches."""

    session: str
    head: ChainHead = field(default_factory=ChainHead)
    entry_count: int = 0
    signature_count: int = 0
    last_covered_seq: int = 0
    """The last entry that a valid signature covers, its own or a later one."""
    absent_body_count: int = 0
    """Number of entries that have the digest of their body and not its text: the chain holds without it."""
    first_absent_body: int = 0
    findings: list[AuditFinding] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Return whether there was something to examine and nothing is wrong with it."""
        return self.entry_count > 0 and all(fault.is_note for fault in self.findings)

    def add_finding(self, kind: Corruption, seq: int, message: str) -> None:
        """Add a finding about this session."""
        self.findings.append(AuditFinding(kind, self.session, seq, message))


def verify_chain(
    read_lines: Callable[[], Iterable[bytes]],
    *,
    session: str,
    start: ChainHead = ChainHead(),  # noqa: B008 - a frozen value
    witnesses: Sequence[Witness] = (),
    verify_signature: SignatureCheck | None = None,
    visit_entry: Callable[[dict[str, Any]], None] | None = None,
) -> ChainReport:
    """Return everything that is wrong with a session's lines.

    `read_lines` returns the lines from the first; it is called a second time when they are damaged. `start` is where
    the first entry must link to; `witnesses` say which hashes were seen before; `visit_entry` is called with the fields
    of each entry that belongs to the chain.
    """
    walk = _ChainWalker(session, start, witnesses, verify_signature, visit_entry)
    # The fast pass covers intact logs; only a damaged one is held in memory and diagnosed.
    if not walk.walk_intact(read_lines()):
        walk = _ChainWalker(session, start, witnesses, verify_signature, visit_entry)
        walk.find_tampering([_parse_line(line) for line in read_lines()])
    walk.check_witnesses()
    return walk.report


@dataclass(frozen=True, slots=True)
class _LogLine:
    """One line of a damaged log: its fields when its hash is right, else what is wrong with it."""

    fields: Mapping[str, Any]
    error: str = ""

    @property
    def seq(self) -> int:
        seq = self.fields.get("seq")
        return seq if isinstance(seq, int) else -1

    @property
    def prev(self) -> Any:
        return self.fields.get("prev")

    @property
    def hash(self) -> Any:
        return self.fields.get("hash")


def _parse_line(line: bytes) -> _LogLine:
    fields = unseal_line(line)
    return _LogLine({}, fields) if isinstance(fields, str) else _LogLine(fields)


class _ChainWalker:
    """One pass over a session's lines."""

    def __init__(
        self,
        session: str,
        start: ChainHead,
        witnesses: Sequence[Witness],
        verify_signature: SignatureCheck | None,
        visit_entry: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.report = ChainReport(session, head=start)
        self._witnesses = witnesses
        self._witness_seqs = {witness.seq for witness in witnesses}
        self._known_hashes: dict[int, str] = {start.seq: start.hash}
        self._last_damaged_seq = 0
        self._verify_signature = verify_signature
        self._visit_entry = visit_entry

    def walk_intact(self, lines: Iterable[bytes]) -> bool:
        """Accept the entries of an intact chain; return False at the first line that does not follow."""
        head = self.report.head
        seq, prev, session = head.seq, head.hash, self.report.session
        for line in lines:
            fields = unseal_line(line)
            seq += 1
            if (
                isinstance(fields, str)
                or fields.get("seq") != seq
                or fields.get("prev") != prev
                or fields.get("session") != session
            ):
                return False
            self._accept_entry(fields)
            prev = fields["hash"]
        return True

    def find_tampering(self, log_lines: list[_LogLine]) -> None:
        """Walk a damaged chain and report what was done to it: edits, insertions, swaps, missing and forged entries."""
        expected, prev = self.report.head.seq + 1, self.report.head.hash
        link: str | None = prev
        queue = deque(log_lines)
        while queue:
            node = queue.popleft()
            following = queue[0] if queue else None
            if node.error:
                # The next line continues the chain without this one, so it was inserted.
                if following and following.seq == expected and following.prev == link:
                    self.report.add_finding(Corruption.INSERT, expected, f"a line before entry {expected} is no entry")
                    continue
                self.report.add_finding(Corruption.EDIT, expected, f"entry {expected}: {node.error}")
                self.report.entry_count += 1
                self._last_damaged_seq = expected
                # The hash of a damaged line is unknown, so the next entry cannot be checked against it.
                expected, link = expected + 1, None
                continue
            if node.fields.get("session") != self.report.session:
                self.report.add_finding(
                    Corruption.INSERT,
                    expected,
                    f"an entry of session `{node.fields.get('session')}` stands before {expected}",
                )
                continue
            if node.seq > expected and (displaced := self._find_later(queue, expected)) is not None:
                self.report.add_finding(Corruption.SWAP, expected, f"entry {expected} stands after entry {node.seq}")
                # Continue with the entry that belongs here, and look at this one again afterwards.
                del queue[displaced[0]]
                queue.appendleft(node)
                node = displaced[1]
            elif node.seq > expected:
                self._report_missing(expected, node)
                expected, link = node.seq, None
            elif node.seq < expected:
                self.report.add_finding(
                    Corruption.INSERT, node.seq, f"a second entry {node.seq} stands before entry {expected}"
                )
                continue
            elif following and following.seq == expected and self._is_impostor(node, following, queue, link):
                self.report.add_finding(
                    Corruption.INSERT, expected, f"a second entry {expected} stands before the real one"
                )
                continue
            if link is not None and node.prev != link:
                self._report_forgery(node, link, queue)
            self._accept_entry(dict(node.fields))
            expected, link = node.seq + 1, node.hash

    def check_witnesses(self) -> None:
        """Report entries that a witness saw and that are missing or different now."""
        last = max(self.report.head.seq, self._last_damaged_seq)
        for witness in self._witnesses:
            if witness.seq > last:
                if self.report.entry_count == 0:
                    continue  # the caller reports a file that is empty or missing
                kind = Corruption.ROLLBACK if witness.is_external else Corruption.TRUNCATION
                self.report.add_finding(
                    kind,
                    last + 1,
                    f"expected entries up to {witness.seq} as {witness.source} says, found the end after {last}",
                )
            elif self._known_hashes.get(witness.seq, witness.hash) != witness.hash:
                self.report.add_finding(
                    Corruption.FORGERY,
                    witness.seq,
                    f"entry {witness.seq}: expected hash {witness.hash[:12]}… as {witness.source} says,"
                    f" found {self._known_hashes[witness.seq][:12]}…",
                )

    @staticmethod
    def _find_later(queue: deque[_LogLine], seq: int) -> tuple[int, _LogLine] | None:
        return next(((index, node) for index, node in enumerate(queue) if node.seq == seq and not node.error), None)

    @staticmethod
    def _is_impostor(node: _LogLine, following: _LogLine, queue: deque[_LogLine], link: str | None) -> bool:
        """Return whether, of two entries with one seq, the second is the one that its neighbours link to."""
        # The entry after both decides; without one, the link to the entry before does.
        after = next((other for other in queue if other.seq == node.seq + 1), None)
        if after is not None:
            return bool(after.prev == following.hash)
        return bool(node.prev != link and following.prev == link)

    def _report_missing(self, expected: int, node: _LogLine) -> None:
        span = f"entry {expected} is" if node.seq == expected + 1 else f"entries {expected}…{node.seq - 1} are"
        body = node.fields.get("body")
        if node.fields.get("kind") == EntryKind.GAP and isinstance(body, dict) and body.get("reason") == GAP_LOST:
            message = f"{span} missing: cut off before entry {node.seq} was written"
            self.report.add_finding(Corruption.TRUNCATION, expected, message)
        else:
            self.report.add_finding(Corruption.DROP, expected, f"{span} missing before entry {node.seq}")

    def _report_forgery(self, node: _LogLine, link: str, queue: deque[_LogLine]) -> None:
        """Report which of two neighbours that do not link was forged."""
        after = queue[0] if queue else None
        # The following entry vouches for this one, so the one before was rewritten.
        before_is_forged = after is not None and after.prev == node.hash and self.report.entry_count > 0
        seq = node.seq - 1 if before_is_forged else node.seq
        self.report.add_finding(
            Corruption.FORGERY,
            seq,
            f"entry {seq} was rewritten: entry {node.seq} expected prev {str(node.prev)[:12]}…, found {link[:12]}…",
        )

    def _accept_entry(self, fields: dict[str, Any]) -> None:
        report = self.report
        seq, hash = fields["seq"], fields["hash"]
        report.entry_count += 1
        report.head = ChainHead(seq, hash)
        # Only hashes that a witness names are remembered: a log may have millions of entries.
        if seq in self._witness_seqs:
            self._known_hashes[seq] = hash
        if fields.get("v") not in READABLE_VERSIONS:
            report.add_finding(
                Corruption.NEWER, seq, f"entry {seq} has version `{fields.get('v')}`: upgrade verdikt to verify it"
            )
            return
        kind = fields.get("kind")
        if kind not in ENTRY_KINDS:
            report.add_finding(Corruption.NEWER, seq, f"entry {seq} is of kind `{kind}`: upgrade verdikt to verify it")
            return
        if fields["sig"] or fields.get("kid"):
            self._check_signature(fields)
        elif kind in SIGNED_KINDS:
            report.add_finding(Corruption.UNSIGNED, seq, f"entry {seq}: expected a signature on a `{kind}`, found none")
        if "body" not in fields:
            report.absent_body_count += 1
            report.first_absent_body = report.first_absent_body or seq
        elif kind == EntryKind.GAP:
            self._report_gap(seq, fields["body"])
        if self._visit_entry:
            self._visit_entry(fields)

    def _report_gap(self, seq: int, body: Any) -> None:
        body = body if isinstance(body, dict) else {}
        self.report.add_finding(Corruption.GAP, seq, f"entry {seq} says that {describe_gap(body)}")
        known_head = body.get("head")
        if isinstance(known_head, dict) and body.get("reason") == GAP_REWRITTEN:
            known_seq = known_head.get("seq", 0)
            self.report.add_finding(
                Corruption.FORGERY, known_seq, f"entry {known_seq} was rewritten before entry {seq} was written"
            )

    def _check_signature(self, fields: dict[str, Any]) -> None:
        seq, kid = fields["seq"], fields.get("kid")
        if self._verify_signature is None:
            return
        if not fields["sig"]:
            self.report.add_finding(Corruption.UNSIGNED, seq, f"entry {seq} names key `{kid}` and carries no signature")
            return
        problem = self._verify_signature(str(kid), fields["hash"], fields["sig"], int(fields.get("ts", 0)))
        if problem is None:
            self.report.signature_count += 1
            self.report.last_covered_seq = seq
        else:
            descriptions = {
                Corruption.UNKNOWN_KEY: f"is signed with key `{kid}`, which the log does not introduce",
                Corruption.BAD_SIGNATURE: f"carries a signature that key `{kid}` did not make",
                Corruption.RETIRED_KEY: f"is signed with key `{kid}` after that key was rotated out",
            }
            self.report.add_finding(problem, seq, f"entry {seq} {descriptions[problem]}")
