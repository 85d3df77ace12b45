"""The pure core: what a decision says, what its receipt holds, and that nothing gets past it by failing."""

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
    """A call of a tool in a session."""
    return Action(
        kind=classify_tool(tool), tool=tool, payload=payload, session_id="s", cwd="/home/dev/project", host="claude"
    )


def decided(
    what: Action, policy: Policy = RULED, posture: str = "interactive", grants: tuple[Grant, ...] = (), **state: Any
) -> Decision:
    """The decision on an action, its secrets replaced as the flow does it."""
    redacted, kinds = redact_action(what)
    facts = Facts(FakeWorld(), secrets=kinds)
    return decide(redacted, facts, SessionState(session_id="s", **state), Posture(posture), policy, grants=grants)


def test_a_decision_carries_effects_posture_guard_and_receipt() -> None:
    """One value tells everything, and cannot be changed."""
    decision = decided(action("Bash", command="git push --force origin main"))

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.BLOCK, "no_force")
    assert decision.disposition is Disposition.DENY
    assert decision.dominant == "destructive"
    assert (decision.posture, decision.posture_after) == (Posture.INTERACTIVE, Posture.INTERACTIVE)
    with pytest.raises(FrozenInstanceError):
        decision.verdict = Verdict.pass_(guard="me")  # type: ignore[misc]


def test_the_receipt_holds_everything_that_the_decision_rests_on() -> None:
    """Action, facts, effects, posture, session, policy, engine, verdicts; no clock, no host's id."""
    decision = decided(action("Bash", command="git push --force"), action_count=3, risk=0.5)
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


def test_two_calls_that_say_the_same_have_the_same_receipt_whenever_they_are_made() -> None:
    """Neither the time nor the host's id for the call is in it, unless a guard looks."""
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
    """A guard that looks at the time, the history and its own slot."""

    name = "clock"

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Counts, and objects once there is a past."""
        ctx.session.slots["seen"] = ctx.session.slots.get("seen", 0) + 1
        if ctx.session.history and ctx.now > 0:
            return Verdict.ask(guard=self.name, reason="again", fix="stop")
        return Verdict.pass_(guard=self.name)


def test_what_a_guard_looks_at_is_in_the_receipt_and_nothing_else_of_it() -> None:
    """Time, history and slots as they were before; the slots also as they are after."""
    layer = PolicyLayer(name="file", file="x", document={}, nodes=(to_node(Clock()),))
    what, past = action("Read", file_path="a"), [{"tool": "x"}]

    looked = decided(what, Policy(layers=(layer,)), slots={"seen": 1}, history=[*past]).receipt.dump()
    quiet = decided(what, slots={"seen": 1}, history=[*past]).receipt.dump()

    assert (looked["session"]["slots"], looked["session"]["history"]) == ({"seen": 1}, past)
    assert looked["facts"]["place"]["now"] == FakeWorld().now
    assert looked["after"] == {"risk": 0, "slots": {"seen": 2}}
    assert quiet["session"].keys() == {"action_count", "block_count", "consecutive_blocks", "risk"}
    assert quiet["after"] == {"risk": 0}


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
def test_posture_and_manifest_settle_the_verdict(tool: str, posture: str, kind: str, guard: str) -> None:
    """Stricter where they must, never looser."""
    decision = decided(action(tool, file_path="a", content="b"), posture=posture)

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
        ("rules: [{name: lost, class: destructive, verdict: block, reason: no, fix: no}]", "manifest: {mcp__db__delete_all: {effects: [read]}}", "mcp__db__delete_all", "block"),
    ],
)  # fmt: skip
def test_a_lower_layer_cannot_loosen_by_declaring_a_tool(upper: str, lower: str, tool: str, kind: str) -> None:
    """What a project declares of a tool adds to what is known of it; it does not make it known to the layers above."""
    found = [("user", upper), ("project", "rules: [{name: never, tool: never, verdict: warn, reason: so}]\n" + lower)]
    layers = [PolicyFile(name, name, f"profile: none\n{text}".encode()) for name, text in found]

    assert decided(action(tool), build_policy(layers)).verdict.kind.word == kind


def test_a_dry_run_keeps_what_would_have_happened_live() -> None:
    """As a verdict in the decision and in the receipt."""
    decision = decided(action("deploy"), posture="dry_run")

    assert decision.would_be is not None
    assert decision.would_be.kind is VerdictKind.ASK
    assert decision.receipt.dump()["would_be"]["guard"] == "no_friday"
    assert "live a person would have been asked first (it is friday)" in decision.verdict.reason
    assert decided(action("Read", file_path="a"), posture="dry_run").would_be is None


def test_warnings_pass_and_are_told() -> None:
    """A warning stops nothing, and is never an approval."""
    decision = decided(action("Bash", command="make all"))

    assert decision.passed
    assert [warning.guard for warning in decision.warnings] == ["heads_up"]
    assert not decision.approved


def test_only_what_the_policy_names_is_approved() -> None:
    """Silence leaves the host's own prompt in place."""
    assert decided(action("Read", file_path="a")).approved
    assert not decided(action("Write", file_path="a", content="b")).approved
    assert not decided(action("Read", file_path="a"), STANDARD).approved


