"""Hosts' permission modes amount to postures, and the stricter of host and session holds."""

import pytest

from verdikt.model.posture import MODES, Posture, effective


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
    assert MODES[mode] == posture
    assert effective(Posture.INTERACTIVE, mode) == posture


@pytest.mark.parametrize("mode", ["", "default", "acceptEdits", "auto", "a mode of next year"])
@pytest.mark.parametrize("kept", Posture)
def test_an_unknown_mode_leaves_the_posture_as_it_is(kept: Posture, mode: str) -> None:
    """Nothing is read into a word that nobody defined."""
    assert effective(kept, mode) is kept


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kept", Posture)
def test_a_hosts_mode_never_loosens_the_sessions_posture(kept: Posture, mode: str) -> None:
    """An operator who locked a session is not unlocked by a host's switch."""
    order = list(Posture)

    assert order.index(effective(kept, mode)) >= order.index(kept)
