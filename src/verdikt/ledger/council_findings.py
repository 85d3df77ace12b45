"""Council findings in the log: what is open against a plan, whatever its verdict file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.ledger.projections import FINDINGS
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.store import LogStore

FindingLog = Callable[[str, EntryKind, Mapping[str, Any]], None]


_COUNCIL_PREFIX = "council-"


def to_council_session(plan_hash: str) -> str:
    """Return the session of the log that holds the findings for a plan."""
    return f"{_COUNCIL_PREFIX}{plan_hash}"


def is_council_session(session: str) -> bool:
    """Return whether a session holds a council's findings and is not an agent's."""
    return session.startswith(_COUNCIL_PREFIX)


def create_finding_log(open_store: Callable[[], LogStore]) -> FindingLog:
    """Return a function that logs what happens to a plan's findings; it opens the store at the first entry."""

    def log_finding(plan_hash: str, kind: EntryKind, body: Mapping[str, Any]) -> None:
        # Opened late: a council without findings must not create a data directory.
        open_store().append(to_council_session(plan_hash), kind, {"plan": plan_hash, **body})

    return log_finding


def find_open_findings(store: LogStore, plan_hash: str) -> dict[str, str]:
    """Return the findings recorded for a plan and neither cleared nor superseded: id → level."""
    findings: dict[str, str] = store.read_projection(FINDINGS.name, to_council_session(plan_hash)) or {}
    return findings
