"""Hosts' permission modes amount to postures, and the stricter of two postures holds."""

import itertools

import pytest

from verdikt.model.posture import HOST_MODE_POSTURES, Posture
from verdikt.model.verdict import strictest_posture


@pytest.mark.parametrize(
    ("mode", "posture"),
    [
        ("bypassPermissions", "autonomous"),
        ("dontAsk", "autonomous"),
        ("yolo", "autonomous"),
        ("plan", "dry_run"),
    ],
)
def test_a_mode_amounts_to_a_posture(mode: str, posture: str) -> None:
    """Nobody to ask is autonomous; a plan changes nothing."""
    assert HOST_MODE_POSTURES[mode] == posture


@pytest.mark.parametrize("mode", ["", "default", "acceptEdits", "auto", "a mode of next year"])
def test_an_unknown_mode_amounts_to_none(mode: str) -> None:
    """Nothing is read into a word that nobody defined."""
    assert mode not in HOST_MODE_POSTURES


def test_the_stricter_holds_whichever_comes_first() -> None:
    """An operator who locked a session is not unlocked by a host's switch."""
    order = [Posture.INTERACTIVE, Posture.AUTONOMOUS, Posture.DRY_RUN, Posture.LOCKED]

    assert strictest_posture() is Posture.INTERACTIVE
    for less, more in itertools.combinations_with_replacement(order, 2):
        assert strictest_posture(less, more) is strictest_posture(more, less) is more
