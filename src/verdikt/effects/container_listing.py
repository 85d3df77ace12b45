"""Listings of containers whose output names what another command removes: all of them, or those that a filter picks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.installation_names import is_live_name
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_PICKING_FILTER = compile_lazily(r"(?:--filter|-f)[ =][\"']?(?:name|label|ancestor|network|volume)=[\"']?\w")
_STOPPED_FILTER = compile_lazily(r"(?:--filter|-f)[ =][\"']?status=(?:exited|created|dead)")
FOR_TESTS = compile_lazily(r"(?:^|[-_./=])(?:tests?|testcontainers|ci|e2e|integration)(?:[-_./)\"' ]|$)")
"""Names of what exists for tests, and is made again each time."""


def list_listings(call: Invocation, unknown: Sequence[Word]) -> list[str]:
    """Return the listings of containers that give the names, written in the words or in the pipe before them."""
    if call.command.repeated and all(word.text == UNKNOWN for word in unknown):
        upstream = [command for command in call.iter_upstream() if command.name == call.name]
        return [" ".join(word.text for word in command.argv) for command in upstream]
    return [word.raw for word in unknown]


def is_picking(listing: str) -> bool:
    """Return whether a listing has only the containers of a name, a label, an image or a network."""
    return _PICKING_FILTER.search(listing) is not None


def lists_stopped(listing: str) -> bool:
    """Return whether a listing has only containers that do not run."""
    return _STOPPED_FILTER.search(listing) is not None


def are_named_for_tests(names: Sequence[Word]) -> bool:
    """Return whether every name is one of a container that exists for tests."""
    return bool(names) and all(FOR_TESTS.search(word.text) and not is_live_name(word.text) for word in names)


def is_started_here(call: Invocation) -> bool:
    """Return whether the same text starts every container that a command names."""
    started: set[str] = set()
    for command in call.commands:
        if command.name == call.name:
            started |= {following.text for word, following in pairwise(command.argv) if word.text == "--name"}
        started |= {word.text.removeprefix("--name=") for word in command.argv if word.text[:7] == "--name="}
    return bool(call.args.operands) and all(word.text in started for word in call.args.operands)


def are_picked(call: Invocation) -> bool:
    """Return whether the containers come from a listing of those with a certain name, label or image."""
    listings = [c for c in call.commands if c.name == call.name and any(w.text in ("ps", "ls") for w in c.argv[1:3])]
    return bool(listings) and all(
        any(word.text.startswith(("--filter", "-f", "name=", "label=", "ancestor=")) for word in command.argv)
        for command in listings
    )
