"""Grants in the log: only signed entries count."""

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
from verdikt.model.entry import decode_entry
from verdikt.model.grant import Grant
from verdikt.observe.watched_files import AnswerCache

NOW = FakeClock().now()


def open_store(home: Path) -> FileStore:
    """Open a store as a new process would."""
    return close_after_test(FileStore(home, FakeClock(), load_projections(), durable=False))


def build_grant(id: str = "g1", **change: object) -> Grant:
    """Return a grant for one hour."""
    fields = {"guard": "g", "target": "/srv", "session": "s", "expires": int(NOW) + 3600, "reason": "r"}
    return Grant(**{"id": id, **fields, **change})  # type: ignore[arg-type]


def test_grant_holds_for_its_session_until_it_expires(tmp_path: Path) -> None:
    """A grant is a signed entry that holds for its session, until it expires."""
    store = open_store(tmp_path)
    entry = grants.add_grant(store, build_grant())

    assert entry.sig
    assert grants.find_live_grants(store, "s", NOW) == (build_grant(),)
    assert grants.find_live_grants(store, "t", NOW) == ()
    assert grants.find_live_grants(store, None, NOW) == (build_grant(),)
    assert grants.find_live_grants(store, "s", NOW + 3600) == ()


def test_revoked_grant_does_not_hold(tmp_path: Path) -> None:
    """A grant can be revoked once."""
    store = open_store(tmp_path)
    grants.add_grant(store, build_grant())
    grants.add_grant(store, build_grant("g2"))
    grants.revoke_grant(store, "g1")

    assert [g.id for g in grants.find_live_grants(store, "s", NOW)] == ["g2"]
    with pytest.raises(LedgerError, match="no live grant `g1`"):
        grants.revoke_grant(store, "g1")


def test_grant_entry_in_another_session_grants_nothing(tmp_path: Path) -> None:
    """Only the operator's log grants."""
    store = open_store(tmp_path)
    store.append("s", "grant", {"grant": build_grant().to_record()})

    assert grants.find_live_grants(store, "s", NOW) == ()


def test_changed_database_grants_nothing(tmp_path: Path) -> None:
    """An index row without a signed grant is ignored, and a revoked grant stays revoked."""
    store = open_store(tmp_path)
    grants.add_grant(store, build_grant())
    before = _read_index(store)
    grants.revoke_grant(store, "g1")
    store.append(OPERATOR, "crash", {"grant": build_grant("g9").to_record()})
    store.close()
    forged = before.replace('"g1":{', '"g9":{"expires":9999999999,"seq":3,"session":"s"},"g1":{')
    assert forged != before
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE state SET state = ? WHERE name = 'grants'", (forged,))
    connection.commit()
    connection.close()

    assert grants.find_live_grants(open_store(tmp_path), "s", NOW) == ()


def test_changed_grant_does_not_hold(tmp_path: Path) -> None:
    """Its hash or its signature is wrong."""
    store = open_store(tmp_path)
    grants.add_grant(store, build_grant())
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"target":"/srv"', b'"target":"/etc"'))

    assert grants.find_live_grants(open_store(tmp_path), "s", NOW) == ()


def _damage_last_line(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-1], lines[-1].replace(b'"seq":', b'"sEq":')])


def _cut_last_line(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def _erase_last_body(data: bytes) -> bytes:
    """Leave out the body of the last line, which keeps its hash."""
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-1], decode_entry(lines[-1]).to_line(with_body=False)])


def _drop_second_to_last_line(data: bytes) -> bytes:
    """Remove the line before the last."""
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-2], lines[-1]])


@pytest.mark.parametrize("damage", [_damage_last_line, _erase_last_body, _cut_last_line, _drop_second_to_last_line])
@pytest.mark.parametrize("database", [True, False])
def test_revoked_grant_stays_revoked_when_the_log_is_damaged(
    damage: Callable[[bytes], bytes], database: bool, tmp_path: Path
) -> None:
    """A missing or unreadable line may have been the revocation, so the grant does not hold."""
    store = open_store(tmp_path)
    pause.begin_pause(store, seconds=600, reason="errand", by="me")
    grants.add_grant(store, build_grant())
    assert (pause.find_active_pause(store) is not None, len(grants.find_live_grants(store, "s", NOW))) == (True, 1)
    for end in (lambda: pause.end_pause(store, by="me"), lambda: grants.revoke_grant(store, "g1")):
        end()
        if damage is _drop_second_to_last_line:
            store.append(OPERATOR, "crash", {})
    store.close()
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    if not database and damage is not _cut_last_line:  # without `state.db`, nothing else knows of a cut end
        (tmp_path / "state.db").unlink()
    again = open_store(tmp_path)

    assert grants.find_live_grants(again, "s", NOW) == ()
    assert pause.find_active_pause(again) is None


def test_grant_after_damage_holds(tmp_path: Path) -> None:
    """The operator can go on after damage."""
    store = open_store(tmp_path)
    store.append(OPERATOR, "crash", {})
    grants.add_grant(store, build_grant())
    store.close()
    path = tmp_path / "ledger" / "operator.jsonl"
    path.write_bytes(_damage_last_line(path.read_bytes()))
    again = open_store(tmp_path)
    grants.add_grant(again, build_grant("g2"))
    pause.begin_pause(again, seconds=600, reason="errand", by="me")

    assert [live_grant.id for live_grant in grants.find_live_grants(again, "s", NOW)] == ["g2"]
    assert pause.find_active_pause(again) is not None


def test_expired_grants_leave_the_index(tmp_path: Path) -> None:
    """The index stays small."""
    store = open_store(tmp_path)
    clock = store.clock
    assert isinstance(clock, FakeClock)
    for at in range(5):
        grants.add_grant(store, build_grant(f"g{at}", expires=int(clock.now()) + 10))
        clock.seconds += 20

    assert len(store.read_projection("grants", OPERATOR)) == 1


def _read_index(store: FileStore) -> str:
    with store.state.hold_connection() as db:
        row = db.read_state(OPERATOR, "grants")
    assert row is not None
    return row.text


def test_grant_is_read_again_only_when_the_operators_log_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a grant holds, a decision does not read what follows it in the log, and still hears of its revocation."""
    store = open_store(tmp_path)
    store.operator_entries = AnswerCache(8, FakeClock(seconds=4e9))  # as if the files had settled
    grants.add_grant(store, build_grant())
    assert grants.find_live_grants(store, "s", NOW) == (build_grant(),)
    with monkeypatch.context() as patch:
        patch.setattr(store.reader, "read_lines", lambda *_, **__: pytest.fail("the log was read"))
        assert grants.find_live_grants(store, "s", NOW) == (build_grant(),)

    grants.revoke_grant(store, "g1")

    assert grants.find_live_grants(store, "s", NOW) == ()
