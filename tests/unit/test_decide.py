"""The pure core: what a decision says, what its receipt holds, and that a failure is never permission."""

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.planted import PLANTED
from verdikt.decide import decide
from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard_node import to_node
from verdikt.graph.policy import Policy, PolicyLayer
from verdikt.guards.budget import BudgetGuard
from verdikt.model.action import Action
from verdikt.model.facts import Facts
from verdikt.model.grant import Grant
from verdikt.model.posture import Disposition, Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Decision, Verdict, VerdictKind
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import build_policy, parse_policy

STANDARD = parse_policy("profile: standard")
RULED = parse_policy(
    """
profile: none
rules:
  - {name: no_force, command: git push --force, verdict: block, reason: it loses commits, fix: use a lease}
  - {name: no_friday, tool: deploy, verdict: ask, reason: it is friday, fix: wait for monday}
  - {name: red, tool: erase, verdict: block, reason: never, fix: do not, red_line: true}
  - {name: heads_up, command: make, verdict: warn, reason: it takes long}
manifest:
  deploy: {effects: [network]}
  erase: {effects: [destructive]}
  confirm: {effects: [write], require_confirmation: true}
  by_day: {effects: [read], permitted_postures: [interactive]}
  peek: {effects: [read], require_confirmation: true}
approve:
  - {class: read, certainty: certain}
"""
)


def action(tool: str, **payload: Any) -> Action:
    """Return a call of a tool in session `s`."""
    return Action(
        kind=classify_tool(tool), tool=tool, payload=payload, session_id="s", cwd="/home/dev/project", host="claude"
    )


def decide_action(
    call: Action, policy: Policy = RULED, posture: str = "interactive", grants: tuple[Grant, ...] = (), **state: Any
) -> Decision:
    """Return the decision on an action, with its secrets redacted as the flow redacts them."""
    redacted, kinds = redact_action(call)
    facts = Facts(FakeWorld(), secrets=kinds)
    return decide(redacted, facts, SessionState(session_id="s", **state), Posture(posture), policy, grants=grants)


def test_decision_on_a_blocked_command_has_effects_posture_guard_and_receipt() -> None:
    """A decision holds all that a host needs, and cannot be changed."""
    decision = decide_action(action("Bash", command="git push --force origin main"))

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.BLOCK, "no_force")
    assert decision.disposition is Disposition.DENY
    assert decision.dominant == "destructive"
    assert (decision.posture, decision.posture_after) == (Posture.INTERACTIVE, Posture.INTERACTIVE)
    with pytest.raises(FrozenInstanceError):
        decision.verdict = Verdict.pass_(guard="me")  # type: ignore[misc]


def test_receipt_holds_all_inputs_of_the_decision_and_no_clock_or_call_id() -> None:
    """A receipt has all inputs and verdicts of a decision, and nothing that varies from call to call."""
    decision = decide_action(action("Bash", command="git push --force"), action_count=3, risk=0.5)
    body = decision.receipt.dump()

    assert set(body) == set(
        "v engine policy action facts session grants ruled posture effects classes dominant verdict guard warnings"
        " approved would_be after".split()
    )
    assert body["policy"] == RULED.digest
    assert body["session"] == {"action_count": 3, "block_count": 0, "consecutive_blocks": 0, "risk": 0.5}
    assert body["ruled"] is None
    assert "now" not in body["facts"]["place"]
    assert "call_id" not in body["action"]
    assert decision.receipt.bytes == json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def test_receipts_of_equal_calls_at_different_times_are_equal() -> None:
    """Neither the time nor the call id is in a receipt, unless a guard reads it."""
    first, second = (
        decide(
            Action(kind=classify_tool("Read"), tool="Read", payload={"file_path": "a"}, call_id=call),
            Facts(FakeWorld(now=now)),
            SessionState(),
            Posture.INTERACTIVE,
            RULED,
        ).receipt
        for call, now in (("1", 1.0), ("2", 2.0))
    )

    assert first.sha256 == second.sha256


