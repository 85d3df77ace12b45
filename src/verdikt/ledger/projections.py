"""Every projection of the log: name → where its `Projection` lives. A new one is one line here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.ledger.projection import Projection

PROJECTIONS: dict[str, str] = {
    "session": "verdikt.ledger.session_projection:SESSION",
    "posture": "verdikt.ledger.session_projection:POSTURE",
    "grants": "verdikt.ledger.grants:GRANTS",
    "findings": "verdikt.ledger.council_findings:FINDINGS",
    "evidence": "verdikt.ledger.evidence_projection:EVIDENCE",
    "pause": "verdikt.ledger.pause:PAUSE",
    "memory": "verdikt.ledger.memory_projection:MEMORY",
    "calls": "verdikt.ledger.memory_projection:CALLS",
}


def load_projections() -> tuple[Projection, ...]:
    """All of them, for `open_store`: every process that writes to the log folds the same ones."""
    found = []
    for place in PROJECTIONS.values():
        module, _, name = place.partition(":")
        __import__(module)
        found.append(getattr(sys.modules[module], name))
    return tuple(found)
