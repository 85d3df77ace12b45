"""The same core from a recorded decision instead of the world: what was decided can be decided again."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.decide import decide
from verdikt.errors import LedgerError
from verdikt.graph.policy import Policy
from verdikt.model.action import action_from_record
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.facts import Facts, RecordedWorld
from verdikt.model.grant import parse_grant
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.verdict import RECEIPT_VERSION, Decision, VerdictKind

ABSENT = "(absent)"
"""What a difference shows where one side has no such field."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision as the log holds it."""

    session: str
    seq: int
    seconds: float
    receipt: Mapping[str, Any]
    sha256: str

    @property
    def kind(self) -> VerdictKind:
        """What was decided."""
        return VerdictKind[self.receipt["verdict"]["kind"].upper()]

    @property
    def policy(self) -> str:
        """The digest of the policy that decided."""
        return str(self.receipt["policy"])


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which a decision made again differs from the recorded one."""

    field: str
    recorded: Any
    replayed: Any


def read_decision(entry: Entry) -> RecordedDecision | None:
    """The decision in an entry, or None when the entry holds none."""
    if entry.kind is not EntryKind.DECISION:
        return None
    body = entry.body
    receipt, sha = body.get("receipt"), body.get("receipt_sha256")
    if not isinstance(receipt, Mapping) or not isinstance(sha, str):
        raise LedgerError(f"entry {entry.seq} of `{entry.session}`: expected a receipt and its hash, found none")
    if receipt.get("v") != RECEIPT_VERSION:
        raise LedgerError(
            f"entry {entry.seq} of `{entry.session}`: expected a receipt of version {RECEIPT_VERSION},"
            f" found version `{receipt.get('v')}`; upgrade verdikt to replay it"
        )
    return RecordedDecision(entry.session, entry.seq, entry.timestamp_seconds, receipt, sha)


def replay(past: RecordedDecision, policy: Policy) -> Decision:
    """The decision made again from what was recorded, by this policy."""
    record = past.receipt
    action = action_from_record(record["action"])
    facts = record["facts"]
    return decide(
        action,
        Facts(RecordedWorld(facts, now=past.seconds), secrets=tuple(facts["secrets"])),
        SessionState(session_id=action.session_id, **record["session"]),
        Posture(record["posture"]["before"]),
        policy,
        grants=tuple(parse_grant(grant) for grant in record["grants"]),
        engine=record["engine"],
    )


def find_differences(past: RecordedDecision, decision: Decision) -> list[Difference]:
    """Where a decision made again is not what was recorded, field by field; empty when every byte is the same."""
    # The log keeps receipts in canonical order, so that writing them down plainly nearly always gives the canonical bytes.
    plainly = json.dumps(past.receipt, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    found = decision.receipt.bytes
    if found != plainly and found != encode_canonical(past.receipt):
        return list(_compare_fields("", past.receipt, decision.receipt.dump()))
    if decision.receipt.sha256 != past.sha256:
        return [Difference("receipt_sha256", past.sha256, decision.receipt.sha256)]
    return []


def _compare_fields(path: str, recorded: Any, replayed: Any) -> Iterator[Difference]:
    if isinstance(recorded, Mapping) and isinstance(replayed, Mapping):
        for key in sorted({*recorded, *replayed}):
            where = f"{path}.{key}" if path else str(key)
            yield from _compare_fields(where, recorded.get(key, ABSENT), replayed.get(key, ABSENT))
    elif isinstance(recorded, list) and isinstance(replayed, list):
        for at in range(max(len(recorded), len(replayed))):
            left = recorded[at] if at < len(recorded) else ABSENT
            right = replayed[at] if at < len(replayed) else ABSENT
            yield from _compare_fields(f"{path}[{at}]", left, right)
    elif recorded != replayed:
        yield Difference(path, recorded, replayed)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A past decision that another policy would have made otherwise."""

    past: RecordedDecision
    decision: Decision

    @property
    def group(self) -> str:
        """`blocked`, `asked` or `allowed`: what is new about it."""
        return _GROUPS[self.decision.verdict.kind]


_GROUPS = {
    VerdictKind.PASS: "allowed",
    VerdictKind.WARN: "allowed",
    VerdictKind.ASK: "asked",
    VerdictKind.BLOCK: "blocked",
}


@dataclass(slots=True)
class PolicyComparison:
    """How another policy would have decided the same past."""

    total: int = 0
    changes: list[DecisionChange] = field(default_factory=list)

    def add_decision(self, past: RecordedDecision, decision: Decision) -> None:
        """Takes one more decision into account."""
        self.total += 1
        if _GROUPS[past.kind] != _GROUPS[decision.verdict.kind]:
            self.changes.append(DecisionChange(past, decision))

    def changes_in_group(self, name: str) -> list[DecisionChange]:
        """The changes that are newly `blocked`, `asked` or `allowed`."""
        return [change for change in self.changes if change.group == name]

    def count_changes(self, old_group: str, new_group: str) -> int:
        """How many went from one group to the other."""
        return sum(_GROUPS[change.past.kind] == old_group and change.group == new_group for change in self.changes)

    @property
    def summary(self) -> str:
        """What the change of policy comes to, in words."""
        removed = self.count_changes("asked", "allowed") + self.count_changes("asked", "blocked")
        parts = [
            (removed, "removed {} prompt{}"),
            (self.count_changes("allowed", "blocked"), "blocked {} thing{} that ran"),
            (self.count_changes("allowed", "asked"), "asked about {} thing{} that ran"),
            (self.count_changes("blocked", "allowed"), "let {} thing{} through that {} blocked"),
            (self.count_changes("blocked", "asked"), "asked about {} thing{} that {} blocked"),
        ]
        said = [text.format(n, "" if n == 1 else "s", "was" if n == 1 else "were") for n, text in parts if n]
        if not said:
            return "this policy would have changed nothing"
        head, last = said[:-1], said[-1]
        return "this policy would have " + (", ".join(head) + " and " + last if head else last)


def compare_policy(decisions: Iterable[RecordedDecision], policy: Policy) -> PolicyComparison:
    """What another policy would have made of recorded decisions."""
    found = PolicyComparison()
    for each in decisions:
        found.add_decision(each, replay(each, policy))
    return found
