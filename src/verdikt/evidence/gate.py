"""The evidence gate: claims compared with the contract and the log of the turn. Pure; the caller reads and writes.

The gate looks for the evidence itself. When it finds it, it is silent; otherwise it refuses, and says what is claimed,
what is missing and which command would prove it.
"""

import enum
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verdikt.evidence.attempt import suggest_next_attempt
from verdikt.evidence.claims import Claim, ClaimType
from verdikt.evidence.implicit_validators import (
    COMMAND_EFFECT,
    DOCUMENT_EDITED,
    LAUNCHED,
    PUSHED,
    TESTS_NO_WORSE,
    WORK_EDITED,
    WORK_EXERCISED,
)
from verdikt.evidence.program_kinds import is_partial_test_run
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.shell_runs import read_runs
from verdikt.evidence.turn import TurnEvidence, is_same_path
from verdikt.evidence.validator import VALIDATORS, Proof, ProofStatus, Validator, build_custom_validator, run_validator
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.source_tree import DOC_SUFFIXES

MAX_REFUSAL_LINES = 12
"""Number of lines of a refusal."""

MAX_REFUSALS = 12
"""Number of refusals in one turn, whatever new evidence there is, so that no turn is refused for ever."""


class GateResult(enum.StrEnum):
    """The result of a stop."""

    SILENT = "silent"  # nothing is claimed, or nothing was asked for
    PROVEN = "proven"
    REFUSED = "refused"
    UNPROVEN = "ended_unproven"


@dataclass(frozen=True, slots=True)
class MissingProof:
    """A claim without proof: why, and what would prove it."""

    claim: Claim
    reason: str
    command: str


@dataclass(frozen=True, slots=True)
class GateJudgement:
    """The gate's judgement of a turn's claims."""

    result: GateResult
    proofs: tuple[tuple[Claim, Proof], ...] = ()
    missing: tuple[MissingProof, ...] = ()
    undecided_calls: tuple[str, ...] = ()
    refusals: int = 0
    progress: str = ""
    reason: str = ""

    def group_proofs(self) -> list[tuple[Proof, list[Claim]]]:
        """Return each proof with the claims that rest on it, so that equal proofs are signed once."""
        groups: dict[tuple[str, str, tuple[int, ...]], tuple[Proof, list[Claim]]] = {}
        for claim, proof in self.proofs:
            key = (claim.type.value, proof.validator, proof.entries)
            groups.setdefault(key, (proof, []))[1].append(claim)
        return list(groups.values())

    def record(self) -> dict[str, Any]:
        """Return the judgement as plain data."""
        return {
            "by": "evidence",
            "result": self.result.value,
            "claims": [claim.record() for claim, _ in self.proofs]
            + [missing.claim.record() for missing in self.missing],
            "missing": [
                {"words": missing.claim.words, "reason": missing.reason, "command": missing.command}
                for missing in self.missing
            ],
            "holes": list(self.undecided_calls)[:50],
            "refusals": self.refusals,
            "progress": self.progress,
            "reason": self.reason,
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
    claims: Sequence[Claim],
    turn: TurnEvidence,
    settings: EvidenceSettings,
    state: GateState,
    *,
    undecided_calls: Sequence[str] = (),
    stop_hook_active: bool = False,
    faults: Sequence[str] = (),
    has_disclaimer: bool = False,
) -> GateJudgement:
    """Return whether the agent may stop, and what is to be recorded.

    `faults` are those of the final block; `has_disclaimer` means that the message says plainly that its work was not
    checked.
    """
    # Without work asked for or done, `done` is small talk.
    claims = [claim for claim in claims if _is_binding(claim, turn)]
    proofs: list[tuple[Claim, Proof]] = []
    missing: list[MissingProof] = []
    for claim in claims:
        proof_or_missing = _prove_claim(claim, turn, settings, has_disclaimer=has_disclaimer)
        if isinstance(proof_or_missing, Proof):
            proofs.append((claim, proof_or_missing))
        else:
            missing.append(proof_or_missing)
    blocking_calls = tuple(undecided_calls) if claims and settings.coverage == "enforce" else ()
    if not missing and not blocking_calls and not faults:
        result = GateResult.PROVEN if proofs else GateResult.SILENT
        return GateJudgement(result, tuple(proofs), undecided_calls=tuple(undecided_calls))
    # Progress is what was learned, not what was said or edited: the same checks with the same results are no news.
    progress = digest_progress(turn)
    count = state.refusals if progress == state.progress or not state.refusals else 0
    is_exhausted = (
        count >= settings.refusals
        # The host says that another hook already refused this stop, and may do so for ever.
        or (stop_hook_active and not state.total_refusals)
        or state.total_refusals >= MAX_REFUSALS
    )
    reason = (
        ""
        if is_exhausted
        else _render_refusal(
            missing, blocking_calls, faults, gaps=turn.gaps, refusals_left=settings.refusals - count - 1
        )
    )
    return GateJudgement(
        GateResult.UNPROVEN if is_exhausted else GateResult.REFUSED,
        tuple(proofs),
        tuple(missing),
        tuple(undecided_calls),
        count if is_exhausted else count + 1,
        progress,
        reason,
    )


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


