"""Grants in the log: what is signed there holds, and nothing else."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.errors import LedgerError
from verdikt.ledger import grants, pause
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.ledger.store import OPERATOR
from verdikt.model.grant import Grant

NOW = FakeClock().now()


def opened(home: Path) -> FileStore:
    """A store as a new process would open it."""
    return close_after_test(FileStore(home, FakeClock(), load_projections(), durable=False))


def grant(id: str = "g1", **change: object) -> Grant:
    """A grant for an hour."""
    fields = {"guard": "g", "target": "/srv", "session": "s", "expires": int(NOW) + 3600, "reason": "r"}
    return Grant(**{"id": id, **fields, **change})  # type: ignore[arg-type]


def test_a_grant_is_a_signed_entry_and_holds(tmp_path: Path) -> None:
    """For its session, until it expires."""
    store = opened(tmp_path)
    entry = grants.add_grant(store, grant())

    assert entry.sig
    assert grants.find_live_grants(store, "s", NOW) == (grant(),)
    assert grants.find_live_grants(store, "t", NOW) == ()
    assert grants.find_live_grants(store, None, NOW) == (grant(),)
    assert grants.find_live_grants(store, "s", NOW + 3600) == ()


def test_a_revoked_grant_holds_no_longer(tmp_path: Path) -> None:
    """And cannot be revoked twice."""
    store = opened(tmp_path)
    grants.add_grant(store, grant())
    grants.add_grant(store, grant("g2"))
    grants.revoke_grant(store, "g1")

    assert [g.id for g in grants.find_live_grants(store, "s", NOW)] == ["g2"]
    with pytest.raises(LedgerError, match="no live grant `g1`"):
        grants.revoke_grant(store, "g1")


def test_a_grant_in_another_session_is_nobodys(tmp_path: Path) -> None:
    """Only the operator's log grants."""
    store = opened(tmp_path)
    store.append("s", "grant", {"grant": grant().to_record()})

    assert grants.find_live_grants(store, "s", NOW) == ()


def test_whoever_writes_the_database_grants_nothing(tmp_path: Path) -> None:
    """An index entry that points at no signed grant is worth nothing, and a revoked grant stays revoked."""
    store = opened(tmp_path)
    grants.add_grant(store, grant())
    before = _state(store)
    grants.revoke_grant(store, "g1")
    store.append(OPERATOR, "crash", {"grant": grant("g9").to_record()})
    store.close()
    forged = before.replace('"g1":{', '"g9":{"expires":9999999999,"seq":3,"session":"s"},"g1":{')
    assert forged != before
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE state SET state = ? WHERE name = 'grants'", (forged,))
    connection.commit()
    connection.close()

    assert grants.find_live_grants(opened(tmp_path), "s", NOW) == ()


def test_a_grant_that_was_changed_does_not_hold(tmp_path: Path) -> None:
    """Its hash or its signature fails."""
    store = opened(tmp_path)
    grants.add_grant(store, grant())
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"target":"/srv"', b'"target":"/etc"'))

    assert grants.find_live_grants(opened(tmp_path), "s", NOW) == ()


def _damaged(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-1], lines[-1].replace(b'"seq":', b'"sEq":')])


def _cut_off(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def _left_out(data: bytes) -> bytes:
    """Without the line before the last."""
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-2], lines[-1]])


@pytest.mark.parametrize("spoiled", [_damaged, _cut_off, _left_out])
@pytest.mark.parametrize("database", [True, False])
def test_what_was_taken_back_stays_so_when_the_log_is_spoiled(
    spoiled: Callable[[bytes], bytes], database: bool, tmp_path: Path
) -> None:
    """A line that cannot be read, or is gone, may have been the one that took it back: a damage is no permission."""
    store = opened(tmp_path)
    pause.begin_pause(store, seconds=600, reason="errand", by="me")
    grants.add_grant(store, grant())
    assert (pause.find_active_pause(store) is not None, len(grants.find_live_grants(store, "s", NOW))) == (True, 1)
    for end in (lambda: pause.end_pause(store, by="me"), lambda: grants.revoke_grant(store, "g1")):
        end()
        if spoiled is _left_out:
            store.append(OPERATOR, "crash", {})
    store.close()
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(spoiled(path.read_bytes()))
    if not database and spoiled is not _cut_off:  # of which nobody else knows then
        (tmp_path / "state.db").unlink()
    again = opened(tmp_path)

    assert grants.find_live_grants(again, "s", NOW) == ()
    assert pause.find_active_pause(again) is None


def test_what_is_said_after_a_damage_holds(tmp_path: Path) -> None:
    """The operator can go on."""
    store = opened(tmp_path)
    store.append(OPERATOR, "crash", {})
    grants.add_grant(store, grant())
    store.close()
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(_damaged(path.read_bytes()))
    again = opened(tmp_path)
    grants.add_grant(again, grant("g2"))
    pause.begin_pause(again, seconds=600, reason="errand", by="me")

    assert [each.id for each in grants.find_live_grants(again, "s", NOW)] == ["g2"]
    assert pause.find_active_pause(again) is not None


def test_expired_grants_leave_the_index(tmp_path: Path) -> None:
    """It stays small."""
    store = opened(tmp_path)
    clock = store.clock
    assert isinstance(clock, FakeClock)
    for at in range(5):
        grants.add_grant(store, grant(f"g{at}", expires=int(clock.now()) + 10))
        clock.seconds += 20

    assert len(store.read_projection("grants", OPERATOR)) == 1


def _state(store: FileStore) -> str:
    with store.state.hold_connection() as db:
        row = db.read_state(OPERATOR, "grants")
    assert row is not None
    return row.text
