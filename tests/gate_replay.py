"""Judge a recorded stop again, from the log alone. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verdikt.claims.reader import read_claims
from verdikt.evidence.gate import GateJudgement, GateState, judge_turn
from verdikt.evidence.section import EvidenceSettings
from verdikt.model.entry import Entry
from verdikt.turns.turn import find_first_request, read_turn


def replay_stop(
    entries: Sequence[Entry],
    stop: Entry,
    settings: EvidenceSettings,
    state: Mapping[str, Any],
    is_trusted: Callable[[Entry], bool] = lambda entry: False,
) -> GateJudgement:
    """Return the judgement of a recorded stop.

    `entries` are those of its session, `state` is the projection `evidence` as it was before the stop. The stop must
    have been recorded with its whole message, and without faults of a final block.
    """
    earlier = [entry for entry in entries if entry.seq < stop.seq]
    turn = read_turn(
        (entry for entry in earlier if entry.seq > state["turn"]), best_test_counts=state["best"], is_trusted=is_trusted
    )
    first_request = find_first_request(state["contract"], {entry.seq: entry for entry in earlier}.get)
    if first_request and first_request < state["turn"]:
        before = (entry for entry in earlier if first_request < entry.seq <= state["turn"])
        turn = replace(turn, earlier=read_turn(before).calls)
    message = str(stop.body.get("message", ""))
    return judge_turn(
        read_claims(message),
        turn.restore_facts(stop.body.get("facts") or {}),
        settings,
        GateState.from_record(state),
        message=message,
    )
