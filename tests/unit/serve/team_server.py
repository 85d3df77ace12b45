"""A replica of the team service in a thread, and machines that really send to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import FakeClock
from verdikt.ledger.files import FileStore
from verdikt.observe.clock import Clock, SystemClock
from verdikt.serve.store import TeamStore
from verdikt.serve.team_service import ORGANISATION, TeamService
from verdikt.ship.log_source import LogSource
from verdikt.ship.machine_identity import Enrolment, MachineIdentity
from verdikt.ship.service_client import ServiceClient
from verdikt.ship.shipper import Shipper


@dataclass
class TeamServer:
    """A running replica."""

    team: TeamService
    organisation: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.team.address}"

    def create_code(self, uses: int = 1, seconds: int = 600) -> str:
        """Return a code to enrol with."""
        return self.team.service.machines.create_code(self.organisation, uses, seconds, self.team.clock.now())

    def enrol(self, home: Path, *, level: str = "full", clock: Clock | None = None) -> "ShippingMachine":
        """Enrol a machine with a data directory."""
        identity = MachineIdentity(home)
        home.mkdir(exist_ok=True)
        body = f'{{"code":"{self.create_code()}","name":"{home.name}","public_key":"{identity.get_public_key_hex()}"}}'
        client = ServiceClient(self.url, SystemClock())
        answer = client.call("POST", "/v1/enrol", body.encode(), is_signed=False)
        machine = answer["machine"]
        identity.save_enrolment(Enrolment(self.url, machine, level, answer["service_key"]))
        return ShippingMachine(self, home, identity, machine, level, clock or SystemClock())


@dataclass
class ShippingMachine:
    """A machine with a log, enrolled at a server."""

    server: TeamServer
    home: Path
    identity: MachineIdentity
    id: int
    level: str
    clock: Clock

    def log(self, session: str, count: int, **fields: object) -> None:
        """Append entries to a session."""
        with FileStore(self.home, FakeClock(), durable=False) as store:
            for number in range(count):
                store.append(session, "tool_call", {"n": number, "tool": "Bash", **fields})

    def open_client(self, identity: MachineIdentity | None = None) -> ServiceClient:
        """Return a client with this machine's key, or with another one."""
        return ServiceClient(self.server.url, self.clock, identity or self.identity, self.id)

    def open_shipper(self) -> Shipper:
        """Return a shipper as a new process has it."""
        return Shipper(LogSource(self.home), self.open_client(), self.level)

    def read_log(self) -> dict[str, list[bytes]]:
        """Return the lines of each session here."""
        return {
            path.stem: path.read_bytes().splitlines(keepends=True) for path in (self.home / "ledger").glob("*.jsonl")
        }

    def read_stored(self) -> dict[str, list[bytes]]:
        """Return the lines of each session at the service, the newest generation."""
        store = self.server.team.store
        stored = {}
        with store.database.begin_read() as connection:
            rows = connection.exec_driver_sql(
                f"SELECT id, session FROM chain WHERE machine = {self.id} ORDER BY generation"
            ).all()
        for chain, session in rows:
            stored[session] = list(store.read_as(self.server.organisation).read_lines(chain))
        return stored


@contextmanager
def run_team(database_url: str, clock: Clock | None = None, public_url: str = "") -> Iterator[TeamServer]:
    """Yield a replica on a database, which is migrated; the address that it is called by is its own, unless named."""
    with TeamStore(database_url, create=True) as store:
        organisation = store.ensure_organisation(ORGANISATION, 1)
    with TeamService(database_url, "127.0.0.1:0", public_url, clock or SystemClock()) as team:
        started = threading.Event()
        thread = threading.Thread(target=team.run, args=(started.set,))
        thread.start()
        started.wait(10)
        try:
            yield TeamServer(team, organisation)
        finally:
            team.stop()
            thread.join()
