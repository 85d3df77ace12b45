"""What a reviewer found, and the roll-up of what all of them found for one plan."""

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
        """The level that a word names, in any case."""
        try:
            return cls[str(name).strip().upper()]
        except KeyError:
            raise FindingError(f"expected a level of LOW, MEDIUM, HIGH or CRITICAL, found `{name}`") from None


BLOCKING_LEVELS = (Level.HIGH, Level.CRITICAL)
"""Levels that stop a commit."""

SARIF_FINGERPRINT = "verdikt/v1"
"""The fingerprint under which SARIF of ours keeps a finding's id."""

_LOCATION = compile_lazily(r"((?:[A-Za-z]:(?=[\\/]))?.*?):([0-9]{1,9})(?::(.*))?\Z", re.DOTALL)
"""file, then the first `:digits` after an optional drive letter, then a note that may hold anything.

More digits than any file has lines are part of a name.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where to look: a file, a line of it, a note."""

    file: str
    line: int | None = None
    note: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} — {self.note}" if self.note else place


def parse_evidence(spec: str) -> Evidence:
    """Evidence from `file`, `file:line` or `file:line:note`; whatever has no line number is a file name as a whole."""
    found = _LOCATION.match(spec)
    if found is None or "://" in found[1]:  # the port of an address is no line
        return Evidence(spec)
    return Evidence(found[1], int(found[2]), found[3] or "")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a reviewer found. `supersedes` names the finding whose level it refines."""

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
        """The level as something that can be compared."""
        return Level[self.level]


def finding_id(level: str, agent: str, title: str) -> str:
    """The id that a finding has unless its reviewer gives it another."""
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
    """A finding from what a reviewer says; evidence without a file is left out."""
    if not title.strip():
        raise FindingError("expected a title, found an empty one")
    word = Level.from_name(level).name
    places = [parse_evidence(item) if isinstance(item, str) else item for item in evidence]
    kept = tuple(
        Evidence(_escape_surrogates(place.file), place.line, _redact_and_escape(place.note))
        for place in places
        if place.file.strip()
    )
    clean, who = _redact_and_escape(title), _escape_surrogates(agent)
    return Finding(
        _escape_surrogates(id) or finding_id(word, who, clean),
        word,
        clean,
        who,
        kept,
        _redact_and_escape(rationale),
        now,
    )


def _redact_and_escape(text: str) -> str:
    """The text without secrets: scanners like to quote them."""
    return redact_text(_escape_surrogates(text))[0]


def _escape_surrogates(text: str) -> str:
    """The text with bytes that are no UTF-8 written out, so that it can be kept anywhere."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Review:
    """That a reviewer looked at a plan, and how that ended; `status` is a command's own, None for an agent."""

    reviewer: str
    status: int | None = None
    seconds: float = 0.0
    failure: str = ""

    def to_record(self) -> dict[str, Any]:
        """The review as plain data."""
        return {
            "reviewer": self.reviewer,
            "status": self.status,
            "seconds": self.seconds,
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class CouncilVerdict:
    """What was found for one plan. Level and summary always follow from the findings."""

    plan_hash: str
    findings: tuple[Finding, ...] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    reviews: tuple[Review, ...] = ()

    @property
    def level(self) -> str:
        """The worst level found; LOW when nothing was."""
        return max((finding.severity for finding in self.findings), default=Level.LOW).name

    @property
    def summary(self) -> str:
        """How many findings of which level, the worst first."""
        if not self.findings:
            return "No findings."
        counts = {level: sum(f.severity is level for f in self.findings) for level in reversed(Level)}
        words = ", ".join(f"{count} {level.name.lower()}" for level, count in counts.items() if count)
        return f"{len(self.findings)} finding(s): {words}"

    @property
    def blocks(self) -> bool:
        """Whether it stops a commit where a guardrail stands."""
        return Level[self.level] in BLOCKING_LEVELS

    def has_reported(self, reviewer: str) -> bool:
        """Whether a reviewer has said something: that it is done, or a finding."""
        done = any(review.reviewer == reviewer and not review.failure for review in self.reviews)
        return done or any(finding.agent == reviewer for finding in self.findings)

    def record(self) -> dict[str, Any]:
        """The verdict as plain data, as it is kept on disk."""
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
    """A finding as plain data."""
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
    """A finding read back; what is odd in it is left out, but an unknown level counts as the worst."""
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
    """Reviews read back; what is odd in one makes it a failure."""
    found = []
    for item in _only_mappings(value):
        status, failure = item.get("status"), item.get("failure")
        odd = not isinstance(item.get("reviewer"), str) or not isinstance(failure, str)
        found.append(
            Review(
                str(item.get("reviewer", "")),
                status if isinstance(status, int) and not isinstance(status, bool) else None,
                parse_timestamp(item.get("seconds")),
                "unreadable" if odd else str(failure),
            )
        )
    return tuple(found)


def _evidence_from_record(record: Mapping[str, Any]) -> Evidence:
    line = record.get("line")
    whole = isinstance(line, int) and not isinstance(line, bool)
    return Evidence(str(record.get("file", "")), line if whole else None, str(record.get("note", "")))


def _only_mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def parse_timestamp(value: Any) -> float:
    """A moment read back; 0 when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return 0.0
    return float(value)