def _is_binding(claim: Claim, turn: TurnEvidence) -> bool:
    """Return whether a claim must be proven: work was asked for, or done."""
    if claim.type is ClaimType.DONE:
        return turn.contract is not None or bool(turn.edits)
    return turn.contract is not None


_TEST_CLAIM = compile_lazily(
    r"\b(?:tests?|specs?|suite|ci|pytest|jest|vitest)\b|\bpass(?:es|ed|ing)?\b|\bgreen\b|\bfailures\b", re.IGNORECASE
)
_BUILD_CLAIM = compile_lazily(r"\b(?:builds?|compil\w+|tsc|bundle)\b", re.IGNORECASE)
_LINT_CLAIM = compile_lazily(
    r"\b(?:lint\w*|mypy|ruff|eslint|type[- ]?check\w*|clippy|flake8|pylint|types?)\b", re.IGNORECASE
)
_COMMIT_CLAIM = compile_lazily(r"\b(?:committed|pushed|merged)\b", re.IGNORECASE)
# Says more than that something was changed: a disclaimer does not excuse it.
_SUCCESS_CLAIM = compile_lazily(
    r"\b(?:fix\w*|resolv\w+|solv\w+|repair\w*|works?|worked|working|correct\w*|done|complete\w*|finish\w*|ready"
    r"|success\w*|committed|pushed|merged|deployed|live|shipped|released|published|rolled out)\b",
    re.IGNORECASE,
)
_LIVE_CLAIM = compile_lazily(r"\b(?:deployed|deployment|live|shipped|released|published|rolled out)\b", re.IGNORECASE)


