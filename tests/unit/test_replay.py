"""Replay: recorded decisions are made again to the byte, differences are named by field, policies are compared."""

from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.unit.test_decide import RULED, STANDARD, action, grant
from verdikt.decide import decide
from verdikt.errors import LedgerError
from verdikt.graph.layer_reader import PROFILE_NAMES
from verdikt.graph.policy import Policy
from verdikt.model.action import Action
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState
from verdikt.model.world import GitFact, PathFact
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import SECTIONS, build_policy, parse_policy, restore_policy
from verdikt.replay import RecordedDecision, compare_policy, find_differences, read_decision, replay

WORLD = FakeWorld(
    paths={"/home/dev/project/a": PathFact(real="/home/dev/project/a", kind="file", git="modified", size=3)},
    texts={"/home/dev/project/run.sh": "rm -rf /home/dev/other\n"},
    repository=GitFact(root="/home/dev/project", branch="main", upstream="origin/main", remotes={"origin": "git@h:x"}),
)
ACTIONS = [
    action("Bash", command="git push --force"),
    action("Bash", command="rm a && bash run.sh && git checkout -- ."),
    action("Bash", command="curl --user bob:hunter2 https://host/x"),
    action("Write", file_path="a", content="b"),
    action("Read", file_path="../../.ssh/id_rsa"),
    action("deploy", region="eu"),
    action("never_heard_of"),
    action("Bash", command="ls", x=2**63 - 1),
    action("Bash", command="ls", x=float("inf")),
]


def build_decision_entry(
    call: Action, policy: Policy = RULED, posture: str = "interactive", seq: int = 1, **state: Any
) -> Entry:
    """Return the entry that the flow would write for a decision, read back from its bytes."""
    redacted, kinds = redact_action(call)
    session = SessionState(session_id="s", **state)
    grants = (grant("no_force", "git push --force", session="another"),)
    decision = decide(redacted, Facts(WORLD, secrets=kinds), session, Posture(posture), policy, grants=grants)
    body = {"receipt": decision.receipt.dump(), "receipt_sha256": decision.receipt.sha256, "call_id": "c"}
    return Entry(
        seq=seq,
        ts=1_700_000_000_000_000 + seq,
        session="s",
        kind=EntryKind.DECISION,
        body=parse_json(encode_canonical(body)),
    )


def record_decision(*args: Any, **kwargs: Any) -> RecordedDecision:
    """Return the decision as replay reads it from the log."""
    decision = read_decision(build_decision_entry(*args, **kwargs))
    assert decision is not None
    return decision


@pytest.mark.parametrize("posture", Posture)
@pytest.mark.parametrize("policy", [RULED, STANDARD], ids=["ruled", "standard"])
@pytest.mark.parametrize("call", ACTIONS, ids=lambda call: str(call.payload)[:40])
def test_recorded_decision_replays_to_the_byte(call: Action, policy: Policy, posture: str) -> None:
    """Entry and policy document suffice to make a decision again with the same bytes."""
    past = record_decision(call, policy, posture, action_count=4, risk=0.25)

    again = replay(past, restore_policy(parse_json(encode_canonical(policy.document))))

    assert find_differences(past, again) == []
    assert again.receipt.bytes == encode_canonical(past.receipt)


POLICY_TEXTS = {
    "disable": "disable: [secret_sent]",
    "posture": "posture: autonomous",
    "unknown_tools": "unknown_tools: block",
    "approve": "approve: [{class: read, zone: project}]",
    "boundaries": "boundaries: {allowed_dirs: [src]}",
    "bash_safety": "bash_safety: {blocked_patterns: ['DROP TABLE']}",
    "rules": "rules: [{name: no_make, command: make, verdict: block, reason: slow, fix: wait}]",
    "tool_policies": "tool_policies: [read_before_write, {rate_limit: {tool: Bash, max_calls: 3, per_seconds: 60}}]",
    "feedback": "feedback: [{static: style guide, every_n_calls: 5}]",
    "completion": "completion: {checks: [{command: make}]}",
    "evidence": "evidence: {mode: enforce}",
    "councils": "councils: {ship: {guardrail: true, reviewers: {lint: {command: 'true'}}}}",
    "ledger": "ledger: {anything: 1}",
    "manifest": "manifest: {deploy: {effects: [network]}}",
    "knowledge": "knowledge: [{names: acme, commands: [{names: wipe, does: cloud.delete, on: '*', as: resource}]}]",
    "raise_posture": "raise_posture: {to: locked, risk: 0.8}",
    "flow": "flow: {after: web, effect: cred}",
}
"""Top-level key → a policy text that uses it."""


