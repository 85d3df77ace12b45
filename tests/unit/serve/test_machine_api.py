"""Machines and the service, over real sockets: enrolment, signatures, sending, limits."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.fakes import FakeClock
from tests.unit.serve.team_server import TeamServer, run_team
from tests.unit.team.chains import build_lines
from tests.unit.web.browser import ensure_vendor_files
from verdikt.errors import ServiceError
from verdikt.serve import group_ingest, machine_rates
from verdikt.serve.fleet_reads import MachineRow
from verdikt.serve.machine_keys import CACHE_SECONDS
from verdikt.ship.machine_identity import MachineIdentity
from verdikt.ship.service_client import Refused, ServiceClient, Unreachable

LINES = build_lines("s", range(1, 21))
BOMB = b"\n" * (20 << 20)


@pytest.fixture
def server(database_url: str) -> Iterator[TeamServer]:
    """Return a replica on each database."""
    ensure_vendor_files()
    with run_team(database_url) as server:
        yield server


@pytest.fixture
def clock() -> FakeClock:
    """Return the service's clock."""
    return FakeClock(1_793_000_000.0)


@pytest.fixture
def sqlite_server(tmp_path: Path, clock: FakeClock) -> Iterator[TeamServer]:
    """Return a replica on SQLite whose clock is set by the test."""
    ensure_vendor_files()
    with run_team(f"sqlite:///{tmp_path / 'team.db'}", clock) as server:
        yield server


def pack(*lines: bytes) -> bytes:
    """Return a batch as it is sent."""
    return zstandard.ZstdCompressor().compress(b"".join(lines))


def test_a_log_arrives_byte_for_byte(server: TeamServer, tmp_path: Path) -> None:
    """Several sessions, in several batches, sent again by a new process, and continued."""
    machine = server.enrol(tmp_path / "ana")
    machine.log("long", 700)
    machine.log("short", 3)
    machine.open_shipper().ship_new_lines()
    assert machine.read_stored() == machine.read_log()
    shipper = machine.open_shipper()
    shipper.ship_new_lines()
    assert shipper.sent_count == 0
    machine.log("short", 2)
    shipper.ship_new_lines()

    assert machine.read_stored() == machine.read_log()
    assert (shipper.sent_count, shipper.problems) == (3, {})


def test_bodies_stay_at_home_at_the_level_index(server: TeamServer, tmp_path: Path) -> None:
    """The service has the chain and what is searched by, and no word of what was done."""
    machine = server.enrol(tmp_path / "ana", level="index")
    machine.log("s", 5, secret="the-payload")
    machine.open_shipper().ship_new_lines()
    stored = machine.read_stored()["s"]
    sent = [line.split(b',"body":')[0] + b"}\n" for line in machine.read_log()["s"]]

    assert stored == sent
    assert b"the-payload" not in b"".join(stored)


def test_a_rewritten_log_is_sent_as_another_generation(server: TeamServer, tmp_path: Path) -> None:
    """Both histories are at the service."""
    machine = server.enrol(tmp_path / "ana")
    machine.log("s", 5)
    shipper = machine.open_shipper()
    shipper.ship_new_lines()
    (tmp_path / "ana" / "ledger" / "s.jsonl").unlink()
    (tmp_path / "ana" / "state.db").unlink()
    machine.log("s", 8, flavour="another")
    shipper.ship_new_lines()

    assert machine.read_stored()["s"] == machine.read_log()["s"]
    assert server.team.store.read_as(server.organisation).list_machines()[0].forks == 1


def test_a_code_enrols_as_many_machines_as_it_says(sqlite_server: TeamServer, clock: FakeClock) -> None:
    """Used up, too old and made-up codes are refused; a repeated attempt gives the same machine."""
    client = ServiceClient(sqlite_server.url, clock)

    def enrol(code: object, key: str, name: object = "ana") -> int:
        body = json.dumps({"code": code, "name": name, "public_key": key}).encode()
        try:
            return int(client.call("POST", "/v1/enrol", body, is_signed=False)["machine"])
        except Refused as error:
            return -error.status

    code = sqlite_server.create_code(uses=3)
    first = enrol(code, "aa" * 32)
    assert (enrol(code, "aa" * 32), enrol(code, "bb" * 32) > first) == (first, True)
    assert enrol(code, "cc" * 32) == -403
    names = [row.name for row in sqlite_server.team.store.read_as(sqlite_server.organisation).list_machines()]
    assert names == ["ana", "ana-2"]
    old = sqlite_server.create_code(seconds=60)
    clock.seconds += 61
    assert enrol(old, "dd" * 32) == enrol("vde_made-up", "dd" * 32) == -403
    for bad in ((5, "dd" * 32), ("x", "dd"), ("x", "zz" * 32), ("x", "dd" * 32, ""), ("x", "dd" * 32, "a\nb")):
        assert enrol(*bad) == -422


