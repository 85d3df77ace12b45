"""Render council verdicts as SARIF 2.1.0, which code hosts and editors read."""

from collections.abc import Sequence
from typing import Any

from verdikt.model.finding import SARIF_FINGERPRINT, CouncilVerdict, Evidence, Finding, Level
from verdikt.report.findings import sort_by_severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

# SARIF has no level above error: the exact one is in `properties`, and the severity score is what code hosts show.
_SARIF_LEVELS = {Level.LOW: "note", Level.MEDIUM: "warning", Level.HIGH: "error", Level.CRITICAL: "error"}
_SECURITY_SEVERITIES = {Level.LOW: "2.0", Level.MEDIUM: "5.0", Level.HIGH: "8.0", Level.CRITICAL: "9.5"}
_URI_SAFE_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def to_sarif(verdicts: Sequence[CouncilVerdict], version: str = "") -> dict[str, Any]:
    """Return one run for each reviewer, the worst finding first; importing it gives the same findings again."""
    findings = [finding for verdict in verdicts for finding in sort_by_severity(verdict.findings)]
    agents = list(dict.fromkeys(finding.agent for finding in findings)) or [""]
    runs = [_build_run(agent, [finding for finding in findings if finding.agent == agent], version) for agent in agents]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _build_run(agent: str, findings: Sequence[Finding], version: str) -> dict[str, Any]:
    unique = list({finding.id: finding for finding in findings}.values())
    driver: dict[str, Any] = {"name": agent or "verdikt", "rules": [_build_rule(finding) for finding in unique]}
    if version:
        driver["properties"] = {"verdikt": version}
    places = {finding.id: index for index, finding in enumerate(unique)}
    return {"tool": {"driver": driver}, "results": [_build_result(finding, places[finding.id]) for finding in unique]}


def _build_rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.id,
        "shortDescription": {"text": finding.title},
        "defaultConfiguration": {"level": _SARIF_LEVELS[finding.severity]},
        "properties": {"security-severity": _SECURITY_SEVERITIES[finding.severity]},
    }
    return rule | ({"fullDescription": {"text": finding.rationale}} if finding.rationale else {})


def _build_result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": finding.title},
        "locations": [_build_location(place) for place in finding.evidence],
        "partialFingerprints": {SARIF_FINGERPRINT: finding.id},
        "properties": {"level": finding.level, "created_at": finding.created_at},
    }


def _build_location(place: Evidence) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": path_to_uri(place.file)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    return location | ({"message": {"text": place.note}} if place.note else {})


def path_to_uri(path: str) -> str:
    """Return a path as a URI reference, percent-encoded where needed."""
    # Also on other systems: a report may have been written on Windows.
    path = path.replace("\\", "/")
    if path.startswith("/") or path[1:3] == ":/":
        path = "file:///" + path.lstrip("/")
        return path[:7] + _percent_encode(path[7:])
    return _percent_encode(path)


def _percent_encode(path: str) -> str:
    data = path.encode("utf-8", "surrogateescape" if _is_surrogate_escaped(path) else "backslashreplace")
    return "".join(chr(byte) if byte in _URI_SAFE_BYTES else f"%{byte:02X}" for byte in data)


def _is_surrogate_escaped(path: str) -> bool:
    """Return whether every surrogate in the path stands for a byte that is not UTF-8, as Python decodes names."""
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in path)
