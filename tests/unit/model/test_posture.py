"""Hosts' permission modes and their postures; the stricter of two postures applies."""

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
def test_host_mode_has_its_posture(mode: str, posture: str) -> None:
    """A mode without prompts is autonomous; planning is a dry run."""
    assert HOST_MODE_POSTURES[mode] == posture


@pytest.mark.parametrize("mode", ["", "default", "acceptEdits", "auto", "a mode of next year"])
def test_host_mode_that_is_unknown_has_no_posture(mode: str) -> None:
    """No posture is derived from an undefined word."""
    assert mode not in HOST_MODE_POSTURES


def test_strictest_posture_does_not_depend_on_the_order() -> None:
    """A host's mode does not unlock a session that an operator locked."""
    order = [Posture.INTERACTIVE, Posture.AUTONOMOUS, Posture.DRY_RUN, Posture.LOCKED]

    assert strictest_posture() is Posture.INTERACTIVE
    for less, more in itertools.combinations_with_replacement(order, 2):
        assert strictest_posture(less, more) is strictest_posture(more, less) is more
