"""What proves a claim, by what it is about: one row for each topic. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from verdikt.claims.named_objects import find_changed_names
from verdikt.claims.topics import reports_change
from verdikt.claims.wording import has_wording
from verdikt.evidence.attempt import suggest_next_attempt
from verdikt.evidence.change_proof import CHECK_VALIDATORS, choose_check, prove_change
from verdikt.evidence.check_proof import names_tests, prove_build, prove_lint, prove_tests, prove_types
from verdikt.evidence.effect_proof import prove_install, prove_outgoing
from verdikt.evidence.file_proof import is_about_files, prove_file_operation
from verdikt.evidence.git_proof import is_about_refs, prove_commit, prove_push
from verdikt.evidence.proof_request import Missing, ProofRequest, Row, Unknowable, hold
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.validator import Proof, ProofStatus, run_validator
from verdikt.evidence.validator_registry import build_custom_validator
from verdikt.model.work_tree import classify_file

ROWS: Mapping[str, Row] = {
    "change": prove_change,
    "tests": prove_tests,
    "build": prove_build,
    "lint": prove_lint,
    "types": prove_types,
    "commit": prove_commit,
    "push": prove_push,
    "release": prove_outgoing,
    "deploy": prove_outgoing,
    "install": prove_install,
    "file_operation": prove_file_operation,
}
"""Topic of a claim → what proves it."""

_VALIDATORS_BY_TOPIC: Mapping[str, tuple[str, ...]] = {
    "tests": ("tests_pass", "pytest_pass", "command_zero_exit"),
    "build": ("build_passes", "image_builds", "command_zero_exit"),
    "lint": ("lint_clean", "command_zero_exit"),
    "types": ("types_clean", "command_zero_exit"),
    "commit": ("commit_exists",),
}
"""Topic → validators whose explicit pass proves it; topics that are not here accept any of `done`."""

_EFFECTS = frozenset({"launched", "command_effect"})
"""Proofs that rest on a command which changed something outside of the files."""

_REPEATABLE = frozenset({"tests", "build", "lint", "types", "commit", "push", "release", "deploy", "install"})
"""Topics about a state, which an earlier proof still shows while the sources are the same."""


def prove_topic(request: ProofRequest, topic: str, settings: EvidenceSettings) -> Proof | Missing | Unknowable:
    """Return the proof of one topic of a claim, what is missing, or why that cannot be known."""
    required = _find_missing_requirement(request, settings)
    if required is not None:
        return required
    row = ROWS.get(topic, prove_change)
    # `The last commit now reads …` reports a new commit and no change of a file.
    names_commit = request.claim.topics == ("change",) and has_wording("commit", request.text)
    is_reworded = names_commit and not reports_change(request.text) and not request.turn.facts.changes
    # `Deleted topic here and on origin` is about branches that went, and about nothing that was sent.
    is_deletion = topic == "push" and has_wording("delete", request.text) and "push" not in request.text.lower()
    may_be_ref = is_deletion or topic in ("change", "file_operation", "release")
    if is_reworded or (may_be_ref and is_about_refs(request)):
        row = prove_commit
    elif topic == "change" and is_about_files(request.text):
        row = prove_file_operation
    elif topic == "tests" and "test" not in request.turn.facts.checks and not names_tests(request.text):
        # `I ran it and it prints the name`: of a program without tests, that is all there is to run.
        row = prove_change
    elif row in (prove_install, prove_outgoing) and _is_about_text(request.text):
        row = prove_change
    outcome = row(request)
    # What the row does not find may have been validated by name, or proven at an earlier stop.
    if isinstance(outcome, Missing):
        outcome = _find_explicit_pass(request, topic) or _find_earlier_proof(request, topic) or outcome
    if isinstance(outcome, Missing) and (unknown := _find_unknown_effect(request, row)) is not None:
        return unknown
    turn = request.turn
    # The parent's own check after the sub-agent's unproven claim settles it; one before it does not.
    if isinstance(outcome, Proof) and outcome.entries and max(outcome.entries) < turn.unproven_child:
        return Missing("a sub-agent ended without proof of its own claim, and nothing was checked since", "test")
    return outcome


def _is_about_text(text: str) -> bool:
    """Return whether a sentence is about what a file says: `Added redis to compose.yaml`, `Set 1.1 in package.json`."""
    kinds = {classify_file(name) for name in find_changed_names(text)}
    return bool(kinds) and kinds <= {"data", "document", "ci"} and not has_wording("outside_work", text)


def _find_unknown_effect(request: ProofRequest, row: Row) -> Unknowable | None:
    """Return that the command which is claimed ran, and that the host does not tell how it ended; None otherwise.

    A check can be run again so that its end shows. A deployment or a migration should not be.
    """
    outcome = row(replace(request, turn=request.turn.assume_unknown_success()))
    if not isinstance(outcome, Proof) or outcome.validator not in _EFFECTS:
        return None
    commands = [call.command for call in request.turn.calls if call.seq in outcome.entries]
    return Unknowable(f"this client does not tell how `{' '.join(commands)[:120]}` ended")


def prove_attempts(request: ProofRequest) -> tuple[Proof | Missing, str]:
    """Return the proof that an agent tried before it gives up or asks a person, and what to try next."""
    act = request.claim.act
    name = "ladder_exhaustion_proof" if act == "blocked" else "fetch_attempt_proof"
    proof = request.try_validator(name)
    if not proof.holds:
        checked = next((one for one in request.turn.validator_passes if one.claim == act), None)
        if checked is None or not request.turn.is_still_valid(checked):
            return Missing(proof.reason), suggest_next_attempt(request.turn, act)
        proof = Proof(checked.validator, ProofStatus.PASS, entries=(checked.seq,))
    return proof, ""


def _find_missing_requirement(request: ProofRequest, settings: EvidenceSettings) -> Missing | None:
    """Return which of the user's own validators fails; they are required of every claim."""
    for custom in settings.validators:
        proof = run_validator(build_custom_validator(custom), {}, request.turn)
        if not proof.holds:
            return Missing(proof.reason, f"run {custom.command}")
    return None


