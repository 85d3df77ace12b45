"""Council verdicts as SARIF 2.1.0, which code hosts and editors read."""

from collections.abc import Sequence
from typing import Any

from verdikt.model.finding import FINGERPRINT, CouncilVerdict, Evidence, Finding, Level
from verdikt.report.findings import by_severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Level.LOW: "note", Level.MEDIUM: "warning", Level.HIGH: "error", Level.CRITICAL: "error"}
_SCORES = {Level.LOW: "2.0", Level.MEDIUM: "5.0", Level.HIGH: "8.0", Level.CRITICAL: "9.5"}
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def sarif(verdicts: Sequence[CouncilVerdict], version: str = "") -> dict[str, Any]:
    """One run for each reviewer, the worst finding first; the same findings come back from it when it is imported."""
    findings = [finding for verdict in verdicts for finding in by_severity(verdict.findings)]
    agents = list(dict.fromkeys(finding.agent for finding in findings)) or [""]
    runs = [_run(agent, [finding for finding in findings if finding.agent == agent], version) for agent in agents]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _run(agent: str, findings: Sequence[Finding], version: str) -> dict[str, Any]:
    unique = list({finding.id: finding for finding in findings}.values())
    driver: dict[str, Any] = {"name": agent or "verdikt", "rules": [_rule(finding) for finding in unique]}
    if version:
        driver["properties"] = {"verdikt": version}
    places = {finding.id: index for index, finding in enumerate(unique)}
    return {"tool": {"driver": driver}, "results": [_result(finding, places[finding.id]) for finding in unique]}


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.id,
        "shortDescription": {"text": finding.title},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": {"security-severity": _SCORES[finding.severity]},
    }
    return rule | ({"fullDescription": {"text": finding.rationale}} if finding.rationale else {})


def _result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.title},
        "locations": [_location(place) for place in finding.evidence],
        "partialFingerprints": {FINGERPRINT: finding.id},
        "properties": {"level": finding.level, "created_at": finding.created_at},
    }


def _location(place: Evidence) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(place.file)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    return location | ({"message": {"text": place.note}} if place.note else {})


def uri(path: str) -> str:
    """A path as a URI reference; what a URI cannot hold is percent-encoded."""
    path = path.replace("\\", "/")
    if path.startswith("/") or path[1:3] == ":/":
        path = "file:///" + path.lstrip("/")
        return path[:7] + _encoded(path[7:])
    return _encoded(path)


def _encoded(path: str) -> str:
    data = path.encode("utf-8", "surrogateescape" if _escaped(path) else "backslashreplace")
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in data)


def _escaped(path: str) -> bool:
    """Whether the path holds bytes that are no UTF-8, as the system gives them."""
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in path)
