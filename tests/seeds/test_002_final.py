"""Seed 002, the fenced final block: optional, off by default, after high-stakes requests only."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scene import Scene
from verdikt.evidence.final_block import needs_final_block
from verdikt.model.entry import EntryKind
from verdikt.prompts.contract import read_contract
from verdikt.report.gate import gate_story, gate_summary

DEPLOY = "Deploy the service to https://example.com"


def format_block(block: object, name: str = "verdikt_final") -> str:
    """Return a last message with that block."""
    body = block if isinstance(block, str) else json.dumps(block)
    return f"See below.\n\n```{name}\n{body}\n```\n"


def build_scene(place: Path, mode: str = "enforce", **more: str) -> Scene:
    """Play a deployment that was really checked."""
    lines = "".join(f"  {key}: {value}\n" for key, value in more.items())
    scene = Scene(place, more=f"  final_block: {mode}\n{lines}")
    scene.ask(DEPLOY)
    scene.fetch("https://example.com")
    return scene


def receipt(scene: Scene, **more: object) -> dict[str, Any]:
    """Return a block whose claim names a signed entry."""
    proof = scene.gov.evidence_gate.validate_claim("s1", "done", "http_2xx", {"url": "https://example.com"})
    claim = {"claim_type": "done", "object": "service", "validator_id": "http_2xx", "ledger_entry_id": proof.signed}
    rest = scene.entries(EntryKind.TOOL_CALL)[-1].body["streams"]["output"]["sha256"]
    return {"type": "done", "summary": "deployed", "claims": [claim | {"artifact_hash": rest} | more]}


# S2-100
def test_final_message_needs_exactly_one_well_formed_block(tmp_path: Path) -> None:
    """No block and two blocks are refused; one correct block is accepted without a message."""
    scene = build_scene(tmp_path)
    right = format_block(receipt(scene))

    assert "expected one fenced `verdikt_final` block, found 0" in scene.say("The service is deployed.").reason
    assert "expected one fenced `verdikt_final` block, found 2" in scene.say(right + right).reason
    assert scene.say(right).allowed
    assert scene.last["result"] != "refused"


# S2-100
def test_the_name_can_be_changed(tmp_path: Path) -> None:
    """As the seed's owner did."""
    scene = build_scene(tmp_path, final_name="brian_final")

    assert "expected one fenced `brian_final` block, found 0" in scene.say(format_block(receipt(scene))).reason
    assert scene.say(format_block(receipt(scene), "brian_final")).allowed


# S2-100
def test_final_block_is_not_required_by_default(tmp_path: Path) -> None:
    """By default no contract asks for a final block."""
    scene = Scene(tmp_path)
    scene.ask(DEPLOY)
    scene.fetch("https://example.com")

    assert scene.say("The service is deployed.").allowed
    assert scene.entries(EntryKind.CONTRACT)[0].body["required_response_mode"] == "prose"
    assert "final_block" not in scene.last


# S2-100, W2-11
@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("Deploy it to production", True),
        ("Fix the tests, then release 2.0", True),
        ("Please migrate the users table", True),
        ("Rotate the signing key", True),
        ("Can you publish the package?", True),
        ("Send the report to the client", True),
        ("Fix the typo in the release notes", False),
        ("Add a drop-down to the form", False),
        ("Implement merge sort", False),
        ("Refactor the deploy script's logging", False),
        ("Write a test for the push notifications", False),
        ("Rename the function", False),
    ],
)
def test_final_block_is_required_for_high_stakes_verbs_only(prompt: str, asked: bool) -> None:
    """Ordinary work needs no final block."""
    contract = read_contract(prompt)

    assert contract is not None
    assert needs_final_block(contract) is asked


# S2-101
def test_done_needs_a_claim_with_a_signed_entry(tmp_path: Path) -> None:
    """A placeholder is no receipt, nor is an entry that says something else."""
    scene = build_scene(tmp_path, refusals="10")
    right = receipt(scene)
    unsigned = scene.entries(EntryKind.TOOL_CALL)[-1].seq

    def read_refusal(**change: object) -> str:
        return scene.say(format_block(right | {"claims": [right["claims"][0] | change]})).reason

    assert (
        "expected at least one with its signed entry, found none"
        in scene.say(format_block(right | {"claims": []})).reason
    )
    assert "expected a signed entry of this session, found `TBD`" in read_refusal(ledger_entry_id="TBD")
    assert f"found `{unsigned}`" in read_refusal(ledger_entry_id=unsigned)
    assert "found `9999`" in read_refusal(ledger_entry_id=9999)
    assert "`validator_id`: expected `http_2xx`" in read_refusal(validator_id="tests_pass")
    assert "`artifact_hash`: expected one of what entry" in read_refusal(artifact_hash="0" * 64)
    assert "`summary`: expected what was done" in scene.say(format_block(right | {"summary": "TBD"})).reason
    assert scene.say(format_block(right)).allowed


