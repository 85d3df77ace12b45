"""Approval requests under a policy that is no longer in force: no answer to one could be used, so it is ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.ledger.projections import APPROVALS
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

CLOSED_BY_POLICY = "policy"
"""How the log says why a request ended."""

_POLICY_PARTS = ("policy", "accepted")


class _Place(NamedTuple):
    """Where a request was asked, under which policy, and up to which entry later decisions were compared."""

    directory: str
    policy: tuple[Any, ...]
    seq: int


class PolicyWatch:
    """Looks through the decisions that follow a request. Only what a session decided itself tells its policy.

    To load the policy again would need the environment of the agent, which this process does not have.
    """

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._places: dict[str, _Place] = {}

    def end_outdated(self, session: str, id: str) -> bool:
        """End a request after which the session decided in its directory by another policy; return whether it did."""
        place = self._places.get(id) or self._find_place(session, id)
        if place is None:
            return False
        policy, seq = place.policy, place.seq
        for entry in self._store.reader.read_intact_entries(session, since=place.seq):
            seq = entry.seq
            receipt = entry.body.get("receipt") if entry.kind is EntryKind.DECISION else None
            if isinstance(receipt, Mapping) and receipt["action"].get("cwd") == place.directory:
                policy = _read_policy(receipt)
        self._places[id] = place._replace(seq=seq)
        return policy != place.policy and self._close(session, id)

    def forget(self, id: str) -> None:
        """Drop what is known of a request that has ended."""
        self._places.pop(id, None)

    def _find_place(self, session: str, id: str) -> _Place | None:
        request = self._store.read_projection(APPROVALS.name, session).get(id)
        asked = self._store.reader.read_entry(session, request["seq"]) if request else None
        fields = asked.body.get("request", {}) if asked else {}
        decision = self._store.reader.read_entry(session, fields["decision"]) if fields.get("id") == id else None
        if decision is None or decision.kind is not EntryKind.DECISION:
            return None
        receipt = decision.body["receipt"]
        return _Place(str(receipt["action"].get("cwd")), _read_policy(receipt), decision.seq)

    def _close(self, session: str, id: str) -> bool:
        with self._store.session(session) as log:
            request = log.read_projection(APPROVALS.name).get(id)
            if request is None or request["answer"] or request["closed"]:
                return False
            log.append(EntryKind.APPROVAL, {"id": id, "closed": CLOSED_BY_POLICY})
        return True


def _read_policy(receipt: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(receipt.get(part) for part in _POLICY_PARTS)
