"""The activity of a log: counts, outcomes and lists, from entries that the real flow wrote."""

from pathlib import Path

import pytest

from tests.activity_log import DAY, open_activity_log, write_week
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import add_grant
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.grant import Grant
from verdikt.report.activity.activity import Activity, ReportRange
from verdikt.report.activity.collector import MAX_NAMES, ActivityCollector
from verdikt.report.entry_filter import EntryFilter


def collect(home: Path, entry_filter: EntryFilter, days: int = 7) -> Activity:
    """Return the activity of a data directory."""
    labels = tuple(f"day {day}" for day in range(days))
    report_range = ReportRange(since=entry_filter.since, until=entry_filter.until, labels=labels)
    collector = ActivityCollector(report_range, entry_filter)
    with FileStore(home) as store:
        for name in store.list_sessions():
            entries = store.reader.read_intact_entries(name)
            if name == "operator":
                collector.add_operator_log(entries)
            else:
                collector.add_session(entries)
    return collector.activity


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return the data directory of a week, and its end."""
    home = tmp_path_factory.mktemp("week") / "data"
    return home, write_week(home, busy=2)


def test_week_is_counted(week: tuple[Path, float]) -> None:
    """Decisions, verdicts, outcomes, turns and the operator's entries."""
    home, end = week
    activity = collect(home, EntryFilter(since=end - 8 * DAY, until=end), days=8)

    assert activity.count("sessions") == 7
    assert activity.decisions == activity.count("passes") + activity.count("asks") + activity.count("blocks")
    assert (activity.count("asks"), activity.count("blocks")) == (17, 8)
    assert [activity.count(name) for name in ("followed_fix", "another_way", "repeated", "gave_up")] == [3, 3, 1, 1]
    assert (activity.count("approved"), activity.count("not_run")) == (12, 5)
    assert activity.answer_seconds.total == 12
    assert activity.count("operator") == 2
    assert activity.count("paused") == 1
    assert activity.turns == 7
    assert activity.hosts.keys() == {"claude", "codex"}
    assert activity.decision_milliseconds.total == activity.decisions
    slowest = [occurrence.milliseconds for occurrence in activity.lists["slowest"]]
    assert slowest == sorted(slowest, reverse=True)
    assert slowest[0] > 1
    assert sum(sum(period.verdicts.values()) for period in activity.periods) == activity.decisions
    assert activity.rank_rules()[0].stopped_count == 7


def test_filters_select_hosts_projects_and_time(week: tuple[Path, float]) -> None:
    """A turn's end belongs to the host of the calls before it."""
    home, end = week
    everything = EntryFilter(since=end - 8 * DAY, until=end)

    codex = collect(home, EntryFilter(since=everything.since, until=end, host="codex"))
    elsewhere = collect(home, EntryFilter(since=everything.since, until=end, project="/somewhere/else"))
    late = collect(home, EntryFilter(since=end - 2.5 * DAY, until=end))

    assert (codex.count("sessions"), codex.turns, codex.hosts.keys()) == (2, 2, {"codex"})
    assert (elsewhere.decisions, elsewhere.turns) == (0, 0)
    assert late.count("sessions") == 2


def test_call_that_a_grant_lets_through_is_listed_with_what_it_would_have_been(tmp_path: Path) -> None:
    """Exemptions show what they were good for."""
    with open_activity_log(tmp_path) as log:
        now = int(log.clock.now())
        grant = Grant(
            id="0a0b0c0d",
            guard="package_careful",
            target="npm publish",
            session="*",
            expires=now + 3600,
            reason="agreed",
            by="dev",
            created=now,
        )
        add_grant(log.store, grant)
        log.call("s", "npm publish")

    activity = collect(tmp_path, EntryFilter(since=now - 10, until=now + DAY))

    [granted] = activity.lists["granted"]
    assert granted.note == "without the grant: ask by package_careful"
    assert activity.count("asks") == 0


def test_memory_does_not_grow_with_the_log() -> None:
    """Lists, names and scopes have limits, however many different ones a log has."""
    collector = ActivityCollector(ReportRange(since=0, until=1e6, labels=("all",)), EntryFilter(until=1e6))
    entries = (
        Entry(
            seq=number,
            ts=number * 1_000_000,
            session="s",
            kind=EntryKind.DECISION,
            body={
                "receipt": {
                    "verdict": {"kind": "ask", "guard": f"rule-{number}"},
                    "action": {"tool": "Bash", "host": f"host-{number}", "payload": {"command": f"x {number}"}},
                }
            },
        )
        for number in range(1, 3000)
    )
    collector.add_session(entries)
    activity = collector.activity

    assert activity.decisions == 2999
    assert len(activity.rules) == MAX_NAMES + 1
    assert len(activity.hosts) == MAX_NAMES + 1
    assert len(list(activity.lists["asks"])) == 100


@pytest.mark.parametrize("body", [{}, {"receipt": None}, {"receipt": {"verdict": "x", "action": 3, "effects": {}}}])
def test_entry_of_another_writer_does_not_stop_the_report(body: dict[str, object]) -> None:
    """A log is read whatever wrote it."""
    collector = ActivityCollector(ReportRange(since=0, until=10, labels=("all",)), EntryFilter(until=10))
    for kind in (EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.COMPLETION, EntryKind.CRASH):
        collector.add_session([Entry(seq=1, ts=1_000_000, session="s", kind=kind, body=body)])

    assert collector.activity.decisions == 1
