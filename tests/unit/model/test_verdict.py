"""A posture can make a verdict stricter and never looser."""

import itertools

import pytest

from verdikt.model.effect import EffectClass
from verdikt.model.posture import Posture
from verdikt.model.verdict import Verdict, VerdictKind, apply_posture

VERDICTS = {
    "pass": Verdict.pass_(guard="g"),
    "warn": Verdict.warn(guard="g", reason="a warning"),
    "ask": Verdict.ask(guard="g", reason="a doubt", fix="a way"),
    "block": Verdict.block(guard="g", reason="a wall", fix="a way", red_line=True),
}
DOMINANT = [None, *EffectClass]


@pytest.mark.parametrize(("kind", "posture", "dominant"), list(itertools.product(VERDICTS, Posture, DOMINANT)), ids=str)
def test_apply_posture_follows_the_table(kind: str, posture: Posture, dominant: EffectClass | None) -> None:
    """4 verdicts × 4 postures × 6 effects and none."""
    verdict = VERDICTS[kind]

    final = apply_posture(verdict, posture, dominant)

    assert final.kind >= verdict.kind
    if kind == "block":
        assert final is verdict
    elif posture in (Posture.DRY_RUN, Posture.LOCKED) and dominant not in (None, EffectClass.READ):
        assert (final.kind, final.guard) == (VerdictKind.BLOCK, "posture")
    elif posture is Posture.AUTONOMOUS and kind == "ask":
        assert (final.kind, final.guard, final.fix) == (VerdictKind.BLOCK, "g", "a way")
    else:
        assert final is verdict


def test_apply_posture_ask_in_autonomous_says_that_no_person_answers() -> None:
    """The agent must learn that waiting is no use."""
    final = apply_posture(VERDICTS["ask"], Posture.AUTONOMOUS, EffectClass.WRITE)

    assert final.reason == "a doubt; a person would have to say yes, and none is there to answer"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("pass", "live it would have run"),
        ("warn", "live it would have run with a warning (a warning)"),
        ("ask", "live a person would have been asked first (a doubt)"),
    ],
)
def test_apply_posture_in_dry_run_says_what_would_have_happened_live(kind: str, says: str) -> None:
    """The block of a dry run names the verdict that the policy would have given."""
    final = apply_posture(VERDICTS[kind], Posture.DRY_RUN, EffectClass.WRITE)

    assert final.reason == f"this is a dry run: only reads happen, and the effect here is `write`; {says}"
