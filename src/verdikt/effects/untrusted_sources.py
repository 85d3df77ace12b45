"""What a session remembers of text that came into it from outside: the sources that a policy's flows are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from verdikt.model.action import ActionKind
from verdikt.model.effect import Zone
from verdikt.model.facts import UNTRUSTED_KEY

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.effect import Effects
    from verdikt.model.facts import Facts

_FOREIGN_ZONES = (Zone.HOME, Zone.OUTSIDE)
_MAX_ORIGINS = 8
"""Number of names that are kept for each source."""


def note_sources(action: Action, effects: Effects, facts: Facts, seq: int) -> dict[str, Any]:
    """Return what the memory keeps of text that came from outside, for the flows of a policy."""
    origins = list(_iter_origins(action, effects))
    if not origins:
        return {}
    before = facts.untrusted_sources
    sources: dict[str, dict[str, int]] = {source: dict(names) for source, names in before.items()}
    for source, name in origins:
        names = sources.setdefault(source, {})
        names.setdefault(name[:100], seq)
        while len(names) > _MAX_ORIGINS:
            del names[next(iter(names))]
    return {UNTRUSTED_KEY: sources} if sources != before else {}


def _iter_origins(action: Action, effects: Effects) -> Iterator[tuple[str, str]]:
    """Yield where the text comes from that an action brings into the session: source and name."""
    if action.kind is ActionKind.MCP:
        yield "mcp", action.tool
    for effect in effects:
        target = effect.targets[0] if effect.targets else None
        if effect.what == "net.fetch":
            yield "web", target.text if target is not None else action.tool
        elif effect.what == "repo.read":
            yield "issue", effect.by or action.tool
        elif effect.what == "fs.read" and target is not None and target.zone in _FOREIGN_ZONES:
            yield "outside", target.text
