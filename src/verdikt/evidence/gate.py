"""The gate: claims held against the contract and the log of the turn. Pure; whoever calls it reads and writes.

It does the agent's paperwork: it looks for the evidence itself. Found: silence. Not found: a refusal that says what is
claimed, what is missing and which command would prove it.
"""

import enum
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from verdikt.evidence.attempt import next_way
from verdikt.evidence.claims import Claim, ClaimType
from verdikt.evidence.program import selects
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.turn import TurnEvidence, same_path
from verdikt.evidence.validator import VALIDATORS, Proof, ProofStatus, Validator, custom_validator, run
from verdikt.evidence.work import DOCUMENT, EDITED, EFFECT, EXERCISED, LAUNCHED, NO_WORSE, PUSHED
from verdikt.model.canonical import digest
from verdikt.model.regex import regex
from verdikt.model.tree import DOCS
from verdikt.model.value import Value

LINES = 12
"""Of a refusal, at most."""

MOST = 12
"""Refusals in one turn, whatever new evidence there is: nothing goes round for ever."""


class GateResult(enum.StrEnum):
    """What came of a stop."""

    SILENT = "silent"  # nothing is claimed, or nothing was asked for
    PROVEN = "proven"
    REFUSED = "refused"
    UNPROVEN = "ended_unproven"


class Missing(Value):
    """A claim without proof: why, and what would prove it."""

    claim: Claim
    reason: str
    command: str


class GateJudgement(Value):
    """What the gate makes of a turn's claims."""

    result: GateResult
    proofs: tuple[tuple[Claim, Proof], ...] = ()
    missing: tuple[Missing, ...] = ()
    holes: tuple[str, ...] = ()
    refusals: int = 0
    progress: str = ""
    reason: str = ""

    def proven(self) -> list[tuple[Proof, list[Claim]]]:
        """Each proof with the claims that rest on it; what rests on the same is signed once."""
        found: dict[tuple[str, str, tuple[int, ...]], tuple[Proof, list[Claim]]] = {}
        for claim, proof in self.proofs:
            key = (claim.type.value, proof.validator, proof.entries)
            found.setdefault(key, (proof, []))[1].append(claim)
        return list(found.values())

    def record(self) -> dict[str, Any]:
        """The judgement as plain data."""
        return {
            "by": "evidence",
            "result": self.result.value,
            "claims": [claim.record() for claim, _ in self.proofs] + [one.claim.record() for one in self.missing],
            "missing": [
                {"words": one.claim.words, "reason": one.reason, "command": one.command} for one in self.missing
            ],
            "holes": list(self.holes)[:50],
            "refusals": self.refusals,
            "progress": self.progress,
            "reason": self.reason,
        }


class GateState(Value):
    """What the log keeps of a turn's refusals so far."""

    refusals: int = 0  # since there was new evidence
    progress: str = ""
    refused: int = 0  # in the whole turn

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "GateState":
        """From the projection."""
        return cls(int(record.get("refusals", 0)), str(record.get("progress", "")), int(record.get("refused", 0)))


def judge_turn(
    claims: Sequence[Claim],
    turn: TurnEvidence,
    settings: EvidenceSettings,
    state: GateState,
    *,
    holes: Sequence[str] = (),
    stop_hook_active: bool = False,
    faults: Sequence[str] = (),
    admitted: bool = False,
) -> GateJudgement:
    """Whether the agent may stop, and what is to be recorded.

    `faults` are those of the final block; `admitted`: the message says plainly that its work was not checked.
    """
    claims = [claim for claim in claims if _binding(claim, turn)]
    proofs: list[tuple[Claim, Proof]] = []
    missing: list[Missing] = []
    for claim in claims:
        found = _prove(claim, turn, settings, admitted=admitted)
        if isinstance(found, Proof):
            proofs.append((claim, found))
        else:
            missing.append(found)
    open_holes = tuple(holes) if claims and settings.coverage == "enforce" else ()
    if not missing and not open_holes and not faults:
        result = GateResult.PROVEN if proofs else GateResult.SILENT
        return GateJudgement(result, tuple(proofs), holes=tuple(holes))
    # Progress is what was learned, not what was said or edited: the same checks with the same results are no news.
    progress = progress_of(turn)
    count = state.refusals if progress == state.progress or not state.refusals else 0
    spent = count >= settings.refusals or (stop_hook_active and not state.refused) or state.refused >= MOST
    reason = "" if spent else _refusal(missing, open_holes, faults, gaps=turn.gaps, left=settings.refusals - count - 1)
    return GateJudgement(
        GateResult.UNPROVEN if spent else GateResult.REFUSED,
        tuple(proofs),
        tuple(missing),
        tuple(holes),
        count if spent else count + 1,
        progress,
        reason,
    )


