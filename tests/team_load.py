"""Simulated machines with real keys and real chains, which send to replicas that may be killed at any time."""

import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from json import loads
from pathlib import Path

import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.unit.team.chains import build_lines
from verdikt.serve.store import TeamStore
from verdikt.team.request_signature import RequestSignature, build_message, format_header

_GIVE_UP_SECONDS = 120
_FAILED, _REFUSED = -1, -2


@dataclass
class Replica:
    """One replica as a process of its own, on a port that it keeps when it is started again."""

    database: str
    port: int = 0
    is_probed: bool = False
    """Whether its event loop is watched."""
    process: subprocess.Popen[str] | None = None
    longest_seconds: float = 0.0
    """How long its loop was held at most; known when it has been stopped."""
    longest_cpu_seconds: float = 0.0
    """The most that one callback itself computed; the rest of its time is that of other processes and threads."""

    def start(self) -> None:
        """Start it and wait until it listens."""
        listen = f"127.0.0.1:{self.port}"
        program = ["tests.probed_replica"] if self.is_probed else ["verdikt", "serve"]
        command = [sys.executable, "-m", *program, "--db", self.database, "--listen", listen]
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while True:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert self.process.stdout is not None
            match = re.search(r":([0-9]+)$", self.process.stdout.readline().strip())
            if match:
                self.port = int(match[1])
                return
            self.process.communicate()
            # Its database may be starting again.
            assert time.monotonic() < deadline, "the replica does not start"
            time.sleep(0.2)

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> None:
        """End it as an operator does."""
        assert self.process is not None
        self.process.terminate()
        output, _ = self.process.communicate(timeout=30)
        if self.is_probed:
            figures = loads(output)
            self.longest_seconds = float(figures["longest_seconds"])
            self.longest_cpu_seconds = float(figures["longest_cpu_seconds"])

    def read_cpu_seconds(self) -> float:
        """Return the time that its process has used."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_memory_bytes(self) -> int:
        """Return how much of its memory is resident."""
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass
class SimulatedMachine:
    """A machine with a key and a chain, of which it sends the next lines until all are acknowledged."""

    id: int
    key: Ed25519PrivateKey
    lines: list[bytes]
    acknowledged: int = 0
    repeats: bool = False

    @property
    def is_done(self) -> bool:
        """Return whether the service has all lines."""
        return self.acknowledged >= len(self.lines)


@dataclass
class Load:
    """Machines that send to replicas, and what was measured."""

    replicas: list[Replica]
    machines: list[SimulatedMachine]
    batch_lines: int = 20
    rate: float = 0.0
    """Entries a second at most, of all machines together; 0 is as many as the service takes."""
    seconds: list[float] = field(default_factory=list)
    failures: int = 0
    refusals: int = 0
    """How many of the failures were answers that there is too much to do."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set from outside, it ends the load before all is sent."""
    _workers: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, workers: int = 8) -> float:
        """Let every machine send everything; return the seconds that it took."""
        self._workers = workers
        shares = [self.machines[number::workers] for number in range(workers)]
        started_at = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(self._send_share, shares))
        return time.monotonic() - started_at

    def _send_share(self, machines: list[SimulatedMachine]) -> None:
        connections: dict[int, http.client.HTTPConnection] = {}
        chance = random.Random(len(machines))
        waiting = list(machines)
        started_at, sent = time.monotonic(), 0
        while waiting and not self.ended.is_set():
            for machine in waiting:
                if self.ended.is_set():
                    break
                self._send_batch(machine, connections, chance)
                sent += self.batch_lines
                if self.rate:
                    self.ended.wait(max(0.0, sent * self._workers / self.rate - (time.monotonic() - started_at)))
            waiting = [machine for machine in waiting if not machine.is_done]
        for connection in connections.values():
            connection.close()

    def _send_batch(
        self, machine: SimulatedMachine, connections: dict[int, http.client.HTTPConnection], chance: random.Random
    ) -> None:
        # Two in a hundred batches begin before the last acknowledged line: deliberate repeats.
        first = max(0, machine.acknowledged - (5 if chance.random() < 0.02 else 0))
        lines = machine.lines[first : machine.acknowledged + self.batch_lines]
        body = zstandard.ZstdCompressor(level=3).compress(b"".join(lines))
        started_at = time.monotonic()
        while True:
            replica = chance.choice(self.replicas)
            try:
                acknowledged = _post(connections, replica.port, machine, body)
            except (OSError, http.client.HTTPException, ValueError):
                connections.pop(replica.port, None)
                acknowledged = _FAILED
            if acknowledged >= 0:
                break
            with self._lock:
                self.failures += 1
                self.refusals += acknowledged == _REFUSED
            if self.ended.is_set():
                return
            assert time.monotonic() - started_at < _GIVE_UP_SECONDS, "no replica answers"
            time.sleep(chance.uniform(0.02, 0.2))
        machine.acknowledged = acknowledged
        with self._lock:
            self.seconds.append(time.monotonic() - started_at)


