"""The message of a refused commit: the council's findings, the worst first, and what to do."""

from collections.abc import Sequence
from shlex import quote

from verdikt.model.finding import BLOCKING_LEVELS, CouncilVerdict
from verdikt.report.findings import explain, sort_by_severity

# Each finding comes with a long command; with more of them the reason would scroll out of sight.
_MAX_SHOWN = 5


def render_refusal(council: str, plan_hash: str, verdict: CouncilVerdict | None, faults: Sequence[str]) -> str:
    """Return why a council stops a commit, and what to do about it."""
    lines = [f"council `{council}` stops this: {'; '.join(faults)}"]
    if verdict is not None:
        lines.append(explain(verdict))
    if verdict is not None and verdict.blocks:
        lines.append("fix what was found and stage it; a person can clear a finding with:")
        stopping = [finding for finding in sort_by_severity(verdict.findings) if finding.severity in BLOCKING_LEVELS]
        for finding in stopping[:_MAX_SHOWN]:
            lines.append(f"  verdikt findings clear --plan-hash {plan_hash} --id {quote(finding.id)} --why REASON")
        if len(stopping) > _MAX_SHOWN:
            lines.append(f"  verdikt findings show --plan-hash {plan_hash} --json lists the ids of the others")
    else:
        lines.append("have it reviewed with:")
        lines.append(f"  verdikt council run {council}")
    return "\n".join(lines)
