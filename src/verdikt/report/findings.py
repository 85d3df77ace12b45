"""Council verdicts as text: the evidence chain of one, the recent ones in a row."""

from collections.abc import Sequence

from verdikt.model.finding import BLOCKING_LEVELS, CouncilVerdict, Finding
from verdikt.report.junit import TestResult


def explain(verdict: CouncilVerdict) -> str:
    """One verdict with its evidence, the worst finding first."""
    lines = [f"[verdict] plan={verdict.plan_hash}  level={verdict.level}  {verdict.summary}"]
    for finding in sort_by_severity(verdict.findings):
        agent = f"  (agent: {escape_nonprintable(finding.agent)})" if finding.agent else ""
        lines.append(f"  - [{finding.level}] {escape_nonprintable(finding.title)}{agent}")
        if finding.rationale:
            lines.append(f"      why: {escape_nonprintable(finding.rationale)}")
        lines += [f"      evidence: {escape_nonprintable(str(place))}" for place in finding.evidence]
    return "\n".join(lines)


def retro(verdicts: Sequence[CouncilVerdict], unreadable: Sequence[str] = ()) -> str:
    """Recent verdicts, one line each, in the order given; files that could not be read are named after them."""
    width = max((len(verdict.plan_hash) for verdict in verdicts), default=0) + 2
    lines = [f"[retro] {len(verdicts)} recent verdict(s):"]
    for verdict in verdicts:
        word = "BLOCK" if verdict.blocks else "ok"
        lines.append(f"  - {verdict.plan_hash:<{width}} {verdict.level:<8}  {word:<5}  {verdict.summary}")
    lines += [f"  ! unreadable: {escape_nonprintable(name)}" for name in unreadable]
    return "\n".join(lines)


def sort_by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with the one that blocks first, then by title."""
    return sorted(findings, key=lambda finding: (-finding.severity, finding.title))


def escape_nonprintable(text: str) -> str:
    """A text in one line that cannot move the cursor: a finding never looks like two."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def render_markdown(verdicts: Sequence[CouncilVerdict]) -> str:
    """Verdicts as a section each, with a table of findings, the worst first."""
    parts: list[str] = []
    for verdict in verdicts:
        parts += [f"## {verdict.level}: plan `{verdict.plan_hash}`", "", verdict.summary, ""]
        if verdict.findings:
            parts += ["| level | finding | reviewer | where | why |", "|---|---|---|---|---|"]
            for found in sort_by_severity(verdict.findings):
                where = "<br>".join(_escape_cell(str(place)) for place in found.evidence)
                cells = (
                    found.level,
                    _escape_cell(found.title),
                    _escape_cell(found.agent),
                    where,
                    _escape_cell(found.rationale),
                )
                parts.append("| " + " | ".join(cells) + " |")
            parts.append("")
    return "\n".join(parts)


def _escape_cell(text: str) -> str:
    """A text that stays in its cell of a table and is shown as it is."""
    shown = escape_nonprintable(text.replace("\n", " "))
    for mark in "\\`*_[]<>|~#":
        shown = shown.replace(mark, f"&#{ord(mark)};")
    return shown


def to_junit_results(verdicts: Sequence[CouncilVerdict]) -> list[TestResult]:
    """Findings as tests: one that blocks has failed, any other has passed; a plan without findings is one that passed."""
    found: list[TestResult] = []
    for verdict in verdicts:
        for finding in sort_by_severity(verdict.findings):
            where = next((f"{place.file}:{place.line or 1}" for place in finding.evidence), "")
            words = [finding.title, finding.rationale, *map(str, finding.evidence)]
            failure = "\n".join(filter(None, words)) if finding.severity in BLOCKING_LEVELS else ""
            name = f"[{finding.level}] {finding.title}"
            found.append(TestResult(finding.agent or verdict.plan_hash, name, where, failure))
        if not verdict.findings:
            found.append(TestResult(verdict.plan_hash, verdict.summary, ""))
    return found