def progress_of(turn: TurnEvidence) -> str:
    """A digest of what the turn's checks have shown so far; editing and talking do not change it."""
    shown: set[str] = set()
    for call in turn.calls:
        for one in call.runs:
            if one.kind != "look" and not one.dry:
                counts = (call.tests.passed, call.tests.failed) if call.tests and one.kind == "test" else ()
                shown.add(f"{one.key} {call.ok and one.speaks} {counts}")
        if call.kind in ("fetch", "mcp"):
            shown.add(f"{call.tool} {call.target} {call.http} {call.failed}")
    return digest(sorted(shown))


def _binding(claim: Claim, turn: TurnEvidence) -> bool:
    """Whether a claim is held against anything: work was asked for, or done."""
    if claim.type is ClaimType.DONE:
        return turn.contract is not None or bool(turn.edits)
    return turn.contract is not None


_TESTS = regex(
    r"\b(?:tests?|specs?|suite|ci|pytest|jest|vitest)\b|\bpass(?:es|ed|ing)?\b|\bgreen\b|\bfailures\b", re.IGNORECASE
)
_BUILD = regex(r"\b(?:builds?|compil\w+|tsc|bundle)\b", re.IGNORECASE)
_LINT = regex(r"\b(?:lint\w*|mypy|ruff|eslint|type[- ]?check\w*|clippy|flake8|pylint|types?)\b", re.IGNORECASE)
_COMMIT = regex(r"\b(?:committed|pushed|merged)\b", re.IGNORECASE)
_SUCCESS = regex(
    r"\b(?:fix\w*|resolv\w+|solv\w+|repair\w*|works?|worked|working|correct\w*|done|complete\w*|finish\w*|ready|success\w*"
    r"|committed|pushed|merged|deployed|live|shipped|released|published|rolled out)\b",
    re.IGNORECASE,
)
"""More than that something was changed: whoever says this has seen it, or has not."""
_LIVE = regex(r"\b(?:deployed|deployment|live|shipped|released|published|rolled out)\b", re.IGNORECASE)


def _prove(claim: Claim, turn: TurnEvidence, settings: EvidenceSettings, *, admitted: bool) -> Proof | Missing:
    """The proof of a claim, or what is missing."""
    if claim.type is ClaimType.BLOCKED:
        return _one_of(claim, turn, [(VALIDATORS["ladder_exhaustion_proof"], {})], next_way(turn, "blocked"))
    if claim.type is ClaimType.DELEGATION:
        return _one_of(claim, turn, [(VALIDATORS["fetch_attempt_proof"], {})], next_way(turn, "delegation"))
    untouched = _untouched(turn)
    if untouched and not _about_checks(claim):
        named = ", ".join(f"`{path}`" for path in untouched[:4])
        command = "" if all(path.lower().endswith(DOCS) for path in untouched) else _command(turn, "test")
        return Missing(claim, f"nothing was done about {named}, which the request names", command)
    wanted: list[tuple[Validator, dict[str, str]]] = [(custom_validator(one), {}) for one in settings.validators]
    for validator, arguments in wanted:
        # What users require is required of every claim, whatever else would prove it.
        proof = run(validator, arguments, turn)
        if not proof.holds:
            command = next(one.command for one in settings.validators if one.name == validator.name)
            return Missing(claim, proof.reason, command)
    kind, ways = _ways(claim, turn)
    if admitted and turn.edits and not _about_checks(claim) and not _SUCCESS.search(claim.sentence):
        ways.append((EDITED, {}))
    whole = any("whole" in arguments for _, arguments in ways)
    found = _one_of(claim, turn, [*ways, *wanted], _command(turn, kind, whole=whole))
    if isinstance(found, Proof) and max(found.entries, default=0) < turn.unproven_child:
        return Missing(
            claim,
            "a sub-agent ended without proof of its own claim, and nothing was checked since",
            _command(turn, "test"),
        )
    return found


def _about_checks(claim: Claim) -> bool:
    return bool(_TESTS.search(claim.words) or _LINT.search(claim.words) or _BUILD.search(claim.words))


