"""`verdikt completion`: what must be true at the end, listed and tried."""

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


def test_the_checks_are_listed_with_their_bounds(project: Path, verdikt: Verdikt) -> None:
    """For people and for machines."""
    (project / "governance.yaml").write_text(POLICY)
    shown, found = verdikt("completion", "show"), verdikt("completion", "show", "--json")

    assert shown.stdout == (
        "all of\n  files out.md, non-empty\n  any of\n    command pytest -q\n    findings HIGH\n"
        "  at most 3 refusals for one reason; not after 3600 seconds; not after 200 calls\n"
    ), shown.stderr
    assert json.loads(found.stdout)[0]["budget"] == {"calls": 200}


def test_the_checks_are_tried_and_nothing_is_recorded(project: Path, verdikt: Verdikt) -> None:
    """Status 2 while the work is incomplete."""
    (project / "governance.yaml").write_text(POLICY)
    missing = verdikt("completion", "check")
    (project / "out.md").write_text("done")
    there = verdikt("completion", "check", "--json")

    assert (missing.returncode, there.returncode) == (2, 0), missing.stderr + there.stderr
    assert missing.stdout.splitlines()[0] == "incomplete: 1 required output file(s) not found: out.md"
    assert [each["complete"] for each in json.loads(there.stdout)] == [True, True]
    assert not list((project.parent / "home/.local/share/verdikt").glob("ledger/*.jsonl"))


def test_without_checks_that_is_said(project: Path, verdikt: Verdikt) -> None:
    """And is no failure."""
    for word in ("show", "check"):
        done = verdikt("completion", word)
        assert (done.returncode, done.stdout) == (0, "no completion checks: an agent may stop at any time\n")
