"""`verdikt report`."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.activity_log import write_week
from tests.unit.cli.conftest import Verdikt
from verdikt.cli import root
from verdikt.cli.report import build_range
from verdikt.report.entry_filter import EntryFilter

WEEK = ("--since", "2026-10-25", "--until", "2026-11-03")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a week."""
    directory = tmp_path_factory.mktemp("home") / "data"
    write_week(directory, busy=2)
    return directory


@pytest.fixture
def empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty project with an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(home: Path, *words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(root, ["report", "--home", str(home), *words], catch_exceptions=False)


def test_report_in_a_pipe_is_plain_text(home: Path, empty_project: Path) -> None:
    """Rules, outcomes and suggestions, without bars and colours."""
    output = report(home, *WEEK).output

    assert "7 asked, 0 blocked" in output
    assert "followed the fix      3" in output
    assert "\x1b" not in output
    assert "█" not in output


def test_suggestion_is_backed_by_a_replay(home: Path, empty_project: Path) -> None:
    """The replay says what an exception would have changed, and names every rule that objects."""
    suggestions = json.loads(report(home, *WEEK, "--json").output)["suggestions"]

    publish, move = suggestions
    assert publish["commands"] == [
        "verdikt allow package_careful --command 'npm publish --registry https://registry.internal' --for always"
    ]
    assert publish["proof"] == (
        "Replayed 7 calls that `package_careful` stopped: this policy would have removed 7 prompts."
    )
    # `mv` out of the project is the business of two rules: one exception alone would change nothing.
    assert move["rules"] == ["overwrite_outside", "write_outside"]
    assert move["replayed"] == 3


def test_suggestion_is_dropped_when_the_replay_shows_no_change(home: Path, empty_project: Path) -> None:
    """A red line of the policy of today objects to what people allowed last week."""
    (empty_project / ".config/verdikt").mkdir(parents=True)
    rule = "{name: no_publishing, effect: pkg.publish, verdict: block, red_line: true, reason: never, fix: ask}"
    (empty_project / ".config/verdikt/governance.yaml").write_text(f"profile: standard\nrules:\n  - {rule}\n")

    suggestions = json.loads(report(home, *WEEK, "--json").output)["suggestions"]

    assert [suggestion["rules"][0] for suggestion in suggestions] == ["overwrite_outside"]


def test_page_is_written_for_its_owner_alone(home: Path, empty_project: Path) -> None:
    """Commands of agents may be private; verdikt's own files are never overwritten."""
    result = report(home, *WEEK, "--html", "report.html")

    assert result.output == "written: report.html\n"
    assert (empty_project / "report.html").read_text().startswith("<!doctype html>")
    assert os.stat("report.html").st_mode & 0o077 == 0
    (empty_project / "governance.yaml").write_text("profile: standard\n")
    refused = report(home, "--html", "governance.yaml")
    assert refused.exit_code == 1
    assert "guarded" in refused.output
    assert report(home, *WEEK, "--html", "missing/report.html").exit_code == 1


def test_filters_and_sessions(home: Path, empty_project: Path) -> None:
    """One host, one session, no session of that name."""
    codex = json.loads(report(home, *WEEK, "--host", "codex", "--json").output)
    one = json.loads(report(home, *WEEK, "--session", "00000003", "--json").output)

    assert codex["hosts"].keys() == {"codex"}
    assert (one["sessions"], one["filters"]["session"]) == (1, "00000003")
    assert report(home, "--session", "nope").exit_code == 1
    assert report(home, "--since", "1h", "--until", "2h").exit_code == 2


def test_report_without_a_log_says_so(tmp_path: Path) -> None:
    """A look creates nothing."""
    result = report(tmp_path / "nothing")

    assert result.exit_code == 1
    assert "no log in" in result.output
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("seconds", "periods", "label"),
    [
        (3_600, 1, "01-01 00:00"),
        (86_400, 24, "01-01 00:00"),
        (7 * 86_400, 28, "01-01 00:00"),
        (30 * 86_400, 30, "1970-01-01"),
        (180 * 86_400, 26, "1970-01-01"),
        (3650 * 86_400, 11, "1970-01-01"),
    ],
)
def test_range_is_cut_into_a_readable_number_of_periods(seconds: int, periods: int, label: str) -> None:
    """Hours, quarters of a day, days or weeks, and never more than fit on a screen."""
    report_range = build_range(EntryFilter(since=0.0, until=float(seconds)))

    assert (len(report_range.labels), report_range.labels[0]) == (periods, label)


def test_report_of_what_a_real_hook_recorded(project: Path, verdikt: Verdikt) -> None:
    """A call that Claude Code asked about and ran was approved, and the time of the answer is known."""
    common = {"session_id": "0123456789", "cwd": str(project), "tool_name": "Bash"}
    for number, (command, ran) in enumerate([("npm publish", True), ("rm -rf /usr", False), ("ls", True)]):
        call = common | {"tool_input": {"command": command}, "tool_use_id": f"toolu_{number}"}
        before = call | {"hook_event_name": "PreToolUse"}
        after = call | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}, "duration_ms": 1}
        verdikt("hook", "claude", "PreToolUse", json.dumps(before))
        if ran:
            verdikt("hook", "claude", "PostToolUse", json.dumps(after))

    record = json.loads(verdikt("report", "--json").stdout)

    assert (record["decisions"], record["sessions"]) == (3, 1)
    assert record["hosts"] == {"claude": 3}
    assert (record["answers"]["approval_rate"], record["answers"]["timed"]) == (1.0, 1)
    assert record["decision_time"]["timed"] == 3
    assert record["lists"]["gave_up"]["count"] == 1
    assert [rule["rule"] for rule in record["rules"]] == ["delete_system", "package_careful"]
