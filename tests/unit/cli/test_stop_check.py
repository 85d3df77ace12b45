"""`verdikt stop-check`."""

import json
from pathlib import Path

from tests.unit.cli.conftest import Verdikt

POLICY = """\
completion:
  checks:
    - files: {files: [out.md], non_empty: true}
    - any: [{command: pytest -q}, {findings: HIGH}]
  deadline_seconds: 3600
  budget: {calls: 200}
"""


def test_show_lists_checks_with_their_limits(project: Path, verdikt: Verdikt) -> None:
    """The checks and their limits are listed as text and as JSON."""
    (project / "governance.yaml").write_text(POLICY)
    shown, listed = verdikt("stop-check", "show"), verdikt("stop-check", "show", "--json")

    assert shown.stdout == (
        "all of\n  files out.md, non-empty\n  any of\n    command pytest -q\n    findings HIGH\n"
        "  at most 3 refusals for one reason; not after 3600 seconds; not after 200 calls\n"
    ), shown.stderr
    assert json.loads(listed.stdout)[0]["budget"] == {"calls": 200}


def test_show_names_a_check_of_the_users_own(project: Path, verdikt: Verdikt) -> None:
    """It is shown by its import path, beside the others."""
    modules = project.parent / "modules"
    modules.mkdir()
    (modules / "own_checks.py").write_text("class Never:\n    def check(self, context): ...\n")
    (project / "governance.yaml").write_text(
        "completion: {checks: [{any: [{use: 'own_checks:Never'}, {findings: HIGH}]}]}\n"
    )
    shown = verdikt("stop-check", "show", PYTHONPATH=str(modules))
    listed = verdikt("stop-check", "show", "--json", PYTHONPATH=str(modules))

    assert shown.stdout.startswith("any of\n  use own_checks:Never\n  findings HIGH\n"), shown.stderr
    assert json.loads(listed.stdout)[0]["check"]["any"][0] == {"use": "own_checks:Never"}


def test_check_reports_incomplete_work_and_records_nothing(project: Path, verdikt: Verdikt) -> None:
    """Incomplete work ends with status 2, and the log stays empty."""
    (project / "governance.yaml").write_text(POLICY)
    missing = verdikt("stop-check", "check")
    (project / "out.md").write_text("done")
    there = verdikt("stop-check", "check", "--json")

    assert (missing.returncode, there.returncode) == (2, 0), missing.stderr + there.stderr
    assert missing.stdout.splitlines()[0] == "incomplete: 1 required output file(s) not found: out.md"
    assert [result["complete"] for result in json.loads(there.stdout)] == [True, True]
    assert not list((project.parent / "home/.local/share/verdikt").glob("ledger/*.jsonl"))


def test_commands_without_checks_say_so(project: Path, verdikt: Verdikt) -> None:
    """Without checks both commands say so and succeed."""
    for word in ("show", "check"):
        done = verdikt("stop-check", word)
        assert (done.returncode, done.stdout) == (0, "no completion checks: an agent may stop at any time\n")
