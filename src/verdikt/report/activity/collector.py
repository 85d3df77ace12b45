"""Collect the activity of a log, entry by entry, in memory that does not grow with the log."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from verdikt.model.action import describe_payload
from verdikt.model.entry import Entry, EntryKind
from verdikt.report.activity.activity import Activity, ReportRange, RuleActivity
from verdikt.report.activity.ask_outcome import APPROVED, NOT_RUN, AskTracker
from verdikt.report.activity.block_outcome import BlockTracker
from verdikt.report.activity.call_scope import CallScope
from verdikt.report.activity.occurrence import (
    Occurrence,
    OccurrenceList,
    occurrence_from_decision,
    shorten_text,
)
from verdikt.report.entry_filter import EntryFilter
from verdikt.report.entry_line import granted_verdict_of, paused_verdict_of, receipt_of, summarize_entry

MAX_NAMES = 200
"""Different rules, hosts and projects that are counted separately: their names come from agents."""

MAX_SLOWEST = 20


class ActivityCollector:
    """Adds up sessions, one after the other, and gives the activity at the end."""

    def __init__(self, report_range: ReportRange, entry_filter: EntryFilter) -> None:
        self.activity = Activity.from_range(report_range)
        self.activity.lists["slowest"] = OccurrenceList(limit=MAX_SLOWEST, order="milliseconds")
        self._filter = entry_filter

    def add_session(self, entries: Iterable[Entry]) -> None:
        """Add one session; entries outside of the range are read, because they may explain one inside."""
        session = _SessionCollector(self.activity, self._filter)
        for entry in entries:
            session.add_entry(entry)
        session.finish()

    def add_operator_log(self, entries: Iterable[Entry]) -> None:
        """Add the operator's log: exceptions, grants and pauses."""
        for entry in entries:
            if entry.kind is EntryKind.GRANT and self._filter.is_in_time(entry):
                what = shorten_text(summarize_entry(entry, 300))
                # A grant's own line begins with the guard; every other one says itself what it is.
                text = f"grant: {what}" if "grant" in entry.body else what
                self.activity.lists["operator"].add(_describe_entry(entry, text))