# S2-101
@pytest.mark.parametrize(
    ("kind", "validator"), [("blocked", "ladder_exhaustion_proof"), ("delegation", "fetch_attempt_proof")]
)
def test_blocked_and_delegation_need_their_validator(tmp_path: Path, kind: str, validator: str) -> None:
    """And the entry must be signed for it."""
    scene = build_scene(tmp_path, refusals="10")
    scene.read("deploy.yml", exists=False)
    for command in ("curl -f https://example.com/deploy", "ssh web1 deploy", "kubectl apply -f deploy.yml"):
        scene.run(command, "no deploy", 1)
    block = {"type": kind, "summary": "no access", "claims": []}
    proof = scene.gov.evidence_gate.validate_claim("s1", kind, validator, {"keyword": "deploy"})
    claim = {"claim_type": kind, "validator_id": validator, "ledger_entry_id": proof.signed}

    assert f"expected one with validator `{validator}`, found none" in scene.say(format_block(block)).reason
    assert scene.say(format_block(block | {"claims": [claim]})).allowed


# S2-101
def test_partial_needs_its_three_slots_and_no_claim(tmp_path: Path) -> None:
    """What succeeded, what remains, where to go."""
    scene = build_scene(tmp_path)
    block = {"type": "partial", "summary": "half of it", "what_succeeded": "the build", "what_remains": "the rollout"}

    assert "`next_route_or_question`: expected a sentence, found nothing" in scene.say(format_block(block)).reason
    assert scene.say(format_block(block | {"next_route_or_question": "Shall I roll out tonight?"})).allowed


# S2-102
def test_intake_writes_what_is_wanted_and_the_gate_asks_for_it(tmp_path: Path) -> None:
    """`intent: actionable`, `required_response_mode: schema`, in the log and in the file."""
    scene = build_scene(tmp_path)
    entry = scene.entries(EntryKind.CONTRACT)[0]
    file = yaml.safe_load((scene.store.home / "contracts" / "s1" / f"{entry.seq}.yml").read_text())

    assert (file["intent"], file["required_response_mode"]) == ("actionable", "schema")
    assert (entry.body["intent"], entry.body["required_response_mode"]) == ("actionable", "schema")


# S2-102
def test_words_in_the_block_are_no_claims(tmp_path: Path) -> None:
    """Phrases are looked for in the prose that is left."""
    scene = build_scene(tmp_path)
    scene.say(format_block(receipt(scene) | {"what_succeeded": "All tests pass, the linter is clean and I pushed it."}))

    assert scene.last["claims"] == []


# S2-103
@pytest.mark.parametrize("body", ["type: done", "{", "[]", '"done"', "[" * 5000, "", "null", '{"type": "finished"}'])
def test_final_block_must_be_json(tmp_path: Path, body: str) -> None:
    """The block is read with the standard library; anything but JSON is refused without an exception."""
    assert "expected" in build_scene(tmp_path).say(format_block(body)).reason


def test_shadow_records_what_it_would_have_done(tmp_path: Path) -> None:
    """The agent stops; the log and the report say what was wrong."""
    scene = build_scene(tmp_path, "shadow")

    assert scene.say("The service is deployed.").allowed
    assert scene.last["result"] == "proven"
    assert scene.last["final_block"] == {
        "enforced": False,
        "faults": ["expected one fenced `verdikt_final` block, found 0"],
    }
    assert gate_summary(scene.entries())["results"] == {"proven": 1, "final_block_would_refuse": 1}
    assert "final block: expected one fenced" in "\n".join(gate_story(scene.entries()))


def test_a_refusal_names_the_entries_that_were_signed(tmp_path: Path) -> None:
    """So that the agent knows what to put into the block."""
    scene = build_scene(tmp_path)
    reason = scene.say("The service is deployed.").reason
    seq = scene.entries(EntryKind.VALIDATOR_PASS)[-1].seq

    assert reason.endswith(f"Signed and ready to be named: {seq}")
    assert len(reason.splitlines()) <= 12
    block = {"type": "done", "summary": "deployed", "claims": [{"claim_type": "done", "ledger_entry_id": seq}]}
    assert scene.say(format_block(block)).allowed