def _post(connections: dict[int, http.client.HTTPConnection], port: int, machine: SimulatedMachine, body: bytes) -> int:
    """Return the sequence number that is stored now; less than 0 when the service asks to come again."""
    now = int(time.time())
    signature = machine.key.sign(build_message("POST", "/v1/entries", machine.id, now, body)).hex()
    headers = {"Authorization": format_header(RequestSignature(machine.id, now, signature))}
    connection = connections.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=20))
    connection.request("POST", "/v1/entries", body, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status in (429, 500, 503):
        return _REFUSED if response.status == 429 else _FAILED
    assert response.status == 200, answer
    return int(loads(answer)["heads"]["s"]["seq"])


def race_batches(replicas: list[Replica], machines: list[SimulatedMachine], batch_lines: int) -> int:
    """Post each batch of each machine three times at once, to replicas in turn; return how many posts there were."""
    posts = 0
    connections: list[dict[int, http.client.HTTPConnection]] = [{}, {}, {}]
    compressor = zstandard.ZstdCompressor(level=3)
    with ThreadPoolExecutor(3) as pool:
        for machine in machines:
            for first in range(0, len(machine.lines), batch_lines):
                body = compressor.compress(b"".join(machine.lines[first : first + batch_lines]))
                ports = [replicas[(posts + number) % len(replicas)].port for number in range(3)]
                racing = [
                    pool.submit(_post, opened, port, machine, body)
                    for opened, port in zip(connections, ports, strict=True)
                ]
                stored = {future.result() for future in racing}
                assert stored == {min(first + batch_lines, len(machine.lines))}, stored
                posts += 3
    for opened in connections:
        for connection in opened.values():
            connection.close()
    return posts


def enrol_machines(database: str, count: int, entries: int) -> list[SimulatedMachine]:
    """Return machines with chains of their own, enrolled in a migrated database."""
    machines = []
    with TeamStore(database, create=True) as store:
        organisation = store.ensure_organisation("default", 1)
        first = len(store.read_as(organisation).list_machines())
        for number in range(first, first + count):
            key = Ed25519PrivateKey.generate()
            public_key = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            machine = store.add_machine(organisation, f"machine-{number}", public_key, 1)
            machines.append(
                SimulatedMachine(machine, key, build_lines("s", range(1, entries + 1), flavour=str(number)))
            )
    return machines


def find_differences(database: str, machines: list[SimulatedMachine]) -> list[str]:
    """Return what the database has otherwise than it was sent: lines, index rows, generations, tallies."""
    differences = []
    with TeamStore(database) as store:
        with store.database.begin_read() as connection:
            chains = connection.exec_driver_sql("SELECT machine, id, generation FROM chain").all()
            rows = connection.exec_driver_sql("SELECT count(*) FROM entry").scalar_one()
            tallies = connection.exec_driver_sql("SELECT sum(count) FROM tally").scalar_one()
        by_machine = {machine: chain for machine, chain, _ in chains}
        if len(chains) != len(machines) or any(generation for *_, generation in chains):
            differences.append(f"{len(chains)} chains of {len(machines)} machines")
        for machine in machines:
            if list(store.read_as(1).read_lines(by_machine[machine.id])) != machine.lines:
                differences.append(f"the lines of machine {machine.id}")
    total = sum(len(machine.lines) for machine in machines)
    decisions = sum(b'"kind":"decision"' in line for machine in machines for line in machine.lines)
    if (rows, int(tallies)) != (total, decisions):
        differences.append(f"{rows} index rows of {total} entries, {tallies} counted of {decisions} decisions")
    return differences
