"""Replay: make a recorded decision again from its receipt, and compare policies over recorded decisions."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from verdikt.decide import decide
from verdikt.errors import LedgerError
from verdikt.graph.policy import Policy
from verdikt.model.action import action_from_record
from verdikt.model.approval import parse_answer
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.facts import Facts
from verdikt.model.grant import parse_grant
from verdikt.model.pause import parse_pause
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState
from verdikt.model.standing_ask import parse_standing_ask
from verdikt.model.verdict import RECEIPT_VERSIONS, Decision, VerdictKind
from verdikt.model.world import RecordedWorld

ABSENT = "(absent)"
"""Shown in a difference where one side lacks the field."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision as the log has it."""

    session: str
    seq: int
    seconds: float
    receipt: Mapping[str, Any]
    sha256: str

    @property
    def kind(self) -> VerdictKind:
        """The kind of the recorded verdict."""
        return VerdictKind[self.receipt["verdict"]["kind"].upper()]

    @property
    def policy(self) -> str:
        """The digest of the policy that was in force."""
        return str(self.receipt["policy"])

    @property
    def accepted_policy(self) -> str:
        """The digest of the accepted policy beside it; empty unless a change was pending."""
        return str(self.receipt.get("accepted", ""))


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which a replayed decision differs from the recorded one."""

    field: str
    recorded: Any
    replayed: Any


def read_decision(entry: Entry) -> RecordedDecision | None:
    """Return the decision in an entry; None when the entry is of another kind."""
    if entry.kind is not EntryKind.DECISION:
        return None
    body = entry.body
    receipt, sha = body.get("receipt"), body.get("receipt_sha256")
    if not isinstance(receipt, Mapping) or not isinstance(sha, str):
        raise LedgerError(f"entry {entry.seq} of `{entry.session}`: expected a receipt and its hash, found none")
    # A newer receipt may have inputs that this release ignores: replaying it would report false differences.
    if receipt.get("v") not in RECEIPT_VERSIONS:
        raise LedgerError(
            f"entry {entry.seq} of `{entry.session}`: expected a receipt of version {RECEIPT_VERSIONS[-1]},"
            f" found version `{receipt.get('v')}`; upgrade verdikt to replay it"
        )
    return RecordedDecision(entry.session, entry.seq, entry.timestamp_seconds, receipt, sha)


def replay(past: RecordedDecision, policy: Policy) -> Decision:
    """Return the decision that this policy makes from the recorded inputs."""
    record = past.receipt
    action = action_from_record(record["action"])
    facts = record["facts"]
    return decide(
        action,
        # `now` serves a policy that reads the time where the recorded one did not.
        Facts(RecordedWorld(facts, now=past.seconds), secrets=tuple(facts["secrets"])),
        # A copy, because guards count in it, and the record is compared with the result afterwards.
        SessionState(session_id=action.session_id, **record["session"]).copy(),
        Posture(record["posture"]["before"]),
        policy,
        grants=tuple(parse_grant(grant) for grant in record["grants"]),
        pause=parse_pause(record["pause"]) if "pause" in record else None,
        standing=parse_standing_ask(record["standing"]) if "standing" in record else None,
        approval=parse_answer(record["approval"]) if "approval" in record else None,
        engine=record["engine"],
    )


def find_differences(past: RecordedDecision, decision: Decision) -> list[Difference]:
    """Return the fields in which a replayed decision differs from the recorded one; empty when all bytes agree."""
    # The log has receipts in canonical order, so `json.dumps` nearly always gives the canonical bytes, and is faster.
    plain_bytes = json.dumps(past.receipt, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    replayed_bytes = decision.receipt.bytes
    if replayed_bytes != plain_bytes and replayed_bytes != encode_canonical(past.receipt):
        return list(_compare_fields("", past.receipt, decision.receipt.dump()))
    if decision.receipt.sha256 != past.sha256:
        return [Difference("receipt_sha256", past.sha256, decision.receipt.sha256)]
    return []


def _compare_fields(path: str, recorded: Any, replayed: Any) -> Iterator[Difference]:
    if isinstance(recorded, Mapping) and isinstance(replayed, Mapping):
        for key in sorted({*recorded, *replayed}):
            key_path = f"{path}.{key}" if path else str(key)
            yield from _compare_fields(key_path, recorded.get(key, ABSENT), replayed.get(key, ABSENT))
    elif isinstance(recorded, list) and isinstance(replayed, list):
        pairs = zip_longest(recorded, replayed, fillvalue=ABSENT)
        for index, (recorded_item, replayed_item) in enumerate(pairs):
            yield from _compare_fields(f"{path}[{index}]", recorded_item, replayed_item)
    elif recorded != replayed:
        yield Difference(path, recorded, replayed)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A recorded decision that another policy would have made differently."""

    past: RecordedDecision
    decision: Decision

    @property
    def group(self) -> str:
        """The new outcome: `blocked`, `asked` or `allowed`."""
        return _GROUPS[self.decision.verdict.kind]


_GROUPS = {
    VerdictKind.PASS: "allowed",
    VerdictKind.WARN: "allowed",
    VerdictKind.ASK: "asked",
    VerdictKind.BLOCK: "blocked",
}


@dataclass(slots=True)
class PolicyComparison:
    """The decisions that another policy would have made on the same recorded actions."""

    total: int = 0
    changes: list[DecisionChange] = field(default_factory=list)

    def add_decision(self, past: RecordedDecision, decision: Decision) -> None:
        """Count one decision, and keep it if its outcome changes."""
        self.total += 1
        # By group, because pass and warn both let the action happen.
        if _GROUPS[past.kind] != _GROUPS[decision.verdict.kind]:
            self.changes.append(DecisionChange(past, decision))

    def changes_in_group(self, name: str) -> list[DecisionChange]:
        """Return the changes whose new outcome is `blocked`, `asked` or `allowed`."""
        return [change for change in self.changes if change.group == name]

    def count_changes(self, old_group: str, new_group: str) -> int:
        """Return the number of decisions that went from one group to another."""
        return sum(_GROUPS[change.past.kind] == old_group and change.group == new_group for change in self.changes)

    @property
    def summary(self) -> str:
        """One sentence that sums up the changes."""
        removed = self.count_changes("asked", "allowed") + self.count_changes("asked", "blocked")
        parts = [
            (removed, "removed {} prompt{}"),
            (self.count_changes("allowed", "blocked"), "blocked {} thing{} that ran"),
            (self.count_changes("allowed", "asked"), "asked about {} thing{} that ran"),
            (self.count_changes("blocked", "allowed"), "let {} thing{} through that {} blocked"),
            (self.count_changes("blocked", "asked"), "asked about {} thing{} that {} blocked"),
        ]
        phrases = [
            template.format(count, "" if count == 1 else "s", "was" if count == 1 else "were")
            for count, template in parts
            if count
        ]
        if not phrases:
            return "this policy would have changed nothing"
        first_phrases, last_phrase = ", ".join(phrases[:-1]), phrases[-1]
        return "this policy would have " + (f"{first_phrases} and {last_phrase}" if first_phrases else last_phrase)


def compare_policy(decisions: Iterable[RecordedDecision], policy: Policy) -> PolicyComparison:
    """Return how another policy would have decided recorded actions."""
    comparison = PolicyComparison()
    for decision in decisions:
        comparison.add_decision(decision, replay(decision, policy))
    return comparison
