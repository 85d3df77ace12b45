"""Listings of containers whose output names what another command removes: all of them, or those that a filter picks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_PICKING_FILTER = compile_lazily(r"(?:--filter|-f)[ =][\"']?(?:name|label|ancestor|network|volume)=[\"']?\w")
_STOPPED_FILTER = compile_lazily(r"(?:--filter|-f)[ =][\"']?status=(?:exited|created|dead)")


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
