"""Findings of reviewers, and the council's verdict on one plan that sums them up."""

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import FindingError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.redaction import redact_text


class Level(enum.IntEnum):
    """Ordered by severity, so the worse of two is their `max`."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @classmethod
    def from_name(cls, name: object) -> "Level":
        """Return the level of this name, in any case."""
        try:
            return cls[str(name).strip().upper()]
        except KeyError:
            raise FindingError(f"expected a level of LOW, MEDIUM, HIGH or CRITICAL, found `{name}`") from None


BLOCKING_LEVELS = (Level.HIGH, Level.CRITICAL)
"""Levels that stop a commit."""

SARIF_FINGERPRINT = "verdikt/v1"
"""The SARIF fingerprint that holds a finding's id."""

# The file, then the first `:digits` after an optional drive letter, then a note that may contain anything. More than
# nine digits are part of a name: no file has that many lines.
_LOCATION = compile_lazily(r"((?:[A-Za-z]:(?=[\\/]))?.*?):([0-9]{1,9})(?::(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place to look at: a file, a line of it, a note."""

    file: str
    line: int | None = None
    note: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} — {self.note}" if self.note else place


def parse_evidence(spec: str) -> Evidence:
    """Parse `file`, `file:line` or `file:line:note`; a text without a line number is a file name as a whole."""
    match = _LOCATION.match(spec)
    # In `https://host:8080` the digits are a port and not a line.
    if match is None or "://" in match[1]:
        return Evidence(spec)
    return Evidence(match[1], int(match[2]), match[3] or "")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a reviewer. `supersedes` names the findings whose level it refines."""

    id: str
    level: str
    title: str
    agent: str = ""
    evidence: tuple[Evidence, ...] = ()
    rationale: str = ""
    created_at: float = 0.0
    supersedes: tuple[str, ...] = ()

    @property
    def severity(self) -> Level:
        """The level as a value that can be compared."""
        return Level[self.level]


def finding_id(level: str, agent: str, title: str) -> str:
    """Return the default id of a finding."""
    return sha256_hex(f"{level}|{agent}|{title}".encode("utf-8", "surrogatepass"))[:12]


def build_finding(
    *,
    level: str,
    title: str,
    agent: str = "",
    evidence: Iterable[str | Evidence] = (),
    rationale: str = "",
    id: str = "",
    now: float = 0.0,
) -> Finding:
    """Build a finding from a reviewer's report; evidence without a file is left out."""
    if not title.strip():
        raise FindingError("expected a title, found an empty one")
    level_name = Level.from_name(level).name
    places = [parse_evidence(item) if isinstance(item, str) else item for item in evidence]
    evidence_with_file = tuple(
        Evidence(_escape_surrogates(place.file), place.line, _redact_and_escape(place.note))
        for place in places
        if place.file.strip()
    )
    clean_title, clean_agent = _redact_and_escape(title), _escape_surrogates(agent)
    return Finding(
        _escape_surrogates(id) or finding_id(level_name, clean_agent, clean_title),
        level_name,
        clean_title,
        clean_agent,
        evidence_with_file,
        _redact_and_escape(rationale),
        now,
    )


def _redact_and_escape(text: str) -> str:
    """Return the text without secrets, which scanners like to quote."""
    return redact_text(_escape_surrogates(text))[0]


def _escape_surrogates(text: str) -> str:
    """Return the text with bytes that are not UTF-8 spelled out, so that any store accepts it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewer's look at a plan and its result; `status` is the exit status of a command, None for an agent."""

    reviewer: str
    status: int | None = None
    seconds: float = 0.0
    failure: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the review as plain data."""
        return {
            "reviewer": self.reviewer,
            "status": self.status,
            "seconds": self.seconds,
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class CouncilVerdict:
    """The findings for one plan. Level and summary always follow from the findings."""

    plan_hash: str
    findings: tuple[Finding, ...] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    reviews: tuple[Review, ...] = ()

    @property
    def level(self) -> str:
        """The worst level of the findings; LOW when there is none."""
        return max((finding.severity for finding in self.findings), default=Level.LOW).name

    @property
    def summary(self) -> str:
        """The number of findings of each level, the worst first."""
        if not self.findings:
            return "No findings."
        counts = {level: sum(f.severity is level for f in self.findings) for level in reversed(Level)}
        words = ", ".join(f"{count} {level.name.lower()}" for level, count in counts.items() if count)
        return f"{len(self.findings)} finding(s): {words}"

    @property
    def blocks(self) -> bool:
        """Whether it stops a commit that a guardrail protects."""
        return Level[self.level] in BLOCKING_LEVELS

    def has_failed(self, reviewer: str) -> bool:
        """Return whether a reviewer's last run ended without a report, and no person has cleared that since."""
        return any(review.reviewer == reviewer and review.failure for review in self.reviews)

    def record(self) -> dict[str, Any]:
        """Return the verdict as plain data, as it is stored on disk."""
        return {
            "plan_hash": self.plan_hash,
            "level": self.level,
            "summary": self.summary,
            "findings": [finding_to_record(finding) for finding in self.findings],
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            **({"reviews": [review.to_record() for review in self.reviews]} if self.reviews else {}),
        }


def finding_to_record(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data."""
    return {
        "id": finding.id,
        "level": finding.level,
        "title": finding.title,
        "agent": finding.agent,
        "evidence": [{"file": e.file, "line": e.line, "note": e.note} for e in finding.evidence],
        "rationale": finding.rationale,
        "created_at": finding.created_at,
        **({"supersedes": list(finding.supersedes)} if finding.supersedes else {}),
    }


def finding_from_record(record: Mapping[str, Any]) -> Finding:
    """Read a finding back; invalid fields are left out, but an unknown level counts as the worst."""
    level = str(record.get("level", "")).upper()
    lineage = record.get("supersedes")
    return Finding(
        id=str(record.get("id", "")),
        level=level if level in Level.__members__ else Level.CRITICAL.name,
        title=str(record.get("title", "")),
        agent=str(record.get("agent", "")),
        evidence=tuple(_evidence_from_record(item) for item in _only_mappings(record.get("evidence"))),
        rationale=str(record.get("rationale", "")),
        created_at=parse_timestamp(record.get("created_at")),
        supersedes=tuple(map(str, lineage)) if isinstance(lineage, list) else (),
    )


def reviews_from_record(value: Any) -> tuple[Review, ...]:
    """Read reviews back; one with invalid fields counts as failed."""
    reviews = []
    for item in _only_mappings(value):
        status, failure = item.get("status"), item.get("failure")
        is_invalid = not isinstance(item.get("reviewer"), str) or not isinstance(failure, str)
        reviews.append(
            Review(
                str(item.get("reviewer", "")),
                status if isinstance(status, int) and not isinstance(status, bool) else None,
                parse_timestamp(item.get("seconds")),
                "unreadable" if is_invalid else str(failure),
            )
        )
    return tuple(reviews)


def _evidence_from_record(record: Mapping[str, Any]) -> Evidence:
    line = record.get("line")
    is_number = isinstance(line, int) and not isinstance(line, bool)
    return Evidence(str(record.get("file", "")), line if is_number else None, str(record.get("note", "")))


def _only_mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def parse_timestamp(value: Any) -> float:
    """Read a time back; 0 when it is invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return 0.0
    return float(value)
