"""Council verdicts as text: the evidence chain of one, the recent ones in a row."""

from collections.abc import Sequence

from verdikt.model.finding import CouncilVerdict, Finding


def explain(verdict: CouncilVerdict) -> str:
    """One verdict with its evidence, the worst finding first."""
    lines = [f"[verdict] plan={verdict.plan_hash}  level={verdict.level}  {verdict.summary}"]
    for finding in by_severity(verdict.findings):
        agent = f"  (agent: {visible(finding.agent)})" if finding.agent else ""
        lines.append(f"  - [{finding.level}] {visible(finding.title)}{agent}")
        if finding.rationale:
            lines.append(f"      why: {visible(finding.rationale)}")
        lines += [f"      evidence: {visible(str(place))}" for place in finding.evidence]
    return "\n".join(lines)


def retro(verdicts: Sequence[CouncilVerdict], unreadable: Sequence[str] = ()) -> str:
    """Recent verdicts, one line each, in the order given; files that could not be read are named after them."""
    width = max((len(verdict.plan_hash) for verdict in verdicts), default=0) + 2
    lines = [f"[retro] {len(verdicts)} recent verdict(s):"]
    for verdict in verdicts:
        word = "BLOCK" if verdict.blocks else "ok"
        lines.append(f"  - {verdict.plan_hash:<{width}} {verdict.level:<8}  {word:<5}  {verdict.summary}")
    lines += [f"  ! unreadable: {visible(name)}" for name in unreadable]
    return "\n".join(lines)


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with the one that blocks first, then by title."""
    return sorted(findings, key=lambda finding: (-finding.severity, finding.title))


def visible(text: str) -> str:
    """A text in one line that cannot move the cursor: a finding never looks like two."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
