"""Sending a log: catching up, and what cannot be sent."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.fakes import FakeClock
from tests.unit.serve.team_server import ShippingMachine, TeamServer, run_team
from tests.unit.web.browser import ensure_vendor_files
from verdikt.daemon.companion import create_sender
from verdikt.ledger.chain_verifier import verify_chain
from verdikt.ledger.files import FileStore
from verdikt.model.entry import Entry, EntryKind, decode_entry, seal_entry
from verdikt.observe.clock import SystemClock
from verdikt.serve import schema
from verdikt.serve.fleet_reads import MachineRow
from verdikt.serve.people import Person
from verdikt.ship.machine_identity import MachineIdentity
from verdikt.ship.service_client import Refused, ServiceClient, Unreachable
from verdikt.ship.shipper import LOOK_SECONDS, SEND_LINES, SEND_SECONDS
from verdikt.team.search_query import SearchQuery


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


@pytest.mark.parametrize(
    ("entries", "seconds"),
    [
        (0, SEND_SECONDS),
        (5, SEND_SECONDS),
        (SEND_LINES, LOOK_SECONDS),
        ("block", LOOK_SECONDS),
    ],
)
def test_entries_are_sent_together_and_an_ask_or_block_at_once(
    machine: ShippingMachine, entries: int | str, seconds: float
) -> None:
    """A few entries wait for others; many of them, and one that people want to see, do not."""
    shipper, clock = machine.open_shipper(), FakeClock()
    machine.log("s", 3)
    shipper.ship_new_lines()
    if isinstance(entries, int):
        machine.log("s", entries)
    else:
        with FileStore(machine.home, FakeClock(), durable=False) as store:
            store.append("s", "decision", {"receipt": {"verdict": {"kind": entries, "guard": "rules"}}})
    started_at = clock.now()
    shipper.wait_for_entries(clock)
    shipper.ship_new_lines()

    assert clock.now() - started_at == seconds
    assert machine.read_stored() == machine.read_log()


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
    shipper.ship_new_lines()
    assert shipper.choose_pause(Unreachable("gone")) <= 1


def test_heads_prove_the_log_and_tell_nothing_of_it(server: TeamServer, tmp_path: Path) -> None:
    """The chain verifies; neither a command nor a tool nor a path is stored."""
    machine = server.enrol(tmp_path / "quiet", level="heads")
    machine.log("s", 5, payload={"command": "cat private-plans.txt"})
    machine.open_shipper().ship_new_lines()
    store = server.team.store
    entries = store.read_as(server.organisation).search_entries(SearchQuery()).entries
    lines = machine.read_stored()["s"]

    assert len(lines) == 5
    assert not any(b"private-plans" in line or b"Bash" in line for line in lines)
    assert verify_chain(lambda: iter(lines), session="s").is_intact
    assert {(entry["summary"], entry["tool"]) for entry in entries if entry["session"] == "s"} == {("", "")}


def test_a_machine_is_let_in_by_a_person_who_sees_its_code(server: TeamServer, tmp_path: Path) -> None:
    """Nothing can be sent before; another code and a second confirmation do nothing."""
    identity = MachineIdentity(tmp_path)
    client = ServiceClient(server.url, SystemClock())
    newcomer = f'{{"name":"laptop","public_key":"{identity.get_public_key_hex()}"}}'.encode()
    begun = client.call("POST", "/v1/enrol/device", newcomer, is_signed=False)
    ask = f'{{"secret":"{begun["secret"]}"}}'.encode()
    devices, now = server.team.service.devices, server.team.clock.now()
    people = server.team.service.people
    person = people.ensure_person(server.organisation, "ana", "Ana", frozenset({"developer"}))
    ana = Person(person, server.organisation, "Ana", frozenset({"developer"}))

    assert client.call("POST", "/v1/enrol/device/state", ask, is_signed=False) == {"machine": None}
    assert devices.confirm("AAAA-AAAA", ana, "", now) is None
    waiting = devices.find_waiting(begun["code"], now)
    assert waiting is not None
    assert waiting.name == "laptop"
    machine = devices.confirm(begun["code"], ana, "web", now)
    assert devices.confirm(begun["code"], ana, "", now) is None
    assert client.call("POST", "/v1/enrol/device/state", ask, is_signed=False)["machine"] == machine
    assert server.team.service.machines.find_machines(server.organisation, person, frozenset()) == {machine}
    with pytest.raises(Refused, match="unknown or too old"):
        client.call("POST", "/v1/enrol/device/state", b'{"secret":"x"}', is_signed=False)


def test_the_warm_process_sends_the_log_by_a_process_of_its_own(machine: ShippingMachine) -> None:
    """It starts where the machine is enrolled, sends, and ends when the pipe from the warm process closes."""
    machine.log("s", 5)
    companion = create_sender(machine.home, {})
    companion.check()
    pid = companion._pid
    wait_until(lambda: machine.read_stored() == machine.read_log())
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    companion.close()

    wait_until(companion._has_ended)


def test_a_machine_that_is_not_enrolled_starts_nothing(tmp_path: Path) -> None:
    """The warm process looks at one file."""
    companion = create_sender(tmp_path, {})
    companion.check()

    assert companion._pid == 0


@pytest.mark.parametrize("variable", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_the_sender_finds_settings_that_were_moved(machine: ShippingMachine, tmp_path: Path, variable: str) -> None:
    """The warm process hands on where the person's settings are, and nothing else of its environment."""
    env = {"HOME": str(tmp_path / "home"), variable: str(tmp_path / "moved"), "PATH": os.environ["PATH"]}
    for directory in (env["HOME"], str(tmp_path / "moved")):
        Path(directory).mkdir(exist_ok=True)
    wire = [sys.executable, "-m", "verdikt", "init", "--host", "claude", "--scope", "user", "--yes"]
    subprocess.run(wire, env={**env, "VERDIKT_DAEMON": "off"}, check=True, capture_output=True, timeout=60)
    companion = create_sender(machine.home, {**env, "API_KEY": "x"})
    companion.check()
    database = machine.server.team.store.database

    def read_hosts() -> object:
        with database.begin_read() as connection:
            return json.loads(connection.execute(select(schema.machine.c.status)).scalar_one()).get("hosts")

    wait_until(lambda: read_hosts() == ["claude"])
    companion.close()
    wait_until(companion._has_ended)

    assert "API_KEY" not in companion._env


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_machine_says_its_policy_and_what_doctor_finds_at_fault(machine: ShippingMachine, tmp_path: Path) -> None:
    """After a real `init` nothing; then settings that lost an event, and a policy that cannot be read."""
    home = tmp_path / "home"
    home.mkdir()
    env = {"HOME": str(home), "VERDIKT_HOME": str(machine.home), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "verdikt", *arguments]
        return subprocess.run(
            command, env=env, cwd=home, check=True, capture_output=True, text=True, timeout=120
        ).stdout

    def report() -> MachineRow:
        run("ship", "status")
        return machine.server.team.store.read_as(machine.server.organisation).list_machines()[0]

    run("init", "--host", "claude", "--scope", "user", "--yes")
    healthy = report()
    assert (healthy.policy, healthy.faults) == (json.loads(run("policy", "show", "--json"))["digest"], [])
    settings = home / ".claude" / "settings.json"
    wired = json.loads(settings.read_text())
    wired["hooks"].popitem()
    settings.write_text(json.dumps(wired))
    assert report().faults == ["claude"]
    policy = home / ".config" / "verdikt" / "governance.yaml"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text("rules: [")

    assert (report().policy, report().faults) == ("", ["claude", "the policy"])
