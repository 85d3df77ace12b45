"""Grants in the log: exceptions that the operator's signed entries allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """Append a grant, signed."""
    return store.append(OPERATOR, EntryKind.GRANT, {"grant": grant.to_record()})


def revoke_grant(store: FileStore, id: str) -> Entry:
    """Append the revocation of a live grant, signed; raise `LedgerError` when there is no such grant."""
    if id not in {grant.id for grant in find_live_grants(store, None, store.clock.now())}:
        raise LedgerError(f"no live grant `{id}`; `verdikt grant list` shows them")
    return store.append(OPERATOR, EntryKind.GRANT, {"revoke": id})


def use_grants(store: FileStore, grants: Iterable[Grant], session: str) -> bool:
    """Revoke grants that hold once, for a call that they let through; return False if another call was faster."""
    # Under the lock of the operator's log, because calls of several sessions may find the same grant alive.
    with store.session(OPERATOR) as log:
        live = log.read_projection(GRANTS.name)
        if any(grant.id not in live for grant in grants):
            return False
        for grant in grants:
            log.append(EntryKind.GRANT, {"revoke": grant.id, "used_by": session})
    return True


def find_live_grants(store: FileStore, session: str | None, now: float) -> tuple[Grant, ...]:
    """Return the grants that hold now for a session (None: for any), each read from its signed entry in the log.

    `state.db` only says where to look: writing to it grants nothing. A grant whose entry is damaged, or whose signature
    is wrong, does not hold.
    """
    grants = []
    for indexed in store.read_projection(GRANTS.name, OPERATOR).values():
        # The index saves reading entries that cannot match; what it claims is verified below.
        if indexed["expires"] <= now or (session is not None and indexed["session"] not in ("*", session)):
            continue
        grant = _read_verified_grant(store, indexed["seq"])
        if grant is not None and now < grant.expires and (session is None or grant.is_active(now, session)):
            grants.append(grant)
    return tuple(grants)


def _read_verified_grant(store: FileStore, seq: int) -> Grant | None:
    verified = find_operator_entry(store, seq)
    if verified is None:
        return None
    entry, later = verified
    grant = entry.body.get("grant")
    # An index that was tampered with cannot bring a revoked grant back.
    if not isinstance(grant, Mapping) or any(
        later_entry.body.get("revoke") == grant.get("id") for later_entry in later
    ):
        return None
    return parse_grant(grant)