def test_only_the_machines_own_key_signs_for_it(sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path) -> None:
    """Another machine's key, no signature, and a signature for something else are refused."""
    ana = sqlite_server.enrol(tmp_path / "ana", clock=clock)
    eve = sqlite_server.enrol(tmp_path / "eve", clock=clock)
    batch = pack(*LINES[:3])
    with pytest.raises(Refused, match="signature of this request is wrong"):
        ana.open_client(eve.identity).call("POST", "/v1/entries", batch)
    header = ana.identity.sign_request(ana.id, "POST", "/v1/entries", batch, int(clock.now()))

    def send(path: str, body: bytes, authorization: str) -> int:
        request = urllib.request.Request(f"{sqlite_server.url}{path}", body, {"Authorization": authorization})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert send("/v1/entries", pack(*LINES[:4]), header) == 401
    assert send("/v1/status", batch, header) == send("/v1/entries?x=1", batch, header) == 401
    assert send("/v1/entries", batch, "") == send("/v1/entries", batch, "Bearer x") == 401
    assert send("/v1/entries", batch, header.replace(f"machine={ana.id}", f"machine={eve.id}")) == 401
    assert (send("/v1/entries", batch, header), ana.read_stored()["s"]) == (200, LINES[:3])
    # Sent again as it is, it changes nothing; later it is too old.
    assert (send("/v1/entries", batch, header), ana.read_stored()["s"]) == (200, LINES[:3])
    clock.seconds += 301
    assert send("/v1/entries", batch, header) == 401


def test_a_wrong_clock_is_corrected_by_the_service(sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path) -> None:
    """A machine whose clock is a year off still sends."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=FakeClock(clock.seconds - 365 * 86_400))
    machine.log("s", 3)
    machine.open_shipper().ship_new_lines()

    assert machine.read_stored() == machine.read_log()


def test_a_revoked_machine_sends_nothing_more(sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path) -> None:
    """Its signature is worth nothing, at once or after the time that keys are cached; what it sent stays."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=clock)
    machine.log("s", 3)
    machine.open_shipper().ship_new_lines()
    sqlite_server.team.store.revoke_machine(sqlite_server.organisation, machine.id, 5)
    clock.seconds += CACHE_SECONDS + 1
    machine.log("s", 3)

    with pytest.raises(Refused, match="not enrolled, or was revoked"):
        machine.open_shipper().ship_new_lines()
    assert len(machine.read_stored()["s"]) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"rubbish", "expected lines compressed with zstd"),
        # One byte more than the limit was read of them, and not the rest.
        (zstandard.ZstdCompressor().compress(BOMB), "expected at most 8388608 bytes of lines, found 8388609"),
        (zstandard.ZstdCompressor(write_content_size=False).compress(BOMB), "bytes of lines, found 8388609"),
        (zstandard.ZstdCompressor().compress(b"[" * 500_000 + b"\n"), "expected an entry"),
        (zstandard.ZstdCompressor().compress(b"{}\n" * 5000), "expected at most 4000 lines"),
        (zstandard.ZstdCompressor().compress(b"x" * (2 << 20) + b"\n"), "expected at most 1048576 bytes"),
        (pack(LINES[0].replace(b"echo", b"ECHO")), "expected a body with digest"),
        (pack(LINES[0], LINES[2]), "expected entry 2"),
    ],
    ids=["rubbish", "bomb", "unsized bomb", "deep", "many", "long", "edited", "dropped"],
)
def test_what_is_no_batch_is_refused(
    sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path, body: bytes, message: str
) -> None:
    """Bombs, edits and rubbish are named, and nothing of them is stored."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=clock)

    with pytest.raises(Refused, match=message) as error:
        machine.open_client().call("POST", "/v1/entries", body)
    assert error.value.status == 422
    assert machine.read_stored() == {}


def test_a_too_large_request_is_refused(sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path) -> None:
    """A request has a limit before it is decompressed."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=clock)

    with pytest.raises((Refused, Unreachable)):
        machine.open_client().call("POST", "/v1/entries", b"x" * (2 << 20))