class Clock:
    """A guard that reads the time, the history and its own slot."""

    name = "clock"

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Count calls, and ask once there is a history."""
        ctx.session.slots["seen"] = ctx.session.slots.get("seen", 0) + 1
        if ctx.session.history and ctx.now > 0:
            return Verdict.ask(guard=self.name, reason="again", fix="stop")
        return Verdict.pass_(guard=self.name)


def test_receipt_holds_time_history_and_slots_only_when_a_guard_reads_them() -> None:
    """A receipt holds what a guard read as it was before, and the slots also as they are afterwards."""
    layer = PolicyLayer(name="file", file="x", document={}, nodes=(to_node(Clock()),))
    call, history = action("Read", file_path="a"), [{"tool": "x"}]

    with_reads = decide_action(call, Policy(layers=(layer,)), slots={"seen": 1}, history=[*history]).receipt.dump()
    without_reads = decide_action(call, slots={"seen": 1}, history=[*history]).receipt.dump()

    assert (with_reads["session"]["slots"], with_reads["session"]["history"]) == ({"seen": 1}, history)
    assert with_reads["facts"]["place"]["now"] == FakeWorld().now
    assert with_reads["after"] == {"risk": 0, "slots": {"seen": 2}}
    assert without_reads["session"].keys() == {"action_count", "block_count", "consecutive_blocks", "risk"}
    assert without_reads["after"] == {"risk": 0}


@pytest.mark.parametrize(
    ("tool", "posture", "kind", "guard"),
    [
        ("deploy", "interactive", "ask", "no_friday"),
        ("deploy", "autonomous", "block", "no_friday"),
        ("deploy", "dry_run", "block", "posture"),
        ("erase", "locked", "block", "red"),
        ("confirm", "interactive", "ask", "manifest"),
        ("confirm", "autonomous", "block", "manifest"),
        ("by_day", "interactive", "pass", "rules"),
        ("by_day", "autonomous", "block", "manifest"),
        ("peek", "interactive", "ask", "manifest"),
        ("peek", "locked", "pass", "rules"),
        ("never_heard_of", "interactive", "ask", "unknown_tool"),
        ("never_heard_of", "autonomous", "block", "unknown_tool"),
        ("never_heard_of", "locked", "block", "posture"),
        ("Read", "locked", "pass", "rules"),
        ("Write", "locked", "block", "posture"),
    ],
)
def test_verdict_under_posture_and_manifest_is_at_least_as_strict(
    tool: str, posture: str, kind: str, guard: str
) -> None:
    """Posture and manifest make a verdict stricter where they apply, and never more lenient."""
    decision = decide_action(action(tool, file_path="a", content="b"), posture=posture)

    assert (decision.verdict.kind.word, decision.guard) == (kind, guard)


@pytest.mark.parametrize(
    ("upper", "lower", "tool", "kind"),
    [
        ("unknown_tools: block", "manifest: {deploy: {effects: [read]}}", "deploy", "block"),
        ("unknown_tools: ask", "manifest: {deploy: {effects: [read]}}", "deploy", "ask"),
        ("posture: interactive", "manifest: {deploy: {effects: [read]}}", "deploy", "ask"),
        ("unknown_tools: pass", "manifest: {deploy: {effects: [read]}}", "deploy", "pass"),
        ("unknown_tools: pass", "manifest: {deploy: {effects: [read]}}\nunknown_tools: block", "deploy", "pass"),
        ("manifest: {deploy: {effects: [read]}}", "unknown_tools: block", "deploy", "pass"),
        (
            "manifest: {deploy: {effects: [read]}}",
            "manifest: {deploy: {effects: [read], require_confirmation: true}}",
            "deploy",
            "ask",
        ),
        (
            "rules: [{name: lost, class: destructive, verdict: block, reason: no, fix: no}]",
            "manifest: {mcp__db__delete_all: {effects: [read]}}",
            "mcp__db__delete_all",
            "block",
        ),
    ],
)
def test_tool_declared_by_a_lower_layer_stays_as_strict_as_without_it(
    upper: str, lower: str, tool: str, kind: str
) -> None:
    """A lower layer can add effects to a tool, but cannot make it known to the layers above."""
    project = "rules: [{name: never, tool: never, verdict: warn, reason: so}]\n" + lower
    texts = [("user", upper), ("project", project)]
    layers = [PolicyFile(name, name, f"profile: none\n{text}".encode()) for name, text in texts]

    assert decide_action(action(tool), build_policy(layers)).verdict.kind.word == kind


def test_dry_run_records_the_verdict_that_would_apply_live() -> None:
    """In a dry run the decision and the receipt hold the live verdict as `would_be`."""
    decision = decide_action(action("deploy"), posture="dry_run")

    assert decision.would_be is not None
    assert decision.would_be.kind is VerdictKind.ASK
    assert decision.receipt.dump()["would_be"]["guard"] == "no_friday"
    assert "live a person would have been asked first (it is friday)" in decision.verdict.reason
    assert decide_action(action("Read", file_path="a"), posture="dry_run").would_be is None


def test_warning_passes_and_is_not_an_approval() -> None:
    """A warning is in the decision, stops nothing, and is never an approval."""
    decision = decide_action(action("Bash", command="make all"))

    assert decision.passed
    assert [warning.guard for warning in decision.warnings] == ["heads_up"]
    assert not decision.approved


def test_approval_is_given_only_for_what_the_policy_names() -> None:
    """Without an approval the host keeps its own prompt."""
    assert decide_action(action("Read", file_path="a")).approved
    assert not decide_action(action("Write", file_path="a", content="b")).approved
    assert not decide_action(action("Read", file_path="a"), STANDARD).approved


def grant(guard: str, target: str, **changes: Any) -> Grant:
    """Return a grant that is active now."""
    fields = {"id": "g1", "session": "*", "expires": 2_000_000_000, "reason": "agreed with ops"} | changes
    return Grant(guard=guard, target=target, **fields)


def test_grant_that_covers_a_block_turns_it_into_a_warning() -> None:
    """The receipt of a granted action holds the grant, the time of the check and the original verdict."""
    decision = decide_action(
        action("Bash", command="git push --force"), grants=(grant("no_force", "git push --force"),)
    )

    assert decision.verdict.kind is VerdictKind.WARN
    assert decision.verdict.reason == "it loses commits; let through by the operator's grant `g1`: agreed with ops"
    body = decision.receipt.dump()
    assert [recorded["id"] for recorded in body["grants"]] == ["g1"]
    assert body["facts"]["place"]["now"] == FakeWorld().now
    assert body["ruled"]["kind"] == "block"


@pytest.mark.parametrize(
    ("tool", "payload", "other_grant"),
    [
        ("Bash", {"command": "git push --force"}, grant("another", "git push --force")),
        ("Bash", {"command": "git push --force"}, grant("no_force", "git push --force", expires=1)),
        ("Bash", {"command": "git push --force"}, grant("no_force", "git push --force", session="other")),
        ("erase", {"path": "/x"}, grant("red", "/x")),
    ],
)
def test_grant_for_something_else_leaves_the_block(tool: str, payload: dict[str, Any], other_grant: Grant) -> None:
    """A grant covers no other guard, no later time, no other session and no red line."""
    assert decide_action(action(tool, **payload), grants=(other_grant,)).verdict.kind is VerdictKind.BLOCK


def test_grant_for_one_guard_leaves_the_verdict_of_another() -> None:
    """A grant overrides the guard it names and no other."""
    policy = parse_policy(
        """
