"""The message of a refused commit."""

from verdikt.model.finding import CouncilVerdict, Finding
from verdikt.report.commit_refusal import render_refusal


def build_verdict(*levels: str) -> CouncilVerdict:
    """Return a build_verdict with a finding of each level."""
    findings = tuple(Finding(level=level, title=f"t{at}", agent="a", id=f"id{at}") for at, level in enumerate(levels))
    return CouncilVerdict(plan_hash="abc", findings=findings)


def test_refusal_lists_commands_that_clear_blocking_findings() -> None:
    """Each blocking finding has its command, the worst first."""
    lines = render_refusal(
        "ship-it", "abc", build_verdict("LOW", "HIGH", "CRITICAL"), ["the level is CRITICAL"]
    ).splitlines()

    assert lines[-2:] == [
        "  verdikt findings clear --plan-hash abc --id id2 --why REASON",
        "  verdikt findings clear --plan-hash abc --id id1 --why REASON",
    ]


def test_refusal_with_many_findings_names_the_full_list() -> None:
    """After five findings the message says where the others are listed."""
    lines = render_refusal("ship-it", "abc", build_verdict(*["HIGH"] * 50), ["the level is HIGH"]).splitlines()

    assert lines[-1] == "  verdikt findings show --plan-hash abc --json lists the ids of the others"
    assert sum("findings clear" in line for line in lines) == 5
