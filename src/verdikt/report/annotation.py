"""Findings as workflow commands, which a build shows beside the line they are about."""

from collections.abc import Sequence

from verdikt.model.finding import Evidence, Finding, Level
from verdikt.report.findings import by_severity

_WORDS = {Level.LOW: "notice", Level.MEDIUM: "warning", Level.HIGH: "error", Level.CRITICAL: "error"}


def annotations(findings: Sequence[Finding]) -> list[str]:
    """One command for each place of each finding, the worst first."""
    return [_command(finding, place) for finding in by_severity(findings) for place in finding.evidence or (None,)]


def _command(finding: Finding, place: Evidence | None) -> str:
    properties = {"title": f"{finding.level} {finding.agent}".strip()}
    if place is not None:
        properties = {"file": place.file, **({"line": str(place.line)} if place.line else {}), **properties}
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    notes = [finding.title, place.note if place else "", finding.rationale]
    return f"::{_WORDS[finding.severity]} {listed}::{_data(chr(10).join(filter(None, notes)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
