"""What a commit check says: each council's findings, the worst first, and what to do."""

from collections.abc import Sequence

from verdikt.model.finding import CouncilVerdict
from verdikt.report.findings import explain


def refused(council: str, plan_hash: str, verdict: CouncilVerdict | None, faults: Sequence[str]) -> str:
    """Why a council stops a commit, and what to do about it."""
    lines = [f"council `{council}` stops this: {'; '.join(faults)}"]
    if verdict is not None:
        lines.append(explain(verdict))
    if verdict is not None and verdict.blocks:
        lines.append("fix what was found and stage it; a person can clear a finding with:")
        lines.append(f"  verdikt findings clear --plan-hash {plan_hash} --id ID --why REASON")
    else:
        lines.append("have it reviewed with:")
        lines.append(f"  verdikt council run {council}")
    return "\n".join(lines)
