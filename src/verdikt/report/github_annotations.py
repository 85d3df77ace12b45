"""Render findings as GitHub workflow commands, which a build shows beside the lines concerned."""

from collections.abc import Sequence

from verdikt.model.finding import Evidence, Finding, Level
from verdikt.report.findings import sort_by_severity

_COMMAND_BY_LEVEL = {Level.LOW: "notice", Level.MEDIUM: "warning", Level.HIGH: "error", Level.CRITICAL: "error"}


def render_annotations(findings: Sequence[Finding]) -> list[str]:
    """Return one command for each place of each finding, the worst first."""
    return [
        _render_annotation(finding, place)
        for finding in sort_by_severity(findings)
        for place in finding.evidence or (None,)
    ]


def _render_annotation(finding: Finding, place: Evidence | None) -> str:
    properties = {"title": f"{finding.level} {finding.agent}".strip()}
    if place is not None:
        properties = {"file": place.file, **({"line": str(place.line)} if place.line else {}), **properties}
    joined = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    notes = [finding.title, place.note if place else "", finding.rationale]
    return f"::{_COMMAND_BY_LEVEL[finding.severity]} {joined}::{_escape_data(chr(10).join(filter(None, notes)))}"


def _escape_data(text: str) -> str:
    # The percent sign first, or it would escape the escapes. A raw line break would start a command of its own.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
