"""What a commit check says."""

from verdikt.model.finding import CouncilVerdict, Finding
from verdikt.report.commit_refusal import render_refusal


def verdict(*levels: str) -> CouncilVerdict:
    """A verdict with a finding of each level."""
    findings = tuple(Finding(level=level, title=f"t{at}", agent="a", id=f"id{at}") for at, level in enumerate(levels))
    return CouncilVerdict(plan_hash="abc", findings=findings)


def test_the_command_that_clears_a_finding_names_it() -> None:
    """Each that stops the commit, the worst first; the others need not go."""
    lines = render_refusal("ship-it", "abc", verdict("LOW", "HIGH", "CRITICAL"), ["the level is CRITICAL"]).splitlines()

    assert lines[-2:] == [
        "  verdikt findings clear --plan-hash abc --id id2 --why REASON",
        "  verdikt findings clear --plan-hash abc --id id1 --why REASON",
    ]


def test_of_many_findings_it_is_told_where_they_are_named() -> None:
    """Nobody reads fifty commands."""
    lines = render_refusal("ship-it", "abc", verdict(*["HIGH"] * 50), ["the level is HIGH"]).splitlines()

    assert lines[-1] == "  verdikt findings show --plan-hash abc --json lists the ids of the others"
    assert sum("findings clear" in line for line in lines) == 5