def _ways(claim: Claim, turn: TurnEvidence) -> tuple[str, list[tuple[Validator, dict[str, str]]]]:
    """The validators that could prove a claim, by what it is about."""
    words = claim.words
    if _TESTS.search(words):
        return "test", [(VALIDATORS["tests_pass"], _how_many(claim))]
    if _BUILD.search(words):
        return "build", [(VALIDATORS["build_passes"], {}), (VALIDATORS["tests_pass"], {})]
    if _LINT.search(words):
        return "lint", [(VALIDATORS["lint_clean"], {})]
    if _COMMIT.search(words):
        further = r"\b(?:pushed|merged)\b"
        joined = re.search(rf"\bcommitted(?:,| and)(?: \w+)? {further[2:]}", claim.sentence, re.IGNORECASE)
        if joined or re.search(further, words, re.IGNORECASE):
            return "push", [(PUSHED, {})]
        return "commit", [(VALIDATORS["commit_exists"], {}), (PUSHED, {})]
    contract = turn.contract
    urls = contract.named("urls") if contract else ()
    ways: list[tuple[Validator, dict[str, str]]] = [(VALIDATORS["http_2xx"], {"url": url}) for url in urls]
    if _LIVE.search(words):
        return "live", [*ways, *([] if urls else [(VALIDATORS["http_2xx"], {})]), (LAUNCHED, {})]
    ways += [
        (one, {}) for one in (VALIDATORS["tests_pass"], NO_WORSE, VALIDATORS["build_passes"], VALIDATORS["lint_clean"])
    ]
    if contract:
        ways += [(VALIDATORS["command_zero_exit"], {"command": hint}) for hint in contract.named("command_hints")]
    if turn.edits:
        ways.append((EXERCISED, {}))
    else:
        # Nothing was changed that a test could be about: an edit of a document, or a command with an effect, is the work.
        ways += [(DOCUMENT, {}), (EFFECT, {})]
    return "test", ways


_ALL = regex(
    r"\b(?:all|every|whole|full|entire|complete)(?: of)?(?: the| our| your)?(?: existing| project's)? (?:tests?|test suite|suite|specs?|test cases)\b",
    re.IGNORECASE,
)
_NUMBER = regex(
    r"\b(?:all )?(?:of the )?(\d[\d,]{0,8})(?: of the)? (?:tests|test cases|specs)\b(?!\W+(?:fail|are failing|still|were skipped|skipped))(?=[^.;]{0,30}\b(?:pass|green|succe))"
    r"|\b(\d[\d,]{0,8}) (?:tests? )?pass(?:ed|ing)?\b",
    re.IGNORECASE,
)


def _how_many(claim: Claim) -> dict[str, str]:
    """What a claim about tests says of how many there are: all of them, or a number."""
    found = _NUMBER.search(claim.sentence)
    number = (found[1] or found[2]).replace(",", "") if found else ""
    if number:
        return {"number": number}
    return {"whole": "yes"} if _ALL.search(claim.sentence) else {}


def _one_of(
    claim: Claim, turn: TurnEvidence, ways: Sequence[tuple[Validator, dict[str, str]]], command: str
) -> Proof | Missing:
    reasons = []
    for validator, arguments in ways:
        proof = run(validator, arguments, turn)
        if proof.holds:
            return proof
        reasons.append(proof.reason)
    named = {validator.name for validator, _ in ways}
    for one in turn.passes:
        # Somebody had it checked by name: it counts like a find of ours, and goes stale like one.
        about = one.validator in named or not _about_checks(claim)
        if one.claim == claim.type.value and about and turn.standing(one):
            return Proof(one.validator, ProofStatus.PASS, entries=(one.seq,))
    telling = [reason for reason in reasons if not reason.startswith("no ")]
    return Missing(claim, (telling or reasons)[0], command)


def _untouched(turn: TurnEvidence) -> tuple[str, ...]:
    """The files that the request names and nothing since then was about."""
    if turn.contract is None:
        return ()
    everything = any(not selects(one.argv) for call in turn.calls for one in call.speaking("test"))
    since = (*turn.earlier, *turn.calls)
    seen = " ".join(f"{call.command} {call.target} {' '.join(call.edited)}" for call in since)
    names = {word.strip("'\"`,;:()") for word in seen.split()}
    return tuple(
        path
        for path in turn.contract.named("paths")
        # A route (`/login`) or a pair of words (`client/server`) looks like a path too; an ending makes it a file.
        if "*" not in path
        and posixpath.splitext(path)[1]
        and not any(same_path(path, name) or path.rstrip("/") in name for name in names)
        # Whoever runs all tests runs those of a file that is named.
        and not (everything and _TEST_FILE.search(path))
    )