def _prove_claim(
    claim: Claim, turn: TurnEvidence, settings: EvidenceSettings, *, has_disclaimer: bool
) -> Proof | MissingProof:
    """Return the proof of a claim, or what is missing."""
    if claim.type is ClaimType.BLOCKED:
        return _try_validators(
            claim, turn, [(VALIDATORS["ladder_exhaustion_proof"], {})], suggest_next_attempt(turn, "blocked")
        )
    if claim.type is ClaimType.DELEGATION:
        return _try_validators(
            claim, turn, [(VALIDATORS["fetch_attempt_proof"], {})], suggest_next_attempt(turn, "delegation")
        )
    untouched_paths = _find_untouched_paths(turn)
    # A request about two files is not done when only one of them was touched.
    if untouched_paths and not _is_about_checks(claim):
        named = ", ".join(f"`{path}`" for path in untouched_paths[:4])
        command = (
            ""
            if all(path.lower().endswith(DOC_SUFFIXES) for path in untouched_paths)
            else _suggest_command(turn, "test")
        )
        return MissingProof(claim, f"nothing was done about {named}, which the request names", command)
    required: list[tuple[Validator, dict[str, str]]] = [
        (build_custom_validator(custom), {}) for custom in settings.validators
    ]
    for validator, arguments in required:
        # What users require is required of every claim, whatever else would prove it.
        proof = run_validator(validator, arguments, turn)
        if not proof.holds:
            command = next(custom.command for custom in settings.validators if custom.name == validator.name)
            return MissingProof(claim, proof.reason, command)
    kind, candidates = _select_validators(claim, turn)
    if has_disclaimer and turn.edits and not _is_about_checks(claim) and not _SUCCESS_CLAIM.search(claim.sentence):
        candidates.append((WORK_EDITED, {}))
    claims_all_tests = any("whole" in arguments for _, arguments in candidates)
    outcome = _try_validators(
        claim, turn, [*candidates, *required], _suggest_command(turn, kind, full_suite=claims_all_tests)
    )
    # The parent's own check after the sub-agent's unproven claim settles it; one before it does not.
    if isinstance(outcome, Proof) and max(outcome.entries, default=0) < turn.unproven_child:
        return MissingProof(
            claim,
            "a sub-agent ended without proof of its own claim, and nothing was checked since",
            _suggest_command(turn, "test"),
        )
    return outcome


def _is_about_checks(claim: Claim) -> bool:
    return bool(_TEST_CLAIM.search(claim.words) or _LINT_CLAIM.search(claim.words) or _BUILD_CLAIM.search(claim.words))


def _select_validators(claim: Claim, turn: TurnEvidence) -> tuple[str, list[tuple[Validator, dict[str, str]]]]:
    """Return the kind of check and the validators that could prove a claim, by what it is about."""
    text = claim.words
    if _TEST_CLAIM.search(text):
        return "test", [(VALIDATORS["tests_pass"], _read_test_count(claim))]
    if _BUILD_CLAIM.search(text):
        return "build", [(VALIDATORS["build_passes"], {}), (VALIDATORS["tests_pass"], {})]
    if _LINT_CLAIM.search(text):
        return "lint", [(VALIDATORS["lint_clean"], {})]
    if _COMMIT_CLAIM.search(text):
        further = r"\b(?:pushed|merged)\b"
        joined = re.search(rf"\bcommitted(?:,| and)(?: \w+)? {further[2:]}", claim.sentence, re.IGNORECASE)
        if joined or re.search(further, text, re.IGNORECASE):
            return "push", [(PUSHED, {})]
        return "commit", [(VALIDATORS["commit_exists"], {}), (PUSHED, {})]
    contract = turn.contract
    urls = contract.get_targets("urls") if contract else ()
    candidates: list[tuple[Validator, dict[str, str]]] = [(VALIDATORS["http_2xx"], {"url": url}) for url in urls]
    if _LIVE_CLAIM.search(text):
        return "live", [*candidates, *([] if urls else [(VALIDATORS["http_2xx"], {})]), (LAUNCHED, {})]
    candidates += [
        (validator, {})
        for validator in (
            VALIDATORS["tests_pass"],
            TESTS_NO_WORSE,
            VALIDATORS["build_passes"],
            VALIDATORS["lint_clean"],
        )
    ]
    if contract:
        candidates += [
            (VALIDATORS["command_zero_exit"], {"command": hint}) for hint in contract.get_targets("command_hints")
        ]
    if turn.edits:
        candidates.append((WORK_EXERCISED, {}))
    else:
        # Nothing was changed that a test could cover: the work is an edited document, or a command with an effect.
        candidates += [(DOCUMENT_EDITED, {}), (COMMAND_EFFECT, {})]
    return "test", candidates