def _find_explicit_pass(request: ProofRequest, topic: str) -> Proof | None:
    """Return a validation that the agent asked for in this turn; it goes stale like a proof of ours."""
    accepted = _VALIDATORS_BY_TOPIC.get(topic)
    for checked in request.turn.validator_passes:
        is_relevant = accepted is None or checked.validator in accepted
        if checked.claim == "done" and is_relevant and request.turn.is_still_valid(checked):
            return Proof(checked.validator, ProofStatus.PASS, entries=(checked.seq,))
    return None


def _find_earlier_proof(request: ProofRequest, topic: str) -> Proof | Missing | None:
    """Return what an earlier stop of the session proved, as long as the sources are the same, or are checked again."""
    facts = request.turn.facts
    earlier = facts.earlier
    if not earlier or topic not in earlier.get("topics", ()):
        return None
    head = facts.git_after.head if facts.git_after else ""
    if topic in ("commit", "push") and earlier.get("head", "") != head:
        return None
    # A new request asks for new work, which an old change does not prove.
    contract = request.turn.contract
    if topic not in _REPEATABLE and contract is not None and contract.asks_for_work:
        return None
    seq = int(earlier.get("seq", 0))
    if not facts.has_changed_since_proof:
        return hold("earlier_proof", seq)
    # Of a state (`the tests pass`) the row says better what is missing.
    return None if topic in _REPEATABLE else _prove_again(request, seq)


def _prove_again(request: ProofRequest, seq: int) -> Proof | Missing:
    """Prove a change that was proven before its sources were changed once more: by a check since then."""
    for name in CHECK_VALIDATORS.values():
        if (proof := request.try_validator(name)).holds:
            return hold("earlier_proof", seq, *proof.entries)
    reason = "the sources were changed after this was proven, and nothing was checked since"
    return Missing(reason, choose_check(request.turn))