_TEST_FILE = regex(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._-](?:test|tests|spec)\.\w+$")


_BY_ENDING = {
    "test": {".py": "pytest -q", ".js": "npm test", ".ts": "npm test", ".tsx": "npm test", ".jsx": "npm test", ".go": "go test ./...",
             ".rs": "cargo test", ".java": "mvn -q test", ".kt": "./gradlew test", ".c": "ctest", ".cpp": "ctest", ".rb": "rspec"},
    "build": {".ts": "npm run build", ".tsx": "npm run build", ".js": "npm run build", ".go": "go build ./...", ".rs": "cargo build",
              ".java": "mvn -q compile", ".c": "make", ".cpp": "make", ".py": "python -m compileall -q ."},
    "lint": {".py": "ruff check .", ".js": "npx eslint .", ".ts": "npx tsc --noEmit", ".tsx": "npx tsc --noEmit", ".go": "go vet ./...",
             ".rs": "cargo clippy"},
}  # fmt: skip


def _command(turn: TurnEvidence, kind: str, *, whole: bool = False) -> str:
    """The command that would prove it: one that was run or named before, the project's own, or the usual one for the files.

    `whole`: one that runs a part of the tests would not.
    """
    if kind in ("commit", "push"):
        return f"git {kind}"
    if kind == "live":
        urls = turn.contract.named("urls") if turn.contract else ()
        return f"curl -sS -o /dev/null -w '%{{http_code}}' {urls[0]}" if urls else ""
    for call in reversed(turn.calls):
        for one in call.runs:
            if one.kind == kind and not one.dry and not (whole and selects(one.argv)):
                return one.key
    hints = turn.contract.named("command_hints") if turn.contract else ()
    from verdikt.evidence.ran import read_runs

    for hint in hints:
        if any(one.kind == kind and not (whole and selects(one.argv)) for one in read_runs(hint)):
            return hint
    if kind in turn.usual:
        return turn.usual[kind]
    named = turn.contract.named("paths") if turn.contract else ()
    for path in (*reversed(turn.written), *named):
        if command := _BY_ENDING.get(kind, {}).get(posixpath.splitext(path)[1]):
            return command
    return {"test": "make test", "build": "make", "lint": "make lint"}.get(kind, "make test")


def _refusal(missing: Sequence[Missing], holes: Sequence[str], faults: Sequence[str], *, gaps: int, left: int) -> str:
    lines = ["this turn claims what its log does not prove"]
    alike: dict[tuple[str, str], list[Claim]] = {}
    for one in missing:
        alike.setdefault((one.reason, one.command), []).append(one.claim)
    for (reason, command), claims in list(alike.items())[:3]:
        said = ", ".join(f"“{' '.join(claim.words.split())[:80]}”" for claim in claims[:3])
        lines.append(f"- claimed: {said} ({claims[0].type.value})")
        lines.append(f"  missing: {reason[:200]}")
        if command:
            lines.append(f"  {'prove it' if claims[0].type is ClaimType.DONE else 'try first'}: {command[:200]}")
    if len(lines) <= 9:
        lines += [f"- {fault[:200]}" for fault in faults[:2]]
    if holes and len(lines) <= 10:
        calls = "1 tool call has" if len(holes) == 1 else f"{len(holes)} tool calls have"
        lines.append(f"- {calls} no decision in the log: {', '.join(holes[:3])}"[:240])
    if gaps and len(lines) < LINES - 1:
        lines.append(f"- {gaps} call{'' if gaps == 1 else 's'} could not be logged: run the check again")
    lines = lines[: LINES - 1]
    lines.append(
        "Or say plainly what is not verified."
        + (f" {left} more before this turn ends as unproven." if left > 0 else " After this the turn ends as unproven.")
    )
    return "\n".join(lines)


def proof_record(claims: Sequence[Claim], proof: Proof) -> dict[str, Any]:
    """What a signed `validator_pass` entry says."""
    assert proof.status is ProofStatus.PASS
    words = "; ".join(" ".join(claim.words.split()) for claim in claims)
    return {"claim": claims[0].type.value, "words": words[:500], **proof.record()}
