"""The report for a terminal, and its plain form for a pipe."""

from pathlib import Path

import pytest

from tests.activity_log import DAY, open_activity_log, write_week
from tests.unit.report.activity.test_collector import collect
from tests.unit.report.activity.test_page import HOSTILE, format_time
from verdikt.report.activity.activity import Suggestion
from verdikt.report.activity.terminal import draw_sparkline, render_terminal
from verdikt.report.entry_filter import EntryFilter
from verdikt.report.explanation import plain_paint


@pytest.mark.parametrize(
    ("numbers", "line"), [([0, 1, 4, 8], " ▁▄█"), ([5, 5], "██"), ([0, 0], "  "), ([], ""), ([1, 1000], "▁█")]
)
def test_sparkline(numbers: list[int], line: str) -> None:
    """A number that is not zero is seen, however small."""
    assert draw_sparkline(numbers) == line


def test_terminal_draws_and_pipe_has_numbers(tmp_path: Path) -> None:
    """The same figures, with bars for eyes and without them for programs."""
    end = write_week(tmp_path, busy=2)
    activity = collect(tmp_path, EntryFilter(since=end - 8 * DAY, until=end), days=8)

    drawn = "\n".join(render_terminal(activity, format_time, plain_paint, width=80))
    plain = "\n".join(render_terminal(activity, format_time, plain_paint))

    assert "█" in drawn
    assert "█" not in plain
    for text in (drawn, plain):
        assert "17 asked, 8 blocked" in text
        assert "git_force_push" in text
        assert "12 let run, 5 did not run: 71% approved" in text
        assert "1 by a pause" in text
    assert "asked    2 3 2 3 2 3 2 0" in plain


def test_lines_fit_into_the_terminal_and_commands_stay_whole(tmp_path: Path) -> None:
    """What is for reading is cut or wrapped, what is for copying is not."""
    with open_activity_log(tmp_path) as log:
        start = log.clock.now()
        log.call("s", "rm -rf /home/dev/other/" + "x" * 200)
    activity = collect(tmp_path, EntryFilter(since=start - 1, until=start + DAY))
    scope = ("command", "npm publish " + "y" * 100)
    activity.suggestions = [Suggestion(rules=("publish",), scope=scope, text="word " * 40, proof="why " * 40)]

    lines = list(render_terminal(activity, format_time, plain_paint, width=60))

    assert [line for line in lines if len(line) > 80 and "verdikt allow" not in line] == []
    assert any(scope[1] in line for line in lines)


def test_text_of_an_agent_cannot_control_the_terminal(tmp_path: Path) -> None:
    """Every character that is printed is printable."""
    with open_activity_log(tmp_path) as log:
        start = log.clock.now()
        for text in HOSTILE:
            log.call(text, f"rm -rf '/home/dev/other/{text}'", host=text)
    activity = collect(tmp_path, EntryFilter(since=start - 1, until=start + DAY))

    lines = list(render_terminal(activity, format_time, plain_paint))

    assert [line for line in lines if not line.isprintable()] == []
    assert any("<script>" in line for line in lines)
