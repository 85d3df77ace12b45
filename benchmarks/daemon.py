"""The warm process under load, and after many calls: through its socket, each reply with a synced log entry.

Each client is a process of its own that sends a request, waits for the reply and sends the next; what the clients cost
the machine is part of the figures.

    make bench      or      .venv/bin/python benchmarks/daemon.py [CALLS]
"""

import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from verdikt import __version__
from verdikt.daemon import client, protocol

CLIENTS = 8
CALLS_PER_CLIENT = 200
SERIAL_CALLS = 300
ROUNDS = 5
SESSION_CALLS = 100_000
COMMANDS = ("ls -la src", "git status", "cat README.md | head -20", "python -m pytest -q tests", "rm -rf build")

# The bars: decisions a second; p99 over p50; memory, and the cost of a call, after many calls over that after few.
RATE_BAR, SPREAD_BAR, MEMORY_BAR, COST_BAR = 1_500, 4.0, 1.10, 1.2


class BenchDaemon:
    """A warm process in a directory of its own, and a project beside it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        (self.project / ".git").mkdir(parents=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "VERDIKT_HOME": str(root / "data"), "USER": "bench"}
        self.path = f"{client.get_run_directory(self.env)}/daemon.sock"
        self._process = subprocess.Popen([sys.executable, "-I", "-m", "verdikt.daemon"], env=self.env)
        while not os.path.exists(self.path):
            if self._process.poll() is not None:
                sys.exit("the warm process did not start")
            time.sleep(0.02)

    def encode_request(self, number: int, session: str) -> bytes:
        """Return the bytes of a request about a tool call."""
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": session,
            "cwd": str(self.project),
            "tool_name": "Bash",
            "tool_input": {"command": COMMANDS[number % len(COMMANDS)]},
            "tool_use_id": f"t{number}",
        }
        head_fields = [__version__, "claude", "PreToolUse", "", str(self.project), protocol.PYTHON_CLIENT]
        return protocol.encode_request(head_fields, self.env, json.dumps(payload).encode())

    def measure_request(self, request: bytes) -> float:
        """Send a request and return the seconds until its reply; end the benchmark when the reply is wrong."""
        started_at = time.perf_counter()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(self.path)
            sock.send(request)
            reply = sock.recv(65536)
        seconds = time.perf_counter() - started_at
        if reply[:6] != protocol.MAGIC + bytes((protocol.KIND_ANSWER, 0)) or not reply.endswith(b"}\n"):
            sys.exit(f"expected a reply that allows, found {reply!r}")
        return seconds

    def read_cpu_seconds(self) -> float:
        """Return the CPU seconds that the process has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_memory_kb(self) -> int:
        """Return the resident memory of the process."""
        data = protocol.encode_request([__version__, "@status", "", "", "/", protocol.PYTHON_CLIENT], {}, b"")
        memory_kb: int = json.loads(client.send_request(self.path, data, 30)[1])["memory_kb"]
        return memory_kb

    def run_load(self, calls: int, clients: int = CLIENTS, session: str = "") -> tuple[float, list[float], float]:
        """Let several clients call at once; return calls a second, sorted response times, and CPU seconds per call."""
        barrier = multiprocessing.Barrier(clients + 1)
        results: multiprocessing.Queue[list[float]] = multiprocessing.Queue()

        def run_client(client_number: int) -> None:
            requests = [
                self.encode_request(number, session or f"s{client_number}") for number in range(calls // clients)
            ]
            barrier.wait()
            results.put([self.measure_request(request) for request in requests])

        workers = [multiprocessing.Process(target=run_client, args=(number,)) for number in range(clients)]
        for worker in workers:
            worker.start()
        barrier.wait()
        started_at, cpu_before = time.perf_counter(), self.read_cpu_seconds()
        times = [seconds for _ in workers for seconds in results.get()]
        wall = time.perf_counter() - started_at
        for worker in workers:
            worker.join()
        return len(times) / wall, sorted(times), (self.read_cpu_seconds() - cpu_before) / len(times)

    def compare_sessions(self, old_session: str, new_session: str) -> float:
        """Return the cost of a call of one session over that of another; in turns, so that both meet the same load."""
        pairs = [
            (
                self.measure_request(self.encode_request(number, old_session)),
                self.measure_request(self.encode_request(number, new_session)),
            )
            for number in range(SERIAL_CALLS)
        ]
        return median(old for old, _ in pairs) / median(new for _, new in pairs)

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


def render_bar(is_met: bool) -> str:
    """Return whether a bar is met, as a word."""
    return "met" if is_met else "NOT met"


def print_load(name: str, root: Path) -> None:
    """Print rate and spread for clients of one session and of sessions of their own."""
    daemon = BenchDaemon(root)
    daemon.run_load(400)
    alone = median(daemon.measure_request(daemon.encode_request(number, "alone")) for number in range(SERIAL_CALLS))
    for kind, session in (("a session each", ""), ("one session", "shared")):
        rounds = [daemon.run_load(CLIENTS * CALLS_PER_CLIENT, session=session) for _ in range(ROUNDS)]
        rate, times, _ = max(rounds)
        cpu = min(cpu_seconds for _, _, cpu_seconds in rounds)
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(
            f"{name:8}{kind:16}{rate:10,.0f}{p50 / alone:12.1f}{p99 / alone:12.1f}{p99 / p50:10.1f}{cpu * 1e6:10,.0f}"
            f"   rate {render_bar(rate >= RATE_BAR)}, p99/p50 {render_bar(p99 / p50 <= SPREAD_BAR)}"
        )
    daemon.stop()


def print_growth(root: Path, calls: int) -> None:
    """Print memory, and the cost of a call beside that of a new session, after a tenth of the calls and after all."""
    daemon = BenchDaemon(root)
    daemon.run_load(calls // 10, session="long")
    early_memory, early_cost = daemon.read_memory_kb(), daemon.compare_sessions("long", "first")
    daemon.run_load(calls - calls // 10, session="long")
    late_memory, late_cost = daemon.read_memory_kb(), daemon.compare_sessions("long", "second")
    daemon.stop()
    print(f"\n{'after calls':>12}{'memory':>12}{'cost of a call, times that of a new session':>48}")
    print(f"{calls // 10:12,}{1.0:12.2f}{early_cost:48.2f}")
    print(f"{calls:12,}{late_memory / early_memory:12.2f}{late_cost:48.2f}   ({late_memory // 1024} MB)")
    memory_bar, cost_bar = render_bar(late_memory / early_memory <= MEMORY_BAR), render_bar(late_cost <= COST_BAR)
    print(f"bars: memory at most {MEMORY_BAR:g}: {memory_bar}; cost at most {COST_BAR:g}: {cost_bar}")


def main() -> int:
    """Print the tables, and whether the bars are met."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else SESSION_CALLS
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    print(
        f"{CLIENTS} clients × {CALLS_PER_CLIENT} calls; times in medians of one client alone;"
        f" CPU of the process for a call; best of {ROUNDS}"
    )
    print(f"{'on':8}{'clients of':16}{'calls/s':>10}{'p50':>12}{'p99':>12}{'p99/p50':>10}{'CPU, µs':>10}")
    for name, directory in (("tmpfs", memory), ("disk", None)):
        root = tempfile.mkdtemp(prefix="verdikt-bench-", dir=directory)
        print_load(name, Path(root))
        shutil.rmtree(root)
    root = tempfile.mkdtemp(prefix="verdikt-bench-", dir=memory)
    print_growth(Path(root), calls)
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
