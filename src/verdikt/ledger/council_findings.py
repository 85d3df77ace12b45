"""Council findings in the log: what is open against a plan, whatever its verdict file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verdikt.ledger.projections import FINDINGS
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.store import LogStore

FindingLog = Callable[[str, EntryKind, Sequence[Mapping[str, Any]]], None]


_COUNCIL_PREFIX = "council-"


def to_council_session(plan_hash: str) -> str:
    """Return the session of the log that holds the findings for a plan."""
    return f"{_COUNCIL_PREFIX}{plan_hash}"


def is_council_session(session: str) -> bool:
    """Return whether a session holds a council's findings and is not an agent's."""
    return session.startswith(_COUNCIL_PREFIX)


def create_finding_log(open_store: Callable[[], LogStore]) -> FindingLog:
    """Return a function that logs what happens to a plan's findings; it opens the store at the first entry."""

    def log_findings(plan_hash: str, kind: EntryKind, bodies: Sequence[Mapping[str, Any]]) -> None:
        # Opened late: a council without findings must not create a data directory. One block for all of them: a scanner
        # reports thousands, and each block waits for the disk.
        with open_store().session(to_council_session(plan_hash)) as log:
            for body in bodies:
                log.append(kind, {"plan": plan_hash, **body})

    return log_findings


def find_open_findings(store: LogStore, plan_hash: str) -> dict[str, str]:
    """Return the findings recorded for a plan and neither cleared nor superseded: id → level."""
    buckets: dict[str, dict[str, str]] = store.read_projection(FINDINGS.name, to_council_session(plan_hash)) or {}
    return {id: level for bucket in buckets.values() for id, level in bucket.items()}