@pytest.mark.parametrize("layer", ["file", "user", "project"])
@pytest.mark.parametrize("profile", [*PROFILE_NAMES, "none"])
def test_policy_with_each_profile_replays_from_its_stored_document(profile: str, layer: str) -> None:
    """The stored document of each shipped profile, also of one that builds on another, restores to the same policy."""
    text = f"profile: {profile}\n{POLICY_TEXTS['rules']}"
    assert_policy_replays(build_policy([PolicyFile(layer, "governance.yaml", text.encode())]))


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize("key", POLICY_TEXTS)
def test_policy_with_each_section_replays_from_its_stored_document(key: str, profile: str) -> None:
    """The stored document of each section restores to the same policy, whatever the profile."""
    assert_policy_replays(parse_policy(f"profile: {profile}\n{POLICY_TEXTS[key]}"))


def test_every_section_has_a_replayed_policy() -> None:
    """A new section of policy files needs an example here."""
    assert POLICY_TEXTS.keys() >= SECTIONS.keys()


def assert_policy_replays(policy: Policy) -> None:
    """Assert that decisions by a policy replay to the byte from its stored document."""
    restored = restore_policy(parse_json(encode_canonical(policy.document)))
    assert restored.digest == policy.digest
    for call in ACTIONS:
        past = record_decision(call, policy)
        assert find_differences(past, replay(past, restored)) == []


def test_replay_of_an_older_receipt_keeps_its_engine_version() -> None:
    """Replay compares what was decided, not by which release."""
    entry = build_decision_entry(ACTIONS[0])
    receipt = {**entry.body["receipt"], "engine": "0.0.1"}
    body = {"receipt": receipt, "receipt_sha256": "", "call_id": ""}
    past = read_decision(Entry(seq=1, ts=1, session="s", kind=EntryKind.DECISION, body=body))

    assert past is not None
    assert replay(past, RULED).receipt.dump()["engine"] == "0.0.1"


def test_difference_names_field_recorded_and_replayed_value() -> None:
    """A difference has the path of the field and both values."""
    entry = build_decision_entry(ACTIONS[0])
    receipt = parse_json(encode_canonical(entry.body["receipt"]))
    receipt["verdict"]["kind"] = "pass"
    receipt["effects"] = receipt["effects"][:-1]
    past = RecordedDecision("s", 1, 0.0, receipt, "")

    differences = find_differences(past, replay(past, RULED))

    assert ("verdict.kind", "pass", "block") in [(each.field, each.recorded, each.replayed) for each in differences]
    assert [each.field for each in differences if each.recorded == "(absent)"] == [
        f"effects[{len(receipt['effects'])}]"
    ]


def test_wrong_receipt_hash_is_a_difference() -> None:
    """A hash that is not the receipt's own is reported even when every field is equal."""
    past = record_decision(ACTIONS[0])
    wrong = RecordedDecision(past.session, past.seq, past.seconds, past.receipt, "0" * 64)

    assert [each.field for each in find_differences(wrong, replay(wrong, RULED))] == ["receipt_sha256"]


def test_entry_without_a_decision_is_skipped_and_a_broken_one_refused() -> None:
    """Other entries are skipped; a decision without receipt, or with a newer one, is an error."""
    entry = build_decision_entry(ACTIONS[0])

    assert read_decision(Entry(seq=1, ts=1, session="s", kind=EntryKind.GAP)) is None
    with pytest.raises(LedgerError, match="entry 1 of `s`: expected a receipt and its hash, found none"):
        read_decision(Entry(seq=1, ts=1, session="s", kind=EntryKind.DECISION, body={}))
    newer = {**entry.body, "receipt": {**entry.body["receipt"], "v": 3}}
    with pytest.raises(LedgerError, match="found version `3`; upgrade verdikt to replay it"):
        read_decision(Entry(seq=1, ts=1, session="s", kind=EntryKind.DECISION, body=newer))


def test_comparison_with_another_policy_counts_changed_outcomes() -> None:
    """A comparison has counts, groups and one sentence."""
    past = [record_decision(call, seq=seq) for seq, call in enumerate(ACTIONS[:7], start=1)]
    stricter = parse_policy(
        "profile: none\nunknown_tools: pass\nmanifest: {deploy: {effects: read}}\nrules:\n"
        "  - {name: no_rm, command: rm, verdict: block, reason: no, fix: no}\n"
        "  - {name: no_net, class: network, verdict: ask, reason: no, fix: no}\n"
    )

    same, other = compare_policy(past, RULED), compare_policy(past, stricter)

    assert (same.total, same.changes) == (7, [])
    assert same.summary == "this policy would have changed nothing"
    assert [change.past.seq for change in other.changes_in_group("blocked")] == [2]
    assert [change.past.seq for change in other.changes_in_group("asked")] == [3]
    assert [change.past.seq for change in other.changes_in_group("allowed")] == [1, 6, 7]
    assert other.summary == (
        "this policy would have removed 2 prompts, blocked 1 thing that ran, asked about 1 thing that ran"
        " and let 1 thing through that was blocked"
    )
