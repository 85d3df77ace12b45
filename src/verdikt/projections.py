"""Every projection of the log: name → where its `Projection` lives. A new one is one line here."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.ledger.projection import Projection

PROJECTIONS: dict[str, str] = {
    "session": "verdikt.ledger.sessions:SESSION",
    "posture": "verdikt.ledger.sessions:POSTURE",
    "grants": "verdikt.ledger.grants:GRANTS",
    "findings": "verdikt.ledger.findings:FINDINGS",
    "evidence": "verdikt.ledger.turns:EVIDENCE",
    "pause": "verdikt.ledger.pause:PAUSE",
    "memory": "verdikt.ledger.memories:MEMORY",
    "calls": "verdikt.ledger.memories:CALLS",
}


def projections() -> tuple[Projection, ...]:
    """All of them, for `open_store`: every process that writes to the log folds the same ones."""
    found = []
    for place in PROJECTIONS.values():
        module, _, name = place.partition(":")
        __import__(module)
        found.append(getattr(sys.modules[module], name))
    return tuple(found)
