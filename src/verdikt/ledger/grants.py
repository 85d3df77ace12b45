"""Grants in the log: who may get past what, as the operator's signed entries say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdikt.errors import LedgerError
from verdikt.ledger.operator_log import find_operator_entry
from verdikt.ledger.projections import GRANTS
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind
from verdikt.model.grant import parse_grant

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.model.grant import Grant


def add_grant(store: FileStore, grant: Grant) -> Entry:
    """Records a grant, signed."""
    return store.append(OPERATOR, EntryKind.GRANT, {"grant": grant.to_record()})


def revoke_grant(store: FileStore, id: str) -> Entry:
    """Records that a grant holds no longer, signed."""
    if id not in {grant.id for grant in find_live_grants(store, None, store.clock.now())}:
        raise LedgerError(f"no live grant `{id}`; `verdikt grant list` shows them")
    return store.append(OPERATOR, EntryKind.GRANT, {"revoke": id})


def find_live_grants(store: FileStore, session: str | None, now: float) -> tuple[Grant, ...]:
    """The grants that hold now for a session (None: for any), each read from its signed entry in the log.

    `state.db` only says where to look: whoever writes there cannot grant anything. A grant whose entry is damaged or
    whose signature fails does not hold.
    """
    found = []
    for known in store.read_projection(GRANTS.name, OPERATOR).values():
        if known["expires"] <= now or (session is not None and known["session"] not in ("*", session)):
            continue
        grant = _read_verified_grant(store, known["seq"])
        if grant is not None and now < grant.expires and (session is None or grant.is_active(now, session)):
            found.append(grant)
    return tuple(found)


def _read_verified_grant(store: FileStore, seq: int) -> Grant | None:
    found = find_operator_entry(store, seq)
    if found is None:
        return None
    entry, later = found
    grant = entry.body.get("grant")
    if not isinstance(grant, Mapping) or any(each.body.get("revoke") == grant.get("id") for each in later):
        return None
    return parse_grant(grant)
