"""Render council verdicts as text, Markdown or test results."""

from collections.abc import Mapping, Sequence

from verdikt.model.finding import BLOCKING_LEVELS, CouncilVerdict, Finding
from verdikt.report.junit import TestResult


def explain(verdict: CouncilVerdict) -> str:
    """Return one verdict with its evidence, the worst finding first."""
    lines = [f"[verdict] plan={verdict.plan_hash}  level={verdict.level}  {verdict.summary}"]
    for finding in sort_by_severity(verdict.findings):
        agent = f"  (agent: {escape_nonprintable(finding.agent)})" if finding.agent else ""
        lines.append(f"  - [{finding.level}] {escape_nonprintable(finding.title)}{agent}")
        if finding.rationale:
            lines.append(f"      why: {_indent_lines(finding.rationale)}")
        lines += [f"      evidence: {escape_nonprintable(str(place))}" for place in finding.evidence]
    return "\n".join(lines)


def retro(
    verdicts: Sequence[CouncilVerdict], unreadable: Sequence[str] = (), fixes: Mapping[str, str] | None = None
) -> str:
    """Return verdicts in one line each, in the given order, and then the unreadable files.

    `fixes` names the plan by which a verdict that blocks was fixed.
    """
    fixes = fixes or {}
    width = max((len(verdict.plan_hash) for verdict in verdicts), default=0) + 2
    lines = [f"[retro] {len(verdicts)} recent verdict(s):"]
    for verdict in verdicts:
        fixed_by = fixes.get(verdict.plan_hash, "") if verdict.blocks else ""
        word = "fixed" if fixed_by else "BLOCK" if verdict.blocks else "ok"
        note = f"  (fixed by plan {fixed_by})" if fixed_by else ""
        lines.append(f"  - {verdict.plan_hash:<{width}} {verdict.level:<8}  {word:<5}  {verdict.summary}{note}")
    lines += [f"  ! unreadable: {escape_nonprintable(name)}" for name in unreadable]
    return "\n".join(lines)


def sort_by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings by severity, the worst first, then by title."""
    return sorted(findings, key=lambda finding: (-finding.severity, finding.title))


def _indent_lines(text: str) -> str:
    """Return a text of several lines below each other, deeper than a finding, so that none can imitate one."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    return ("\n" + " " * 11).join(escape_nonprintable(line.replace("\t", "    ")) for line in lines)


def escape_nonprintable(text: str) -> str:
    """Return a text in one line, without control characters."""
    # The text comes from a reviewer: with cursor movements one finding could hide or imitate another.
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def render_markdown(verdicts: Sequence[CouncilVerdict]) -> str:
    """Return verdicts as Markdown: one section each, with a table of findings, the worst first."""
    parts: list[str] = []
    for verdict in verdicts:
        parts += [f"## {verdict.level}: plan `{verdict.plan_hash}`", "", verdict.summary, ""]
        if verdict.findings:
            parts += ["| level | finding | reviewer | where | why |", "|---|---|---|---|---|"]
            for finding in sort_by_severity(verdict.findings):
                where = "<br>".join(_escape_cell(str(place)) for place in finding.evidence)
                cells = (
                    finding.level,
                    _escape_cell(finding.title),
                    _escape_cell(finding.agent),
                    where,
                    _escape_cell(finding.rationale),
                )
                parts.append("| " + " | ".join(cells) + " |")
            parts.append("")
    return "\n".join(parts)


def _escape_cell(text: str) -> str:
    """Return a text that stays in its cell of a table and is displayed literally."""
    escaped = escape_nonprintable(text.replace("\n", " "))
    # As character references: a backslash before `|` or `<` is not honoured by every renderer.
    for mark in "\\`*_[]<>|~#":
        escaped = escaped.replace(mark, f"&#{ord(mark)};")
    return escaped


def to_junit_results(verdicts: Sequence[CouncilVerdict]) -> list[TestResult]:
    """Return findings as test results: a blocking one fails, any other passes, as does a plan without any."""
    results: list[TestResult] = []
    for verdict in verdicts:
        for finding in sort_by_severity(verdict.findings):
            where = next((f"{place.file}:{place.line or 1}" for place in finding.evidence), "")
            words = [finding.title, finding.rationale, *map(str, finding.evidence)]
            failure = "\n".join(filter(None, words)) if finding.severity in BLOCKING_LEVELS else ""
            name = f"[{finding.level}] {finding.title}"
            results.append(TestResult(finding.agent or verdict.plan_hash, name, where, failure))
        if not verdict.findings:
            results.append(TestResult(verdict.plan_hash, verdict.summary, ""))
    return results
