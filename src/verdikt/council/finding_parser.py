"""Parse a reviewer's output as findings: SARIF 2.1.0, or JSON in verdikt's own format."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from verdikt.council.sarif import from_sarif
from verdikt.errors import FindingError
from verdikt.model.finding import Evidence, Finding, build_finding

# A limit on memory: the whole document is parsed at once.
MAX_BYTES = 64 * 1024 * 1024


def read_findings(data: bytes, *, agent: str = "", root: str = "") -> list[Finding]:
    """Return the findings in a reviewer's output; raise `FindingError` when it is neither SARIF nor findings.

    `agent` is used instead of a name that the output does not give. Findings are `[{level, title, …}]` or
    `{"findings": […]}`, with evidence as texts (`file:line:note`) or as mappings.
    """
    if len(data) > MAX_BYTES:
        raise FindingError(f"expected at most {MAX_BYTES} bytes of findings, found more")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FindingError(f"expected SARIF or findings as JSON, found something else: {error}") from error
    if isinstance(document, Mapping) and "runs" in document:
        return from_sarif(document, agent=agent, root=root)
    listed = document.get("findings") if isinstance(document, Mapping) else document
    if not isinstance(listed, list):
        raise FindingError("expected SARIF (`runs`) or findings (`findings`, or a list), found something else")
    findings: dict[str, Finding] = {}
    for number, item in enumerate(listed, 1):
        finding = _parse_finding(item, number, agent)
        if finding.id in findings:
            # The same problem in several places, reported once for each.
            places = (*findings[finding.id].evidence, *finding.evidence)
            finding = replace(finding, evidence=tuple(dict.fromkeys(places)))
        findings[finding.id] = finding
    return list(findings.values())


def _parse_finding(item: Any, number: int, agent: str) -> Finding:
    if not isinstance(item, Mapping):
        raise FindingError(f"finding {number}: expected a mapping with `level` and `title`, found something else")
    try:
        return build_finding(
            level=str(item.get("level", "")),
            title=str(item.get("title", "")),
            agent=str(item.get("agent") or agent),
            evidence=[_parse_evidence_item(place) for place in item.get("evidence") or ()],
            rationale=str(item.get("rationale") or ""),
            id=str(item.get("id") or ""),
        )
    except (FindingError, TypeError) as error:
        raise FindingError(f"finding {number}: {error}") from error


def _parse_evidence_item(place: Any) -> str | Evidence:
    if isinstance(place, Mapping):
        line = place.get("line")
        # `true` is an int for Python.
        is_number = isinstance(line, int) and not isinstance(line, bool)
        return Evidence(str(place.get("file", "")), line if is_number else None, str(place.get("note") or ""))
    return str(place)
