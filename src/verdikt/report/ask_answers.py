"""What became of the asks in a list of entries, as notes for the lines that show them."""

from collections.abc import Iterable

from verdikt.model.entry import Entry, EntryKind
from verdikt.report.activity.ask_outcome import APPROVED, AskTracker
from verdikt.report.activity.call_scope import CallScope
from verdikt.report.activity.occurrence import Occurrence, occurrence_from_decision
from verdikt.report.entry_line import receipt_of

EntryId = tuple[str, int]
"""Session and seq."""


class AskAnswers:
    """Follows the entries of any number of sessions, each in order, and notes how asks were answered.

    The note of an ask that was answered with yes belongs to the call that ran, because the ask's own line may be
    printed already; that of an ask whose call never ran belongs to the ask.
    """

    def __init__(self) -> None:
        self.notes: dict[EntryId, str] = {}
        self._trackers: dict[str, AskTracker] = {}
        self._current: EntryId = ("", 0)

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Follow entries, in the order of each session."""
        for entry in entries:
            self.add_entry(entry)

    def add_entry(self, entry: Entry) -> None:
        """Follow one entry."""
        tracker = self._trackers.setdefault(entry.session, AskTracker(self._note_outcome))
        self._current = (entry.session, entry.seq)
        if entry.kind is EntryKind.DECISION:
            call_id = str(entry.body.get("call_id") or "")
            tracker.add_decision(occurrence_from_decision(entry), receipt_of(entry), call_id)
        elif entry.kind is EntryKind.TOOL_CALL:
            tracker.add_call(entry.body, entry.timestamp_seconds)
        elif entry.kind in (EntryKind.CONTRACT, EntryKind.COMPLETION) or entry.body.get("reason") == "session_end":
            tracker.end_turn()

    def _note_outcome(self, outcome: str, ask: Occurrence, scope: CallScope, wait: float | None) -> None:
        if outcome == APPROVED:
            after = "" if wait is None else f" after {wait:.0f} s"
            self.notes[self._current] = f"a person said yes to #{ask.seq}{after}"
        else:
            self.notes[(ask.session, ask.seq)] = "not answered with yes: it did not run"
