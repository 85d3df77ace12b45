"""Texts and lists of a report stay short, printable and bounded."""

from verdikt.report.activity.occurrence import MAX_TEXT, Occurrence, OccurrenceList, shorten_text
from verdikt.report.activity.percentiles import Percentiles


def build_occurrence(number: int) -> Occurrence:
    """Return an occurrence at a time."""
    return Occurrence(seconds=number, session="s", seq=number, what=f"call {number}", milliseconds=-number)


def test_list_counts_all_and_keeps_the_newest_whatever_the_order() -> None:
    """The log is read session by session, so the newest can come first."""
    occurrences = OccurrenceList(limit=3)
    for number in (9, 1, 8, 2, 7):
        occurrences.add(build_occurrence(number))

    assert [occurrence.seq for occurrence in occurrences] == [9, 8, 7]
    assert (occurrences.total, occurrences.omitted_count) == (5, 2)


def test_list_by_another_field_keeps_its_greatest() -> None:
    """The slowest decisions are ordered by duration."""
    occurrences = OccurrenceList(limit=2, order="milliseconds")
    for number in (9, 1, 8, 2):
        occurrences.add(build_occurrence(number))

    assert [occurrence.seq for occurrence in occurrences] == [1, 2]


def test_text_of_an_agent_is_one_short_printable_line() -> None:
    """Cursor movements and direction marks are shown, not obeyed."""
    text = shorten_text("rm\n-rf \x1b[2J /\u202ehome" + "x" * 1000)

    assert text.startswith("rm -rf \\x1b[2J /\\u202ehome")
    assert len(text) == MAX_TEXT


def test_percentiles_of_many_values_need_few_counters() -> None:
    """Two significant digits are enough for a report."""
    distribution = Percentiles()
    for number in range(1, 10_001):
        distribution.add(number)

    assert distribution.find_percentile(0.5) == 5000
    assert distribution.find_percentile(0.99) == 9900
    assert distribution.total == 10_000
    assert Percentiles().find_percentile(0.5) == 0