class _SessionCollector:
    """One session: what belongs together in it, and whether its entries are selected."""

    def __init__(self, activity: Activity, entry_filter: EntryFilter) -> None:
        self._activity = activity
        self._filter = entry_filter
        self._blocks = BlockTracker(self._count_block_outcome)
        self._asks = AskTracker(self._count_ask_outcome)
        # Entries of a turn's end say neither host nor directory: they belong to those of the calls before.
        self._is_selected = not (entry_filter.project or entry_filter.host)
        self._verdicts: Counter[str] = Counter()
        self._newest: Occurrence | None = None
        self._place = ""

    def add_entry(self, entry: Entry) -> None:
        """Count one entry."""
        if entry.kind is EntryKind.DECISION:
            self._add_decision(entry)
        elif entry.kind is EntryKind.TOOL_CALL:
            self._asks.add_call(entry.body, entry.timestamp_seconds)
        elif entry.kind in (EntryKind.CONTRACT, EntryKind.COMPLETION):
            self._end_turn()
            if entry.kind is EntryKind.COMPLETION and entry.body.get("by") == "evidence" and self._selects(entry):
                self._add_stop(entry)
        elif entry.kind is EntryKind.CRASH and self._selects(entry):
            self._activity.lists["crashes"].add(_describe_entry(entry, shorten_text(summarize_entry(entry))))

    def finish(self) -> None:
        """Report what is still open at the end of the log."""
        self._end_turn()
        if self._newest is not None:
            note = ", ".join(f"{count} {verdict}" for verdict, count in self._verdicts.most_common())
            session = replace(self._newest, seq=0, verdict="", rule="", reason="", what=self._place)
            self._activity.lists["sessions"].add(session.with_note(note))

    def _end_turn(self) -> None:
        self._blocks.end_turn()
        self._asks.end_turn()

    def _selects(self, entry: Entry) -> bool:
        return self._is_selected and self._filter.is_in_time(entry)

    def _add_decision(self, entry: Entry) -> None:
        self._is_selected = self._filter.matches_place(entry)
        if not self._selects(entry):
            return
        receipt, occurrence = receipt_of(entry), occurrence_from_decision(entry)
        self._newest = occurrence
        self._verdicts[occurrence.verdict] += 1
        activity = self._activity
        activity.decisions += 1
        period = activity.periods[activity.range.find_period(occurrence.seconds)]
        period.verdicts[occurrence.verdict] += 1
        self._count_place(receipt)
        self._count_verdict(occurrence)
        if occurrence.verdict in ("ask", "block"):
            period.stopped.add(occurrence)
        self._count_exemption(entry, occurrence)
        self._count_duration(entry, occurrence)
        self._blocks.add_decision(occurrence, receipt)
        self._asks.add_decision(occurrence, receipt, str(entry.body.get("call_id") or ""))

    def _count_place(self, receipt: Mapping[str, Any]) -> None:
        action = receipt.get("action")
        action = action if isinstance(action, Mapping) else {}
        host, directory = (shorten_text(str(action.get(key) or "")) for key in ("host", "cwd"))
        self._place = f"{host} {directory}".strip()
        for counter, text in ((self._activity.hosts, host or "no host"), (self._activity.projects, directory)):
            counter[text if text in counter or len(counter) < MAX_NAMES else "…"] += 1

    def _count_verdict(self, occurrence: Occurrence) -> None:
        lists = self._activity.lists
        if occurrence.verdict not in ("ask", "block"):
            lists["passes"].add(occurrence)
            return
        lists["asks" if occurrence.verdict == "ask" else "blocks"].add(occurrence)
        rule = self._find_rule(occurrence.rule)
        rule.verdicts[occurrence.verdict] += 1
        rule.examples.add(occurrence)

    def _find_rule(self, name: str) -> RuleActivity:
        rules = self._activity.rules
        name = name if name in rules or len(rules) < MAX_NAMES else "…"
        return rules.setdefault(name, RuleActivity(name))

    def _count_exemption(self, entry: Entry, occurrence: Occurrence) -> None:
        """Count what ran only because of a pause or a grant."""
        paused, paused_rule = paused_verdict_of(entry)
        granted, granted_rule, _ = granted_verdict_of(entry)
        if paused:
            self._activity.lists["paused"].add(occurrence.with_note(f"without the pause: {paused} by {paused_rule}"))
        elif granted:
            note = f"without the grant: {granted} by {granted_rule}"
            self._activity.lists["granted"].add(occurrence.with_note(note))

    def _count_duration(self, entry: Entry, occurrence: Occurrence) -> None:
        microseconds = entry.body.get("microseconds")
        if not isinstance(microseconds, int) or microseconds < 0:
            return  # an entry of an older release
        self._activity.decision_milliseconds.add(microseconds / 1000)
        self._activity.lists["slowest"].add(replace(occurrence, milliseconds=microseconds / 1000))

    def _count_block_outcome(self, outcome: str, occurrence: Occurrence) -> None:
        self._activity.lists[outcome].add(occurrence)
        self._find_rule(occurrence.rule).outcomes[outcome] += 1

    def _count_ask_outcome(self, outcome: str, occurrence: Occurrence, scope: CallScope, wait: float | None) -> None:
        note = "" if wait is None else f"answered after {wait:.0f} s"
        self._activity.lists[outcome].add(occurrence.with_note(note))
        rule = self._find_rule(occurrence.rule)
        rule.outcomes[outcome] += 1
        rule.count_ask(scope, approved=outcome == APPROVED)
        if wait is not None and outcome != NOT_RUN:
            self._activity.answer_seconds.add(wait)

    def _add_stop(self, entry: Entry) -> None:
        """Count the end of a turn, and what it left unproven."""
        body = entry.body
        result, is_enforced = body.get("result"), bool(body.get("enforced"))
        missing = [item for item in body.get("missing") or () if isinstance(item, Mapping)]
        words = next((str(item.get("words") or "") for item in missing), "") or describe_payload(body)
        reason = "; ".join(dict.fromkeys(str(item.get("reason", "")) for item in missing))
        stop = _describe_entry(entry, shorten_text(f"“{words}”"), reason=shorten_text(reason))
        # A refusal that is enforced does not end the turn.
        if result == "refused" and is_enforced:
            self._activity.lists["refused"].add(stop)
            return
        self._activity.turns += 1
        if result in ("refused", "ended_unproven"):
            note = "" if is_enforced else "recorded only: the gate does not enforce"
            self._activity.lists["unproven"].add(stop.with_note(note))


def _describe_entry(entry: Entry, what: str, *, reason: str = "") -> Occurrence:
    return Occurrence(
        seconds=entry.timestamp_seconds, session=shorten_text(entry.session), seq=entry.seq, what=what, reason=reason
    )