profile: none
rules:
  - {name: first, command: git push, verdict: block, reason: one, fix: x}
  - {name: second, command: git push --force, verdict: ask, reason: two, fix: y}
"""
    )
    call = action("Bash", command="git push --force")

    decision = decide_action(call, policy, grants=(grant("first", "git push --force"),))

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.ASK, "second")


def test_receipt_of_a_command_with_a_secret_holds_only_its_kind() -> None:
    """A secret is neither in the recorded command nor in anything derived from it."""
    _, secret = PLANTED[0]

    decision = decide_action(
        action("Bash", command=f"TOKEN={secret} git push https://u:{secret}@host/x.git --force; echo {secret}")
    )

    assert secret.encode() not in decision.receipt.bytes
    assert "github-token" in decision.receipt.dump()["facts"]["secrets"]


def test_command_with_a_secret_is_parsed_like_any_other() -> None:
    """A redaction token is not parsed as a redirection, and what it hides counts as unknown."""
    _, secret = PLANTED[0]

    plain = decide_action(action("Bash", command=f"export A={secret} && rm -rf /etc"), STANDARD)
    hidden = decide_action(action("Bash", command=f"P={secret}/../../../../etc; rm -rf $P"), STANDARD)

    assert plain.verdict.kind is VerdictKind.BLOCK
    assert not any(effect.what == "fs.overwrite" for effect in plain.effects)
    assert not hidden.passed


def test_session_counts_each_decision() -> None:
    """A session counts actions and blocks and remembers verdicts, as `PolicyEngine` does."""
    session = SessionState(session_id="s")
    for command in ("git push --force", "git push --force", "ls"):
        decide(action("Bash", command=command), Facts(FakeWorld()), session, Posture.INTERACTIVE, RULED)

    assert (session.action_count, session.block_count, session.consecutive_blocks) == (3, 2, 0)
    assert [past["verdict"] for past in session.history] == ["block", "block", "pass"]


DEEP: Any = "x"
for _ in range(1000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"command": "ls", "x": float("nan")}, "expected a finite number"),
        ({"command": "ls", "x": "\ud800"}, "lone surrogate"),
        ({"command": "ls", "x": DEEP}, "levels"),
        ({"command": "ls", "x": {1: 2}}, "text as keys"),
        ({"command": "ls", "x": object()}, "plain data"),
    ],
)
def test_action_without_canonical_bytes_is_blocked_with_a_receipt(payload: dict[str, Any], says: str) -> None:
    """An unrecordable action gets a verdict instead of a traceback, and its receipt replays to the same bytes."""
    first = decide_action(action("Bash", **payload))
    again = decide_action(action("Bash", **first.receipt.dump()["action"]["payload"]))

    assert (first.verdict.kind, first.guard, first.verdict.error) == (VerdictKind.BLOCK, "record", True)
    assert says in first.verdict.reason
    assert again.receipt.sha256 == first.receipt.sha256


def test_integer_of_64_bits_is_recorded_as_text_and_decided_as_usual() -> None:
    """64-bit ids are ordinary input and no reason for a block."""
    decision = decide_action(action("Read", file_path="a", id=2**63 - 1))

    assert decision.passed
    assert decision.receipt.dump()["action"]["payload"]["id"] == str(2**63 - 1)


def test_budget_counts_an_action_once_that_is_evaluated_twice() -> None:
    """The attempt whose receipt fails leaves no trace in the session: neither in its counters nor in its slots."""
    layer = PolicyLayer(name="file", file="x", document={}, nodes=(to_node(BudgetGuard(max_tasks=2)),))
    policy = Policy(layers=(layer,))
    session = SessionState(session_id="s")
    calls = [action("Read", file_path="a", id=2**63 - number) for number in range(1, 4)]

    decisions = [decide(call, Facts(FakeWorld()), session, Posture.INTERACTIVE, policy) for call in calls]

    assert [decision.passed for decision in decisions] == [True, True, False]
    assert (session.action_count, session.slots["budget"]["used"]) == (3, 2)


@pytest.mark.parametrize("payload", [None, [], "text", 7, {"command": None}, {"command": ["a", 1]}, {"command": {}}])
def test_payload_of_the_wrong_shape_gets_a_receipt(payload: Any) -> None:
    """A payload that is not a mapping, or holds wrong types, gets a decision with a receipt."""
    call = Action(kind=classify_tool("Bash"), tool="Bash", payload=payload)

    assert decide(call, Facts(FakeWorld()), SessionState(), Posture.INTERACTIVE, STANDARD).receipt.spine().bytes


def test_world_that_raises_is_a_block() -> None:
    """An exception while facts are collected never becomes permission."""

    class Broken(FakeWorld):
        def path(self, path: str, *, git: bool = True) -> Any:
            raise OSError("gone")

    decision = decide(action("Read", file_path="a"), Facts(Broken()), SessionState(), Posture.INTERACTIVE, RULED)

    assert (decision.verdict.kind, decision.verdict.error) == (VerdictKind.BLOCK, True)
    assert "OSError: gone" in decision.verdict.reason


def test_spine_of_a_receipt_has_eight_fields() -> None:
    """The short form of a receipt has exactly the eight promised fields."""
    spine = decide_action(action("deploy", region="eu")).receipt.spine()

    assert spine.dump() == {
        "tool": "deploy",
        "arguments": {"region": "eu"},
        "effects": ["network"],
        "most_restrictive": "network",
        "rationale": "tool 'deploy' declares effects [network]; dominant under PRECEDENCE is 'network'",
        "posture": "interactive",
        "disposition": "escalate",
        "require_confirmation": True,
    }
