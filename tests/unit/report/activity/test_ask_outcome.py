"""What became of asks: which calls ran, and how long the answer took."""

from typing import Any

from verdikt.report.activity.ask_outcome import MAX_OPEN_ASKS, AskTracker
from verdikt.report.activity.occurrence import Occurrence

Report = list[tuple[str, float | None]]


def open_tracker() -> tuple[AskTracker, Report]:
    """Return a tracker, and the list that it reports to."""
    report: Report = []
    return AskTracker(lambda outcome, occurrence, scope, wait: report.append((outcome, wait))), report


def ask(tracker: AskTracker, command: str, call_id: str = "", seconds: float = 100.0) -> None:
    """Add an ask about a command."""
    occurrence = Occurrence(seconds=seconds, session="s", seq=1, what=command, verdict="ask")
    tracker.add_decision(occurrence, {"action": {"tool": "Bash", "payload": {"command": command}}}, call_id)


def build_call(command: str, call_id: str = "", **more: Any) -> dict[str, Any]:
    """Return the body of a call that ran."""
    return {"tool": "Bash", "payload": {"command": command}, "call_id": call_id, **more}


def test_call_that_ran_was_approved_and_the_time_of_the_answer_excludes_the_call() -> None:
    """Ten seconds until the end, of which the call took four: the person took six."""
    tracker, report = open_tracker()

    ask(tracker, "npm publish", "c1")
    tracker.add_call(build_call("npm publish", "c1", seconds=4.0), 110.0)

    assert report == [("approved", 6.0)]


def test_time_is_unknown_where_the_host_reports_no_duration() -> None:
    """Without a duration the end of the call says nothing about the answer; without an id the command identifies it."""
    tracker, report = open_tracker()

    ask(tracker, "npm publish")
    tracker.add_call(build_call("ls"), 101.0)
    tracker.add_call(build_call("npm publish", seconds=None), 110.0)

    assert report == [("approved", None)]


def test_ask_without_a_call_did_not_run() -> None:
    """When the turn ends, what was asked and never ran was declined or abandoned."""
    tracker, report = open_tracker()

    ask(tracker, "npm publish", "c1")
    tracker.end_turn()
    tracker.add_call(build_call("npm publish", "c1"), 110.0)

    assert report == [("not_run", None)]


def test_open_asks_are_bounded() -> None:
    """A turn of many asks does not grow the memory: the oldest are given up."""
    tracker, report = open_tracker()

    for number in range(MAX_OPEN_ASKS + 5):
        ask(tracker, f"npm publish {number}")

    assert report == [("not_run", None)] * 5