_ALL_TESTS = compile_lazily(
    r"\b(?:all|every|whole|full|entire|complete)(?: of)?(?: the| our| your)?(?: existing| project's)? (?:tests?"
    r"|test suite|suite|specs?|test cases)\b",
    re.IGNORECASE,
)
_TEST_COUNT = compile_lazily(
    r"\b(?:all )?(?:of the )?(\d[\d,]{0,8})(?: of the)? (?:tests|test cases|specs)\b(?!\W+(?:fail|are failing|still"
    r"|were skipped|skipped))(?=[^.;]{0,30}\b(?:pass|green|succe))"
    r"|\b(\d[\d,]{0,8}) (?:tests? )?pass(?:ed|ing)?\b",
    re.IGNORECASE,
)


def _read_test_count(claim: Claim) -> dict[str, str]:
    """Return what a claim says about the number of tests: all of them, or a number."""
    match = _TEST_COUNT.search(claim.sentence)
    number = (match[1] or match[2]).replace(",", "") if match else ""
    if number:
        return {"number": number}
    return {"whole": "yes"} if _ALL_TESTS.search(claim.sentence) else {}


def _try_validators(
    claim: Claim, turn: TurnEvidence, candidates: Sequence[tuple[Validator, dict[str, str]]], command: str
) -> Proof | MissingProof:
    reasons = []
    for validator, arguments in candidates:
        proof = run_validator(validator, arguments, turn)
        if proof.holds:
            return proof
        reasons.append(proof.reason)
    named = {validator.name for validator, _ in candidates}
    for checked in turn.validator_passes:
        # The agent had it validated explicitly: that counts like a proof of ours, and goes stale like one.
        is_relevant = checked.validator in named or not _is_about_checks(claim)
        if checked.claim == claim.type.value and is_relevant and turn.is_still_valid(checked):
            return Proof(checked.validator, ProofStatus.PASS, entries=(checked.seq,))
    # A reason about something that ran helps more than one about something that did not.
    telling = [reason for reason in reasons if not reason.startswith("no ")]
    return MissingProof(claim, (telling or reasons)[0], command)


def _find_untouched_paths(turn: TurnEvidence) -> tuple[str, ...]:
    """Return the files that the request names and that no call since then was about."""
    if turn.contract is None:
        return ()
    ran_all_tests = any(
        not is_partial_test_run(run.argv) for call in turn.calls for run in call.successful_runs("test")
    )
    since = (*turn.earlier, *turn.calls)
    text = " ".join(f"{call.command} {call.target} {' '.join(call.edited)}" for call in since)
    names = {word.strip("'\"`,;:()") for word in text.split()}
    return tuple(
        path
        for path in turn.contract.get_targets("paths")
        # A route (`/login`) or a pair of words (`client/server`) looks like a path too; an ending makes it a file.
        if "*" not in path
        and posixpath.splitext(path)[1]
        and not any(is_same_path(path, name) or path.rstrip("/") in name for name in names)
        # A run of all tests covers a named test file too.
        and not (ran_all_tests and _TEST_FILE.search(path))
    )


_TEST_FILE = compile_lazily(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._-](?:test|tests|spec)\.\w+$")


_COMMAND_BY_EXTENSION = {
    "test": {
        **dict.fromkeys((".js", ".ts", ".tsx", ".jsx"), "npm test"),
        **dict.fromkeys((".c", ".cpp"), "ctest"),
        ".py": "pytest -q",
        ".go": "go test ./...",
        ".rs": "cargo test",
        ".java": "mvn -q test",
        ".kt": "./gradlew test",
        ".rb": "rspec",
    },
    "build": {
        **dict.fromkeys((".js", ".ts", ".tsx"), "npm run build"),
        **dict.fromkeys((".c", ".cpp"), "make"),
        ".go": "go build ./...",
        ".rs": "cargo build",
        ".java": "mvn -q compile",
        ".py": "python -m compileall -q .",
    },
    "lint": {
        **dict.fromkeys((".ts", ".tsx"), "npx tsc --noEmit"),
        ".py": "ruff check .",
        ".js": "npx eslint .",
        ".go": "go vet ./...",
        ".rs": "cargo clippy",
    },
}


