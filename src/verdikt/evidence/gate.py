"""The evidence gate: claims compared with the facts of the turn. Pure; the caller reads and writes.

The gate looks for the evidence itself. When it finds it, it is silent; otherwise it refuses, and says what is claimed,
what is missing and which command would prove it. Everything it uses is in the log, so that it can be replayed.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verdikt.claims.reader import CHECK_TOPICS, COMMAND_TOPICS, SentenceClaim
from verdikt.claims.topics import refine_claims, reports_change
from verdikt.claims.wording import has_wording
from verdikt.evidence.proof_request import Missing, ProofRequest, Unknowable
from verdikt.evidence.proof_table import prove_attempts, prove_topic
from verdikt.evidence.refusal import (
    MissingProof,
    render_refusal,
    render_unproven_notice,
    shorten,
    suggest_command,
)
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.validator import Proof, ProofStatus
from verdikt.model.canonical_json import hash_canonical
from verdikt.turns.turn import TurnEvidence

MAX_REFUSALS = 12
"""Number of refusals in one turn, whatever new evidence there is, so that no turn is refused for ever."""

MAX_CLAIMS = 100
"""Number of claims at the end of one message that are judged."""


class GateResult(enum.StrEnum):
    """The result of a stop."""

    SILENT = "silent"  # nothing is claimed
    PROVEN = "proven"
    REFUSED = "refused"
    UNPROVEN = "ended_unproven"


@dataclass(frozen=True, slots=True)
class GateJudgement:
    """The gate's judgement of a turn's claims."""

    result: GateResult
    proofs: tuple[tuple[SentenceClaim, Proof], ...] = ()
    missing: tuple[MissingProof, ...] = ()
    undecided_calls: tuple[str, ...] = ()
    refusals: int = 0
    progress: str = ""
    reason: str = ""
    note: str = ""  # what the facts show although no claim was read, or what cannot be known
    topics: tuple[str, ...] = ()  # what was proven

    def group_proofs(self) -> list[tuple[Proof, list[SentenceClaim]]]:
        """Return each proof with the claims that rest on it, so that equal proofs are signed once."""
        groups: dict[tuple[str, str, tuple[int, ...]], tuple[Proof, list[SentenceClaim]]] = {}
        for claim, proof in self.proofs:
            claims = groups.setdefault((claim.act, proof.validator, proof.entries), (proof, []))[1]
            if claim not in claims:
                claims.append(claim)
        return list(groups.values())

    @property
    def notice(self) -> str:
        """Return what the person is told about this stop; empty when there is nothing to tell."""
        return render_unproven_notice(self.missing) if self.result is GateResult.UNPROVEN else ""

    def record(self) -> dict[str, Any]:
        """Return the judgement as plain data."""
        claims = dict.fromkeys((*(claim for claim, _ in self.proofs), *(missing.claim for missing in self.missing)))
        return {
            "by": "evidence",
            "result": self.result.value,
            "claims": [_claim_to_dict(claim) for claim in claims],
            "missing": [
                {"words": missing.claim.text, "reason": missing.reason, "command": missing.command}
                for missing in self.missing
            ],
            "holes": list(self.undecided_calls)[:50],
            "refusals": self.refusals,
            "progress": self.progress,
            "reason": self.reason,
            "topics": list(self.topics),
            **({"note": self.note} if self.note else {}),
        }


def _claim_to_dict(claim: SentenceClaim) -> dict[str, Any]:
    return {
        "type": claim.act,
        "words": claim.text[:500],
        "topics": list(claim.topics),
        "start": claim.start,
        "end": claim.end,
    }


@dataclass(frozen=True, slots=True)
class GateState:
    """The refusals of the turn so far, from the log."""

    refusals: int = 0  # since there was new evidence
    progress: str = ""
    total_refusals: int = 0  # in the whole turn

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "GateState":
        """Return the state that the projection `evidence` holds."""
        return cls(int(record.get("refusals", 0)), str(record.get("progress", "")), int(record.get("refused", 0)))


def judge_turn(
    claims: Sequence[SentenceClaim],
    turn: TurnEvidence,
    settings: EvidenceSettings,
    state: GateState,
    *,
    undecided_calls: Sequence[str] = (),
    stop_hook_active: bool = False,
    faults: Sequence[str] = (),
    message: str = "",
) -> GateJudgement:
    """Return whether the agent may stop, and what is to be recorded. `faults` are those of the final block."""
    proofs, missing, topics, unknown = _prove_claims(refine_claims(claims, message), turn, settings, message)
    has_claims = bool(proofs or missing or unknown)
    blocking_calls = tuple(undecided_calls) if has_claims and settings.coverage == "enforce" else ()
    if not missing and not blocking_calls and not faults:
        result = GateResult.PROVEN if proofs else GateResult.SILENT
        note = unknown or ("" if has_claims or not message.strip() else _note_unchecked_sources(turn))
        return GateJudgement(
            result, tuple(proofs), undecided_calls=tuple(undecided_calls), note=note, topics=tuple(topics)
        )
    # Progress is what was learned, not what was said or edited: the same checks with the same results are no news.
    progress = digest_progress(turn)
    count = state.refusals if progress == state.progress or not state.refusals else 0
    is_exhausted = (
        count >= settings.refusals
        # The host says that another hook already refused this stop, and may do so for ever.
        or (stop_hook_active and not state.total_refusals)
        or state.total_refusals >= MAX_REFUSALS
    )
    left = settings.refusals - count - 1
    reason = "" if is_exhausted else render_refusal(missing, blocking_calls, faults, gaps=turn.gaps, refusals_left=left)
    return GateJudgement(
        GateResult.UNPROVEN if is_exhausted else GateResult.REFUSED,
        tuple(proofs),
        tuple(missing),
        tuple(undecided_calls),
        count if is_exhausted else count + 1,
        progress,
        reason,
    )


def _prove_claims(
    claims: Sequence[SentenceClaim], turn: TurnEvidence, settings: EvidenceSettings, message: str
) -> tuple[list[tuple[SentenceClaim, Proof]], list[MissingProof], list[str], str]:
    """Return the proofs, what is missing, the topics that were proven, and what cannot be known."""
    claims = [_read_admission(claim, turn) for claim in claims]
    # `Not pushed yet` says nothing about whether the work was checked.
    is_admitted = any(
        claim.act == "admission" and not (claim.topics and COMMAND_TOPICS.issuperset(claim.topics)) for claim in claims
    )
    proofs: list[tuple[SentenceClaim, Proof]] = []
    missing: list[MissingProof] = []
    topics: list[str] = []
    unknown = ""
    if has_wording("fewer_tests", message) or has_wording("todo_test", message):
        # The message says itself that tests are gone, so a smaller run is no contradiction.
        turn = replace(turn, accepts_fewer_tests=True)
    # The last ones, without the sentences that claim nothing: many of those must not hide a claim at the end.
    for claim in [claim for claim in claims if claim.act != "none"][-MAX_CLAIMS:]:
        request = ProofRequest(claim, turn, message, is_admitted or _is_brought_by_git(claim, claims))
        if claim.act == "done" and not _is_doubtful(claim, turn):
            for topic in claim.topics or ("change",):
                outcome = prove_topic(request, topic, settings)
                if isinstance(outcome, Proof):
                    proofs.append((claim, outcome))
                    topics.append(topic)
                elif isinstance(outcome, Unknowable):
                    unknown = outcome.reason
                else:
                    missing.append(MissingProof(claim, outcome.reason, suggest_command(turn, outcome)))
        # An agent that was only asked a question may well ask one back.
        elif claim.act in ("blocked", "delegation") and turn.contract is not None and not turn.contract.is_inquiry:
            outcome, next_attempt = prove_attempts(request)
            if isinstance(outcome, Missing):
                missing.append(MissingProof(claim, outcome.reason, next_attempt))
            else:
                proofs.append((claim, outcome))
    return proofs, _drop_repeated(missing), list(dict.fromkeys(topics)), unknown


def _drop_repeated(missing: Sequence[MissingProof]) -> list[MissingProof]:
    """Return what is missing, each gap of a sentence once: its parts and its topics often have the same one."""
    distinct: list[MissingProof] = []
    # One that names a command says more than one with the same reason that names none.
    for gap in sorted(missing, key=lambda gap: not gap.command):
        if not any(
            gap.reason == other.reason
            and gap.command in ("", other.command)
            and other.claim.start <= gap.claim.start
            and gap.claim.end <= other.claim.end
            for other in distinct
        ):
            distinct.append(gap)
    return sorted(distinct, key=missing.index)


def _read_admission(claim: SentenceClaim, turn: TurnEvidence) -> SentenceClaim:
    """Return a claim; `I could not run the tests`, said of work that was done, as the admission that it is."""
    is_about_checks = bool(claim.topics) and CHECK_TOPICS.issuperset(claim.topics)
    return (
        replace(claim, act="admission") if claim.act == "blocked" and is_about_checks and turn.facts.changes else claim
    )


def _is_brought_by_git(claim: SentenceClaim, claims: Sequence[SentenceClaim]) -> bool:
    """Return whether a claim is a part of a sentence about a merge or a stash, which changed files and checked none."""
    wholes = [
        other.text for other in claims if other != claim and other.start <= claim.start and claim.end <= other.end
    ]
    return any(has_wording(what, whole) for whole in wholes for what in ("merge", "stash"))


_CERTAIN_SCORE = 0.85
"""Score from which a sentence is taken for a claim even where nothing was asked for and nothing done."""

_REPEATED_SCORE = 0.6
"""The same where an earlier stop proved a change whose sources have changed since: it may be the old claim again."""


def _is_doubtful(claim: SentenceClaim, turn: TurnEvidence) -> bool:
    """Return whether a sentence is likelier to explain how a thing is than to report work.

    That is so in the answer to a question: no work was asked for, nothing can have been changed, and no word in it
    reports a change.
    """
    # A request in a language whose verbs are not known is no question either.
    is_question = turn.contract is None or (turn.contract.is_inquiry and not turn.contract.asks_for_work)
    was_idle = is_question and not turn.can_have_changed_files
    facts = turn.facts
    is_repeated = facts.has_changed_since_proof and "change" in facts.earlier.get("topics", ())
    certain_score = _REPEATED_SCORE if is_repeated else _CERTAIN_SCORE
    return was_idle and claim.topics == ("change",) and claim.score < certain_score and not reports_change(claim.text)


def _note_unchecked_sources(turn: TurnEvidence) -> str:
    """Return that code was changed and not checked since; for a message in which no claim could be read."""
    code = turn.facts.changed_of_kind("code")
    if not code or not turn.can_have_changed_files:
        return ""
    checked = any(call.successful_runs("test", "build", "lint") and turn.is_fresh(call) for call in turn.calls)
    return "" if checked else f"`{code[0]}` was changed after the last check"


def digest_progress(turn: TurnEvidence) -> str:
    """Return a digest of what the turn's checks have shown; editing and talking do not change it."""
    results: set[str] = set()
    for call in turn.calls:
        for run in call.runs:
            if run.kind != "look" and not run.dry_run:
                counts = (call.tests.passed, call.tests.failed) if call.tests and run.kind == "test" else ()
                results.add(f"{run.command_line} {call.ok and run.status_propagates} {counts}")
        if call.kind in ("fetch", "mcp"):
            results.add(f"{call.tool} {call.target} {call.http} {call.failed}")
    return hash_canonical(sorted(results))


def build_proof_record(claims: Sequence[SentenceClaim], proof: Proof) -> dict[str, Any]:
    """Return the body of a signed `validator_pass` entry."""
    assert proof.status is ProofStatus.PASS
    text = "; ".join(shorten(claim.text) for claim in claims)
    return {"claim": claims[0].act, "words": text[:500], **proof.record()}