@pytest.mark.parametrize("limit", ["MAX_WAITING_ENTRIES", "MAX_WAITING_BYTES"])
def test_an_overloaded_service_says_when_to_come_again(
    sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """More than the queue takes, by number or by size, is 429 with a time, and nothing is lost by it."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=clock)
    machine.log("s", 3)
    monkeypatch.setattr(group_ingest, limit, 2)
    shipper = machine.open_shipper()
    with pytest.raises(Unreachable, match="more is waiting") as error:
        shipper.ship_new_lines()
    monkeypatch.undo()
    shipper.ship_new_lines()

    assert error.value.retry_seconds == 5
    assert shipper.choose_pause(error.value) == 5
    assert machine.read_stored() == machine.read_log()


def test_one_machine_cannot_take_the_time_of_all(
    sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sends beyond its share is 429 with a time; others are served, and afterwards it goes on where it was."""
    monkeypatch.setattr(machine_rates, "BURST_ENTRIES", 50)
    monkeypatch.setattr(machine_rates, "ENTRIES_PER_SECOND", 10)
    eve, ana = (sqlite_server.enrol(tmp_path / name, clock=clock) for name in ("eve", "ana"))
    eve.log("s", 100)
    eve.open_client().call("POST", "/v1/entries", pack(*eve.read_log()["s"]))
    # 50, less one request (20) and 100 entries: seven seconds until there is something left.
    for request in (("GET", "/v1/heads"), ("POST", "/v1/entries", b"rubbish"), ("POST", "/v1/status", b"{}")):
        with pytest.raises(Unreachable, match="more than one machine may") as error:
            eve.open_client().call(*request)
        assert error.value.retry_seconds == 7
    ana.log("s", 3)
    ana.open_client().call("POST", "/v1/entries", pack(*ana.read_log()["s"]))
    clock.seconds += 7

    assert eve.open_client().call("GET", "/v1/heads")["heads"]["s"]["seq"] == 100
    assert ana.read_stored()["s"] == ana.read_log()["s"]


def test_status_is_remembered(sqlite_server: TeamServer, clock: FakeClock, tmp_path: Path) -> None:
    """The fleet view shows which version a machine runs, what it could not send, and whether a hook is gone."""
    machine = sqlite_server.enrol(tmp_path / "ana", clock=clock)

    def report(**fields: object) -> MachineRow:
        machine.open_client().call("POST", "/v1/status", json.dumps({"version": "1.2.3", **fields}).encode())
        return sqlite_server.team.store.read_as(sqlite_server.organisation).list_machines()[0]

    assert (report().version, report().seen) == ("1.2.3", int(clock.now() * 1e6))
    wired = report(hosts=["codex", "claude"], unsent=7, problems=1)
    assert (wired.unsent, wired.problems, wired.lost_hosts) == (7, 1, [])
    # A hook that is gone stays marked until it is back, whatever else is reported meanwhile.
    assert [report(hosts=["codex"]).lost_hosts, report().lost_hosts] == [["claude"], ["claude"]]
    assert report(hosts=["claude", "codex"]).lost_hosts == []
    faulty = report(policy="d1f0", faults=["the policy", "claude (user)", "the policy"])
    assert (faulty.policy, faulty.faults) == ("d1f0", ["claude (user)", "the policy"])
    assert (report().policy, report().faults) == ("", [])
    wrong = (b'{"version":"1","hosts":[5]}', b'{"version":"1","unsent":-1}', b'{"version":"1","problems":true}')
    names = (b'{"version":"1","faults":{}}', b'{"version":"1","faults":["\\u202e"]}', b'{"version":"1","policy":7}')
    for body in (b"", b"[]", b'{"version":5}', b'{"version":"a\\u0000"}', *wrong, *names):
        with pytest.raises(Refused):
            machine.open_client().call("POST", "/v1/status", body)


@pytest.mark.parametrize("url", ["", "ftp://x", "https://", "http://example.com", "https://x/path", "http://10.0.0.1"])
def test_a_log_is_sent_over_tls_only(url: str, clock: FakeClock) -> None:
    """Plain HTTP is for this machine alone."""
    with pytest.raises(ServiceError, match="expected"):
        ServiceClient(url, clock)


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    """Only its owner reads it; enrolling again uses the same one."""
    identity = MachineIdentity(tmp_path)
    key = identity.get_public_key_hex()

    assert MachineIdentity(tmp_path).get_public_key_hex() == key
    assert (tmp_path / "ship" / "machine.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ServiceError, match="this machine sends its log nowhere"):
        identity.load_enrolment()
    (tmp_path / "ship" / "machine.key").write_bytes(b"short")
    with pytest.raises(ServiceError, match="remove it and enrol again"):
        identity.get_public_key_hex()
