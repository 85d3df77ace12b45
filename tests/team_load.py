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


@dataclass
class Replica:
    """One replica as a process of its own, on a port that it keeps when it is started again."""

    database: str
    port: int = 0
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        listen = f"127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "verdikt", "serve", "--db", self.database, "--listen", listen]
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
        self.process.communicate(timeout=30)

    def read_cpu_seconds(self) -> float:
        """Return the time that its process has used."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    seconds: list[float] = field(default_factory=list)
    failures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, workers: int = 8) -> float:
        """Let every machine send everything; return the seconds that it took."""
        shares = [self.machines[number::workers] for number in range(workers)]
        started_at = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(self._send_share, shares))
        return time.monotonic() - started_at

    def _send_share(self, machines: list[SimulatedMachine]) -> None:
        connections: dict[int, http.client.HTTPConnection] = {}
        chance = random.Random(len(machines))
        waiting = list(machines)
        while waiting:
            for machine in waiting:
                self._send_batch(machine, connections, chance)
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
                acknowledged = -1
            if acknowledged >= 0:
                break
            with self._lock:
                self.failures += 1
            assert time.monotonic() - started_at < _GIVE_UP_SECONDS, "no replica answers"
            time.sleep(chance.uniform(0.02, 0.2))
        machine.acknowledged = acknowledged
        with self._lock:
            self.seconds.append(time.monotonic() - started_at)


def _post(connections: dict[int, http.client.HTTPConnection], port: int, machine: SimulatedMachine, body: bytes) -> int:
    """Return the sequence number that is stored now; -1 when the service asks to come again."""
    now = int(time.time())
    signature = machine.key.sign(build_message("POST", "/v1/entries", machine.id, now, body)).hex()
    headers = {"Authorization": format_header(RequestSignature(machine.id, now, signature))}
    connection = connections.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=20))
    connection.request("POST", "/v1/entries", body, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status in (429, 500, 503):
        return -1
    assert response.status == 200, answer
    return int(loads(answer)["heads"]["s"]["seq"])


def enrol_machines(database: str, count: int, entries: int) -> list[SimulatedMachine]:
    """Return machines with chains of their own, enrolled in a migrated database."""
    machines = []
    with TeamStore(database, create=True) as store:
        organisation = store.ensure_organisation("default", 1)
        for number in range(count):
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
            if list(store.read_lines(1, by_machine[machine.id])) != machine.lines:
                differences.append(f"the lines of machine {machine.id}")
    total = sum(len(machine.lines) for machine in machines)
    decisions = sum(b'"kind":"decision"' in line for machine in machines for line in machine.lines)
    if (rows, int(tallies)) != (total, decisions):
        differences.append(f"{rows} index rows of {total} entries, {tallies} counted of {decisions} decisions")
    return differences
