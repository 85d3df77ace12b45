"""Sending a log: catching up, and what cannot be sent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.serve.team_server import ShippingMachine, TeamServer, run_team
from tests.unit.web.browser import ensure_vendor_files
from verdikt.model.entry import Entry, EntryKind, decode_entry, seal_entry
from verdikt.ship.service_client import Refused, Unreachable


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TeamServer]:
    """Return a replica on SQLite."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path / 'team.db'}") as server:
        yield server


@pytest.fixture
def machine(server: TeamServer, tmp_path: Path) -> ShippingMachine:
    """Return an enrolled machine."""
    return server.enrol(tmp_path / "ana")


def test_a_restored_older_database_is_caught_up_with(machine: ShippingMachine) -> None:
    """The service says where it ends, also to a process that has sent more already."""
    shipper = machine.open_shipper()
    machine.log("s", 3)
    shipper.ship_new_lines()
    machine.log("s", 3)
    shipper.ship_new_lines()
    last_hash = decode_entry(machine.read_log()["s"][2]).hash
    with machine.server.team.store.database.begin_write() as connection:
        connection.exec_driver_sql("DELETE FROM entry WHERE seq > 3")
        connection.exec_driver_sql("DELETE FROM segment WHERE first > 3")
        connection.exec_driver_sql(f"UPDATE chain SET seq = 3, hash = x'{last_hash}' WHERE session = 's'")
    machine.log("s", 2)
    shipper.ship_new_lines()

    assert machine.read_stored() == machine.read_log()
    assert shipper.problems == {}


def test_a_service_that_was_away_is_caught_up_with(machine: ShippingMachine, tmp_path: Path) -> None:
    """What was logged meanwhile is sent, by the process that failed and by a new one."""
    shipper = machine.open_shipper()
    machine.log("s", 3)
    shipper.ship_new_lines()
    url = shipper.client._port
    shipper.client._port = 1
    machine.log("s", 300)
    with pytest.raises(Unreachable):
        shipper.ship_new_lines()
    shipper.client._port = url
    shipper.ship_new_lines()

    assert machine.read_stored() == machine.read_log()


def test_an_edited_line_ends_the_sending_of_its_session_only(machine: ShippingMachine) -> None:
    """What verifies is sent, the rest is named."""
    machine.log("bad", 4)
    machine.log("good", 4)
    path = machine.home / "ledger" / "bad.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":9'))
    shipper = machine.open_shipper()
    shipper.ship_new_lines()

    assert len(machine.read_stored()["good"]) == 4
    assert len(machine.read_stored()["bad"]) == 2
    assert "expected a body with digest" in shipper.problems["bad"]


def test_entries_of_version_1_leave_no_machine_without_their_consent(server: TeamServer, tmp_path: Path) -> None:
    """Their hash covers the body itself: at the level `index` they stay, and that is said."""
    machine = server.enrol(tmp_path / "ben", level="index")
    line = seal_entry(Entry(seq=1, ts=1, session="old", kind=EntryKind.TOOL_CALL, body={"x": "secret"}, v=1))[1]
    (machine.home / "ledger").mkdir()
    (machine.home / "ledger" / "old.jsonl").write_bytes(line)
    shipper = machine.open_shipper()
    shipper.ship_new_lines()

    assert machine.read_stored() == {}
    assert shipper.problems == {"old": "entry 1 was written by an older verdikt"}


def test_pauses_grow_and_are_bounded(machine: ShippingMachine) -> None:
    """From a second to five minutes, never longer, and short again after a success."""
    shipper = machine.open_shipper()
    pauses = [shipper.choose_pause(Unreachable("gone")) for _ in range(30)]

    assert 0.5 <= pauses[0] <= 1
    assert all(150 <= pause <= 300 for pause in pauses[10:])
    assert shipper.choose_pause(Unreachable("busy", 10_000)) == 300
    assert shipper.choose_pause(Refused(403, "no", {})) <= 300
    assert shipper.choose_pause(None) == 2
    assert shipper.choose_pause(Unreachable("gone")) <= 1
