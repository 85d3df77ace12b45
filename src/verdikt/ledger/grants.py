"""Grants in the log: who may get past what, as the operator's signed entries say."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.errors import LedgerError
from verdikt.ledger.projection import Projection
from verdikt.ledger.store import OPERATOR
from verdikt.ledger.word import word_at
from verdikt.model.entry import EntryKind
from verdikt.model.grant import parse_grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.model.grant import Grant


def _fold(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    body = entry.body
    if entry.session != OPERATOR:
        return state  # a grant is the operator's word: said elsewhere, it is nobody's
    kept = {id: known for id, known in state.items() if known["expires"] > entry.seconds}
    if "revoke" in body:
        kept.pop(str(body["revoke"]), None)
    elif isinstance(body.get("grant"), Mapping):
        grant = body["grant"]
        kept[str(grant.get("id"))] = {
            "seq": entry.seq,
            "expires": grant.get("expires", 0),
            "session": grant.get("session", ""),
        }
    return kept


GRANTS = Projection(name="grants", initial={}, fold=_fold, kinds=frozenset({EntryKind.GRANT}))
"""Grants that have neither expired nor been revoked: id → where its entry stands. An index, never believed by itself."""


def add(store: FileStore, grant: Grant) -> Entry:
    """Records a grant, signed."""
    return store.append(OPERATOR, EntryKind.GRANT, {"grant": grant.record()})


def revoke(store: FileStore, id: str) -> Entry:
    """Records that a grant holds no longer, signed."""
    if id not in {grant.id for grant in live(store, None, store.clock.now())}:
        raise LedgerError(f"no live grant `{id}`; `verdikt grant list` shows them")
    return store.append(OPERATOR, EntryKind.GRANT, {"revoke": id})


def live(store: FileStore, session: str | None, now: float) -> tuple[Grant, ...]:
    """The grants that hold now for a session (None: for any), each read from its signed entry in the log.

    `state.db` only says where to look: whoever writes there cannot grant anything. A grant whose entry is damaged or
    whose signature fails does not hold.
    """
    found = []
    for known in store.project(GRANTS.name, OPERATOR).values():
        if known["expires"] <= now or (session is not None and known["session"] not in ("*", session)):
            continue
        grant = _confirmed(store, known["seq"])
        if grant is not None and now < grant.expires and (session is None or grant.live(now, session)):
            found.append(grant)
    return tuple(found)


def _confirmed(store: FileStore, seq: int) -> Grant | None:
    found = word_at(store, seq)
    if found is None:
        return None
    entry, later = found
    grant = entry.body.get("grant")
    if not isinstance(grant, Mapping) or any(each.body.get("revoke") == grant.get("id") for each in later):
        return None
    return parse_grant(grant)
