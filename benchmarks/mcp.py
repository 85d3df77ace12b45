"""What the MCP relay costs: the stdio `everything` server directly and through it, in one run.

.venv/bin/python -m benchmarks.mcp

Direct and relayed calls take turns, so that both see the same machine. A decision is in the log, synced to the disk,
before the server gets the call; `fsync` alone is the floor that is printed beside the ratios.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.mcp_servers.install import install_servers

CALLS = 300
BIG_CALLS = 8
BIG_BYTES = 2_000_000
STARTS = 5
LOAD_CALLS = 2000
BARS = {"call": 1.15, "2 MB argument": 2.0, "start-up, seconds more": 0.3, "calls per second": 200.0, "growth, MB": 8.0}
"""What the relay should reach; `missed` is printed where it does not, and the run goes on."""


class LineClient:
    """The smallest client: one line out, one line in."""

    def __init__(self, command: list[str], env: Mapping[str, str], directory: Path) -> None:
        started = time.perf_counter()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=directory, env=dict(env), **pipes)
        self._last_id = 0
        info = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.request("tools/list", {})
        self.start_seconds = time.perf_counter() - started

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and return its result; notifications in between are skipped."""
        assert self.process.stdout is not None
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self._last_id and "method" not in message:
                return message["result"]

    def time_call(self, text: str) -> float:
        """Return how long one call takes."""
        started = time.perf_counter()
        result = self.request("tools/call", {"name": "echo", "arguments": {"message": text}})
        seconds = time.perf_counter() - started
        assert result["content"][0]["text"].startswith("Echo: "), result
        return seconds

    def get_memory_megabytes(self) -> float:
        """Return the resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def measure_fsync(directory: Path) -> float:
    """Return the median time of one write with a sync."""
    times = []
    with (directory / "probe").open("wb") as file:
        for _ in range(CALLS):
            started = time.perf_counter()
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def report(name: str, value: float, *, bar_name: str = "", at_least: bool = False) -> None:
    """Print a figure, with its bar."""
    bar = BARS.get(bar_name or name)
    missed = bar is not None and (value < bar if at_least else value > bar)
    print(f"{name:<28} {value:8.2f}" + (f"   bar {bar:g}{', missed' if missed else ''}" if bar is not None else ""))


def main() -> None:
    """Measure and print."""
    server = [str(install_servers() / "node_modules/.bin/mcp-server-everything")]
    relay = [sys.executable, "-m", "verdikt", "mcp", "--name", "everything", "--trust-first", "--", *server]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        env = {"PATH": os.environ["PATH"], "HOME": name, "VERDIKT_HOME": str(root / "data")}
        LineClient(relay, env, root).close()  # the first start creates keys and pins
        starts = [[LineClient(command, env, root) for command in (server, relay)] for _ in range(STARTS)]
        more = statistics.median(relayed.start_seconds - direct.start_seconds for direct, relayed in starts)
        direct, relayed = starts.pop()
        for pair in starts:
            for client in pair:
                client.close()
        for _ in range(20):
            direct.time_call("warm"), relayed.time_call("warm")
        pairs = [(direct.time_call("hello"), relayed.time_call("hello")) for _ in range(CALLS)]
        big = "x" * BIG_BYTES
        big_pairs = [(direct.time_call(big), relayed.time_call(big)) for _ in range(BIG_CALLS)]
        for _ in range(LOAD_CALLS // 4):
            relayed.time_call("settle")
        memory, started = relayed.get_memory_megabytes(), time.perf_counter()
        for _ in range(LOAD_CALLS):
            relayed.time_call("load")
        rate = LOAD_CALLS / (time.perf_counter() - started)
        growth = relayed.get_memory_megabytes() - memory
        medians = [statistics.median(times) for times in zip(*pairs, strict=True)]
        big_medians = [statistics.median(times) for times in zip(*big_pairs, strict=True)]
        print(f"direct p50 {medians[0] * 1e3:.2f} ms, relayed p50 {medians[1] * 1e3:.2f} ms; ", end="")
        print(f"one fsync {measure_fsync(root) * 1e3:.2f} ms")
        report("call", medians[1] / medians[0])
        report("2 MB argument", big_medians[1] / big_medians[0])
        report("start-up, seconds more", more)
        report("calls per second", rate, at_least=True)
        report("growth, MB", growth)
        for client in (direct, relayed):
            client.close()


if __name__ == "__main__":
    main()
