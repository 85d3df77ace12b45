"""The gate is a function of the log: every stop that was recorded is judged again with the same result."""

from pathlib import Path
from typing import Any

import pytest

from tests.gate_replay import replay_stop
from tests.scripted_turn import TurnPlayer, load_turns
from verdikt.evidence.section import EvidenceSettings
from verdikt.ledger.projections import EVIDENCE
from verdikt.model.entry import EntryKind

NAMES = (
    "a fix with a test and a green run",
    "said again while the sources are the same",
    "tests ran before the last edit",
    "a failing test marked as expected to fail",
    "the fix is in another file and the message says so",
    "an empty commit does not hold the work",
    "only the tests of a file that was not changed",
)
TURNS = {turn["name"]: turn for turn in load_turns() if turn["file"] in ("turns_python", "turns_afterwards")}


@pytest.mark.parametrize("name", NAMES)
def test_replay_of_a_stop_gives_the_recorded_judgement(tmp_path: Path, name: str) -> None:
    """The project may have changed since; only the log is read."""
    player = TurnPlayer(tmp_path, TURNS[name]["project"])
    player.play(TURNS[name])
    player.shell("rm -r ./*.py && git commit -qam gone")
    entries = list(player.store.read_entries("s1"))
    stop = next(entry for entry in reversed(entries) if entry.kind is EntryKind.COMPLETION)
    state: dict[str, Any] = EVIDENCE.create_initial_state()
    for entry in entries:
        if entry.seq < stop.seq and EVIDENCE.applies_to(entry):
            state = EVIDENCE.fold(state, entry)

    judgement = replay_stop(entries, stop, EvidenceSettings(mode="enforce"), state)

    recorded = {key: stop.body[key] for key in judgement.record()}
    assert judgement.record() == recorded
