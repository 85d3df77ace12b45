"""Feedback after an action and refusals of a stop, on the real clients."""

import json
import sys
from collections.abc import Callable

import pytest

from tests.clients.bench import Bench
from tests.clients.table import list_clients
from tests.clients.test_governed import read_entries
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


@pytest.mark.parametrize("version", list_clients("feedback"))
def test_feedback_reaches_the_model_and_an_early_stop_is_refused_until_the_file_exists(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The agent claims twice to be done and is sent back twice; after it has written the file it may stop."""
    bench = create_bench(version)
    bench.govern(POLICY)
    session = bench.play_resident(
        ModelTurn("first", (bench.shell("echo hello"),)),
        ModelTurn("I am done, first time"),
        ModelTurn("I am done, second time"),
        ModelTurn("now", (bench.shell("touch done.txt"),)),
        ModelTurn("I am done, third time"),
        ModelTurn("never said"),
        until=lambda: any(entry.body["allowed"] for entry in read_entries(bench, EntryKind.COMPLETION)),
    )
    requests = json.dumps(session.model.requests)

    assert session.has_received("FEEDBACK after the action"), session.run.stderr
    assert session.has_received("done.txt"), session.run.stderr
    assert bench.has_file("done.txt"), "the agent could stop too early"
    # Once the file exists the agent may stop, so the last turn is never requested.
    assert session.turn_count == 5
    assert "I am done, second time" in requests
    assert [entry.body["allowed"] for entry in read_entries(bench, EntryKind.COMPLETION)] == [False, False, True]
    assert bench.read_crashes() == []


PROOF = """\
profile: standard
evidence: {mode: enforce}
"""

TESTS = "from app import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


@pytest.mark.parametrize("version", list_clients("evidence"))
def test_done_without_evidence_is_sent_back_and_with_evidence_is_let_through(
    version: str, create_bench: Callable[[str], Bench]
) -> None:
    """The claim is the same both times; between the two, the tests are run."""
    bench = create_bench(version)
    bench.govern(PROOF)
    (bench.project / "test_app.py").write_text(TESTS)
    test_command = f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -q -p no:cacheprovider"
    session = bench.play_resident(
        ModelTurn("writing", (bench.shell("printf 'def double(x):\\n    return 2 * x\\n' > app.py"),)),
        ModelTurn("Done. double is implemented in app.py and all tests pass."),
        ModelTurn("testing", (bench.shell(test_command),)),
        ModelTurn("Done. double is implemented in app.py and all tests pass."),
        ModelTurn("never said"),
        until=lambda: any(entry.body["result"] == "proven" for entry in read_entries(bench, EntryKind.COMPLETION)),
        prompt="Implement double in app.py so that the tests pass",
    )
    completions = [entry.body for entry in read_entries(bench, EntryKind.COMPLETION)]

    assert bench.has_file("app.py"), session.run.stderr
    assert session.has_received("no test run in this turn"), json.dumps(completions)
    assert session.turn_count == 4, json.dumps(completions)
    assert [body["result"] for body in completions] == ["refused", "proven"]
    assert len(read_entries(bench, EntryKind.CONTRACT)) == 1
    assert read_entries(bench, EntryKind.VALIDATOR_PASS)
    assert bench.read_crashes() == []
