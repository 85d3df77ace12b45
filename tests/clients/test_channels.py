"""What the policy has to say after an action and at a stop, on the real clients: heard, obeyed, and then let go."""

import json
import sys
from collections.abc import Callable

import pytest

from tests.clients.bench import Bench
from tests.clients.table import cells
from tests.clients.test_governed import entries
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.model.entry import EntryKind

POLICY = """\
profile: standard
evidence: {mode: "off"}
feedback:
  - static: "FEEDBACK after the action"
    every_n_calls: 1
completion:
  checks:
    - files: [done.txt]
"""


@pytest.mark.parametrize("version", cells("feedback"))
def test_feedback_is_heard_and_an_early_stop_is_refused_until_the_file_exists(
    version: str, bench: Callable[[str], Bench]
) -> None:
    """Twice it says that it is done, twice it is sent back; then it writes the file and is let go."""
    table = bench(version)
    table.govern(POLICY)
    played = table.play_resident(
        ModelTurn("first", (table.shell("echo hello"),)),
        ModelTurn("I am done, first time"),
        ModelTurn("I am done, second time"),
        ModelTurn("now", (table.shell("touch done.txt"),)),
        ModelTurn("I am done, third time"),
        ModelTurn("never said"),
        until=lambda: any(entry.body["allowed"] for entry in entries(table, EntryKind.COMPLETION)),
    )
    told = json.dumps(played.model.requests)

    assert played.heard("FEEDBACK after the action"), played.run.stderr
    assert played.heard("done.txt"), played.run.stderr
    assert table.ran("done.txt"), "it was let go too early"
    # Once the file is there nothing holds it back: the last turn is never asked for.
    assert played.turns == 5
    assert "I am done, second time" in told
    assert [entry.body["allowed"] for entry in entries(table, EntryKind.COMPLETION)] == [False, False, True]
    assert table.crashes() == []


PROOF = """\
profile: standard
evidence: {mode: enforce}
"""

TESTS = "from app import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


@pytest.mark.parametrize("version", cells("evidence"))
def test_done_without_evidence_is_sent_back_and_with_evidence_is_let_through(
    version: str, bench: Callable[[str], Bench]
) -> None:
    """The claim is the same both times; between them lies a run of the tests."""
    table = bench(version)
    table.govern(PROOF)
    (table.project / "test_app.py").write_text(TESTS)
    pytest_here = f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -q -p no:cacheprovider"
    played = table.play_resident(
        ModelTurn("writing", (table.shell("printf 'def double(x):\\n    return 2 * x\\n' > app.py"),)),
        ModelTurn("Done. double is implemented in app.py and all tests pass."),
        ModelTurn("testing", (table.shell(pytest_here),)),
        ModelTurn("Done. double is implemented in app.py and all tests pass."),
        ModelTurn("never said"),
        until=lambda: any(entry.body["result"] == "proven" for entry in entries(table, EntryKind.COMPLETION)),
        prompt="Implement double in app.py so that the tests pass",
    )
    judged = [entry.body for entry in entries(table, EntryKind.COMPLETION)]

    assert table.ran("app.py"), played.run.stderr
    assert played.heard("no test run in this turn"), json.dumps(judged)
    assert played.turns == 4, json.dumps(judged)
    assert [body["result"] for body in judged] == ["refused", "proven"]
    assert len(entries(table, EntryKind.CONTRACT)) == 1
    assert entries(table, EntryKind.VALIDATOR_PASS)
    assert table.crashes() == []
