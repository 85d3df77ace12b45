"""Findings in the log: what stands against a plan, whatever its verdict file says."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.ledger.projection import Projection
from verdikt.model.entry import EntryKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from verdikt.ledger.store import Store
    from verdikt.model.entry import Entry

    Log = Callable[[str, EntryKind, Mapping[str, Any]], None]


_COUNCIL = "council-"


def council_session(plan_hash: str) -> str:
    """The session of the log that holds what was found for a plan."""
    return f"{_COUNCIL}{plan_hash}"


def is_council(session: str) -> bool:
    """Whether a session is one of those, and no agent's."""
    return session.startswith(_COUNCIL)


def finding_log(store: Callable[[], Store]) -> Log:
    """Takes what happened to a plan's findings into the log; the store is opened at the first entry."""

    def log(plan_hash: str, kind: EntryKind, body: Mapping[str, Any]) -> None:
        store().append(council_session(plan_hash), kind, {"plan": plan_hash, **body})

    return log


def _fold(state: dict[str, str], entry: Entry) -> dict[str, str]:
    if entry.kind is EntryKind.FINDING_CLEARED:
        return {id: level for id, level in state.items() if id != entry.body.get("id")}
    finding = entry.body.get("finding")
    if not isinstance(finding, Mapping):
        return state
    gone = {str(id) for id in finding.get("supersedes") or ()}
    kept = {id: level for id, level in state.items() if id not in gone}
    return kept | {str(finding.get("id")): str(finding.get("level"))}


FINDINGS = Projection(
    name="findings",
    initial={},
    fold=_fold,
    kinds=frozenset({EntryKind.FINDING, EntryKind.FINDING_CLEARED}),
)
"""What stands against a plan: id → level. A verdict file that lacks one of them was changed by hand."""


def standing(store: Store, plan_hash: str) -> dict[str, str]:
    """The findings that were recorded for a plan and neither cleared nor superseded: id → level."""
    found: dict[str, str] = store.project("findings", council_session(plan_hash)) or {}
    return found