def grant(guard: str, target: str, **changes: Any) -> Grant:
    """A grant that holds now."""
    fields = {"id": "g1", "session": "*", "expires": 2_000_000_000, "reason": "agreed with ops"} | changes
    return Grant(guard=guard, target=target, **fields)


def test_an_operators_grant_gets_past_its_guard_and_says_so() -> None:
    """It becomes a warning, and the receipt holds the grant and the time at which it was held to be good."""
    decision = decided(action("Bash", command="git push --force"), grants=(grant("no_force", "git push --force"),))

    assert decision.verdict.kind is VerdictKind.WARN
    assert decision.verdict.reason == "it loses commits; let through by the operator's grant `g1`: agreed with ops"
    body = decision.receipt.dump()
    assert [kept["id"] for kept in body["grants"]] == ["g1"]
    assert body["facts"]["place"]["now"] == FakeWorld().now
    assert body["ruled"]["kind"] == "block"


@pytest.mark.parametrize(
    ("tool", "payload", "given"),
    [
        ("Bash", {"command": "git push --force"}, grant("another", "git push --force")),
        ("Bash", {"command": "git push --force"}, grant("no_force", "git push --force", expires=1)),
        ("Bash", {"command": "git push --force"}, grant("no_force", "git push --force", session="other")),
        ("erase", {"path": "/x"}, grant("red", "/x")),
    ],
)
def test_a_grant_covers_nothing_else(tool: str, payload: dict[str, Any], given: Grant) -> None:
    """Not another guard, not after its time, not in another session, never a red line."""
    assert decided(action(tool, **payload), grants=(given,)).verdict.kind is VerdictKind.BLOCK


def test_what_a_second_guard_says_still_holds_behind_a_grant() -> None:
    """A grant names one guard; the others were not asked to look away."""
    policy = parse_policy(
        """
profile: none
rules:
  - {name: first, command: git push, verdict: block, reason: one, fix: x}
  - {name: second, command: git push --force, verdict: ask, reason: two, fix: y}
"""
    )
    what = action("Bash", command="git push --force")

    decision = decided(what, policy, grants=(grant("first", "git push --force"),))

    assert (decision.verdict.kind, decision.guard) == (VerdictKind.ASK, "second")


def test_no_secret_is_in_the_receipt_and_its_kind_is() -> None:
    """Neither in the command nor in what was derived from it."""
    _, secret = PLANTED[0]

    decision = decided(
        action("Bash", command=f"TOKEN={secret} git push https://u:{secret}@host/x.git --force; echo {secret}")
    )

    assert secret.encode() not in decision.receipt.bytes
    assert "github-token" in decision.receipt.dump()["facts"]["secrets"]


def test_a_secret_does_not_change_how_a_command_is_read() -> None:
    """A token is no redirection, and what it hides counts as unknown."""
    _, secret = PLANTED[0]

    plain = decided(action("Bash", command=f"export A={secret} && rm -rf /etc"), STANDARD)
    hidden = decided(action("Bash", command=f"P={secret}/../../../../etc; rm -rf $P"), STANDARD)

    assert plain.verdict.kind is VerdictKind.BLOCK
    assert not any(effect.what == "fs.overwrite" for effect in plain.effects)
    assert not hidden.passed


def test_a_session_moves_on_with_each_decision() -> None:
    """As the engine by itself counts it."""
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
def test_an_action_that_cannot_be_recorded_is_blocked_and_that_is_recorded(payload: dict[str, Any], says: str) -> None:
    """A verdict, never a traceback; and its receipt decides the same again."""
    first = decided(action("Bash", **payload))
    again = decided(action("Bash", **first.receipt.dump()["action"]["payload"]))

    assert (first.verdict.kind, first.guard, first.verdict.error) == (VerdictKind.BLOCK, "record", True)
    assert says in first.verdict.reason
    assert again.receipt.sha256 == first.receipt.sha256


def test_a_number_too_long_for_json_is_recorded_as_text_and_decided_as_usual() -> None:
    """Ids of 64 bits are ordinary, and no reason to stop anybody."""
    decision = decided(action("Read", file_path="a", id=2**63 - 1))

    assert decision.passed
    assert decision.receipt.dump()["action"]["payload"]["id"] == str(2**63 - 1)


@pytest.mark.parametrize("payload", [None, [], "text", 7, {"command": None}, {"command": ["a", 1]}, {"command": {}}])
def test_a_payload_of_the_wrong_shape_gets_a_verdict(payload: Any) -> None:
    """Whatever a host sends."""
    what = Action(kind=classify_tool("Bash"), tool="Bash", payload=payload)

    assert decide(what, Facts(FakeWorld()), SessionState(), Posture.INTERACTIVE, STANDARD).receipt.spine().bytes


def test_a_world_that_fails_blocks() -> None:
    """A crash never becomes permission."""

    class Broken(FakeWorld):
        def path(self, path: str, *, git: bool = True) -> Any:
            raise OSError("gone")

    decision = decide(action("Read", file_path="a"), Facts(Broken()), SessionState(), Posture.INTERACTIVE, RULED)

    assert (decision.verdict.kind, decision.verdict.error) == (VerdictKind.BLOCK, True)
    assert "OSError: gone" in decision.verdict.reason


def test_the_spine_of_a_receipt_has_eight_fields() -> None:
    """Readers of seed 003's receipts can read ours."""
    spine = decided(action("deploy", region="eu")).receipt.spine()

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
