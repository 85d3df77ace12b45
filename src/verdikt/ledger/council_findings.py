"""Council findings in the log: what is open against a plan, whatever its verdict file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verdikt.ledger.projections import COUNCIL, FINDINGS
from verdikt.model.council_log import OpenFinding
from verdikt.model.entry import EntryKind
from verdikt.model.finding import finding_from_record
from verdikt.model.reporter import Reporter

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


class StoredCouncilLog:
    """The log of councils in a store."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    def find_open_levels(self, plan_hash: str) -> dict[str, str]:
        """Return the findings of a plan that are neither cleared nor superseded: id → level."""
        return find_open_findings(self._store, plan_hash)

    def find_reports(self, plan_hash: str) -> dict[str, frozenset[Reporter]]:
        """Return who completed a review or recorded a finding in the name of each reviewer."""
        state = self._store.read_projection(COUNCIL.name, to_council_session(plan_hash)) or {}
        known = set(Reporter)
        return {
            reviewer: frozenset(Reporter(name) for name in names if name in known)
            for reviewer, names in (state.get("reports") or {}).items()
        }

    def find_open(self, repo: str, council: str) -> list[OpenFinding]:
        """Return the findings that are to be carried from plan to plan, the oldest first."""
        states = []
        for session in filter(is_council_session, self._store.list_sessions()):
            state = self._store.read_projection(COUNCIL.name, session) or {}
            if (state.get("repo"), state.get("council")) == (repo, council):
                states.append((session.removeprefix(_COUNCIL_PREFIX), state))
        # What was closed on one plan is closed on all earlier ones.
        closed: dict[str, float] = {}
        for _, state in states:
            for key, at in state["closed"].items():
                closed[key] = max(at, closed.get(key, 0.0))
        open_findings = []
        for plan_hash, state in states:
            for id, record in state["open"].items():
                finding = finding_from_record(record["finding"])
                closed_at = max(closed.get(key, 0.0) for key in (id, f"{finding.agent}|{finding.title}"))
                if closed_at < record["at"]:
                    open_findings.append((record["at"], OpenFinding(plan_hash, finding, record["contents"])))
        return [finding for _, finding in sorted(open_findings, key=lambda pair: pair[0])]
