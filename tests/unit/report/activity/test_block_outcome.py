"""What the agent did after a block, from the calls that followed it."""

from typing import Any

import pytest

from verdikt.report.activity.block_outcome import MAX_LATER_CALLS, BlockTracker
from verdikt.report.activity.occurrence import Occurrence

PUSH = {"command": "git push --force origin main", "what": "git.push.force", "target": "main"}


def add(tracker: BlockTracker, verdict: str, *, command: str, what: str = "", target: str = "") -> None:
    """Add a call with one effect."""
    effects = [{"class": "write", "what": what, "targets": [{"text": target}] if target else []}] if what else []
    receipt: dict[str, Any] = {
        "action": {"tool": "Bash", "payload": {"command": command}},
        "effects": effects,
        "verdict": {"kind": verdict, "fix": "git push --force-with-lease, or `git revert`"},
    }
    tracker.add_decision(Occurrence(seconds=1, session="s", seq=1, what=f"Bash {command}", verdict=verdict), receipt)


@pytest.mark.parametrize(
    ("later", "outcome"),
    [
        ([("pass", {"command": "git push --force-with-lease origin main"})], "followed_fix"),
        ([("pass", {"command": "ls"}), ("pass", {"command": "git revert HEAD"})], "followed_fix"),
        ([("block", PUSH)], "repeated"),
        ([("pass", {"command": "git push origin main", "what": "git.push.plain"})], "another_way"),
        ([("ask", {"command": "git branch -D main", "what": "git.branch.delete", "target": "main"})], "another_way"),
        ([("pass", {"command": "ls"})], "gave_up"),
        ([], "gave_up"),
        ([("pass", {"command": "ls"})] * MAX_LATER_CALLS + [("block", PUSH)], "gave_up"),
    ],
    ids=["option", "quoted command", "same call", "same effect", "same target", "other work", "nothing", "too late"],
)
def test_outcome_of_a_block(later: list[tuple[str, dict[str, str]]], outcome: str) -> None:
    """The first later call that has to do with a block tells its outcome."""
    outcomes: list[str] = []
    tracker = BlockTracker(lambda name, occurrence: outcomes.append(name))

    add(tracker, "block", **PUSH)
    for verdict, call in later:
        add(tracker, verdict, **call)
    tracker.end_turn()

    assert outcomes[0] == outcome


def test_advice_that_is_blocked_as_well_is_another_way() -> None:
    """An agent that does what the fix says and is stopped again has not got further."""
    outcomes: list[str] = []
    tracker = BlockTracker(lambda name, occurrence: outcomes.append(name))

    add(tracker, "block", **PUSH)
    add(tracker, "block", command="git push --force-with-lease origin main", what="git.push.lease")

    assert outcomes == ["another_way"]


def test_note_says_what_the_agent_did_next() -> None:
    """The list of a report shows the block and the call after it."""
    notes: list[str] = []
    tracker = BlockTracker(lambda name, occurrence: notes.append(occurrence.note))

    add(tracker, "block", **PUSH)
    add(tracker, "pass", command="git push --force-with-lease")

    assert notes == ["then ran: Bash git push --force-with-lease"]
