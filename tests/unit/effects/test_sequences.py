"""Every case in `tests/cases/sequences_*.yaml`: calls that are harmless one by one, and what follows from them."""

from typing import Any

import pytest

from tests.sequences import Rehearsal, load_sequences


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in load_sequences()])
def test_sequence(case: dict[str, Any]) -> None:
    """Each step of a sequence has the verdict it states, and the guard and words where it states them."""
    rehearsal = Rehearsal(case)
    for step in case["steps"]:
        decision = rehearsal.play(step)
        if decision is None or "verdict" not in step:
            continue
        details = [
            (e.what, e.by, e.note, [(t.text, t.zone.value, t.state) for t in e.targets]) for e in decision.effects
        ]
        verdict = decision.verdict
        assert verdict.kind.word in step["verdict"].split(), (step, verdict.guard, verdict.reason, details)
        if "guard" in step:
            assert verdict.guard == step["guard"], (step, details)
        if "reason" in step:
            assert step["reason"] in verdict.reason, (step, verdict.reason)


def test_sequences_number() -> None:
    """There are at least 400 sequences of several calls, and for two that are stopped at least one that is not."""
    cases = list(load_sequences())
    sequences = [case for case in cases if len(case["steps"]) > 1]
    passing = [case for case in sequences if case["steps"][-1].get("verdict") == "pass"]

    assert len(sequences) >= 400
    assert len({case["name"] for case in cases}) == len(cases)
    assert len(passing) * 3 >= len(sequences)