def _suggest_command(turn: TurnEvidence, kind: str, *, full_suite: bool = False) -> str:
    """Return a command that would prove a claim: run or named before, the project's own, or the usual one.

    With `full_suite`, a command that runs only a part of the tests does not count.
    """
    if kind in ("commit", "push"):
        return f"git {kind}"
    if kind == "live":
        urls = turn.contract.get_targets("urls") if turn.contract else ()
        return f"curl -sS -o /dev/null -w '%{{http_code}}' {urls[0]}" if urls else ""
    if own_command := _find_own_command(turn, kind, full_suite=full_suite):
        return own_command
    if kind in turn.usual:
        return turn.usual[kind]
    named = turn.contract.get_targets("paths") if turn.contract else ()
    for path in (*reversed(turn.edit_paths), *named):
        if command := _COMMAND_BY_EXTENSION.get(kind, {}).get(posixpath.splitext(path)[1]):
            return command
    return {"test": "make test", "build": "make", "lint": "make lint"}.get(kind, "make test")


def _find_own_command(turn: TurnEvidence, kind: str, *, full_suite: bool) -> str:
    """Return the command of this kind that the agent ran last, or that the user named; empty if there is none."""
    for call in reversed(turn.calls):
        for run in call.runs:
            if run.kind == kind and not run.dry_run and not (full_suite and is_partial_test_run(run.argv)):
                return run.command_line
    # The person's own command comes before a usual one.
    for hint in turn.contract.get_targets("command_hints") if turn.contract else ():
        if any(run.kind == kind and not (full_suite and is_partial_test_run(run.argv)) for run in read_runs(hint)):
            return hint
    return ""


def _render_refusal(
    missing: Sequence[MissingProof],
    undecided_calls: Sequence[str],
    faults: Sequence[str],
    *,
    gaps: int,
    refusals_left: int,
) -> str:
    lines = [
        f"You said “{_shorten(missing[0].claim.words)}”; nothing you ran in this turn shows it."
        if missing
        else "This turn can't end yet."
    ]
    groups: dict[tuple[str, str], list[Claim]] = {}
    for proof in missing:
        groups.setdefault((proof.reason, proof.command), []).append(proof.claim)
    for (reason, command), claims in list(groups.items())[:3]:
        quoted = ", ".join(f"“{_shorten(claim.words)}”" for claim in claims[:3])
        lines.append(f"- claimed: {quoted} ({claims[0].type.value})")
        lines.append(f"  missing: {reason[:200]}")
        if command:
            lines.append(f"  {'prove it' if claims[0].type is ClaimType.DONE else 'try first'}: {command[:200]}")
    if len(lines) <= 9:
        lines += [f"- {fault[:200]}" for fault in faults[:2]]
    if undecided_calls and len(lines) <= 10:
        calls = "1 tool call has" if len(undecided_calls) == 1 else f"{len(undecided_calls)} tool calls have"
        lines.append(f"- {calls} no decision in the log: {', '.join(undecided_calls[:3])}"[:240])
    if gaps and len(lines) < MAX_REFUSAL_LINES - 1:
        lines.append(f"- {gaps} call{'' if gaps == 1 else 's'} could not be logged: run the check again")
    lines = lines[: MAX_REFUSAL_LINES - 1]
    lines.append(
        "Or say plainly what is not verified."
        + (
            f" {refusals_left} more refusal{'' if refusals_left == 1 else 's'}, then the turn ends as unproven."
            if refusals_left > 0
            else " After this the turn ends as unproven."
        )
    )
    return "\n".join(lines)


def _shorten(words: str) -> str:
    return " ".join(words.split())[:80]


def build_proof_record(claims: Sequence[Claim], proof: Proof) -> dict[str, Any]:
    """Return the body of a signed `validator_pass` entry."""
    assert proof.status is ProofStatus.PASS
    text = "; ".join(" ".join(claim.words.split()) for claim in claims)
    return {"claim": claims[0].type.value, "words": text[:500], **proof.record()}
