"""What the MCP relay costs: the stdio `everything` server directly and through it, in one run.

.venv/bin/python -m benchmarks.mcp

Direct and relayed calls take turns, so that both see the same machine, at 200 calls a second. A decision is in the log,
synced to the disk, before the server gets the call, or, where the call only reads, before its result is passed on. A
direct call and one `fsync` are measured in the same rounds. `cat` on both sides of the server is the relay that does
nothing, and a `ping` is the message that the relay decodes, encodes and does not decide on; a log in memory
(`/dev/shm`), whose sync costs nothing, shows what the relay itself takes. The smallest client (one line out, one line
in) shows the relay's cost best; a call through the client of the `mcp` SDK is what a program sees. Both are measured
once more with calls of which one follows the other without a pause, as a program in a loop makes them.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, chdir, closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.mcp_servers.install import install_servers

from verdikt.mcp.call_governor import CallGovernor

CALLS = 300
PAUSE_SECONDS = 0.005
"""Between two calls: 200 calls a second, of which none waits for the record of the one before."""

ROW_CALLS = 20
"""Calls of one client that follow each other without a pause, before the next client has its turn."""

SETTLE_SECONDS = 3.0
"""Until files that were just written are old enough for their timestamps to be trusted."""

MEMORY = Path("/dev/shm")
BIG_CALLS = 20
BIG_BYTES = 2_000_000
STARTS = 5
LOAD_CALLS = 2000
QUANTILES = {"p50": 0.5, "p10": 0.1}
"""The lower decile is what other work on the machine disturbs least."""

BARS = {
    "call, p50": 1.15,
    "call, SDK client": 1.15,
    "2 MB argument": 2.0,
    "start-up, seconds more": 0.3,
    "calls per second": 200.0,
    "growth, MB": 8.0,
}
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

    def time_ping(self) -> float:
        """Return how long a request takes that nothing is decided about."""
        started = time.perf_counter()
        self.request("ping", {})
        return time.perf_counter() - started

    def get_memory_megabytes(self) -> float:
        """Return the resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def get_cpu_seconds(self) -> float:
        """Return the processor time of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


class SyncProbe:
    """Times one write with a sync, as the log makes it."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def time_sync(self) -> float:
        """Return how long one takes."""
        started = time.perf_counter()
        os.write(self._descriptor, b"x" * 1500)
        os.fsync(self._descriptor)
        return time.perf_counter() - started

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def measure_rounds(clients: Mapping[str, LineClient], root: Path) -> dict[str, list[float]]:
    """Return the sorted times of the calls of each client, and of syncs, which all take turns."""
    probe = SyncProbe(root / "probe")
    pings = {f"{name} ping": clients[name] for name in ("direct", "relayed")}
    times: dict[str, list[float]] = {name: [] for name in (*clients, *pings, "sync")}
    for _ in range(CALLS):
        for name, client in clients.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(client.time_call("hello"))
        for name, client in pings.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(client.time_ping())
        times["sync"].append(probe.time_sync())
    probe.close()
    return {name: sorted(seconds) for name, seconds in times.items()}


def report_rounds(times: Mapping[str, list[float]]) -> None:
    """Print what a call costs by each way, and what of it is the disk."""
    for quantile, position in QUANTILES.items():
        seconds = {name: ordered[int(CALLS * position)] for name, ordered in times.items()}
        print(f"{quantile}: " + ", ".join(f"{name} {value * 1e3:.2f} ms" for name, value in seconds.items()))
        floor = seconds["direct"] + seconds["sync"]
        report(f"call, {quantile}", seconds["relayed"] / seconds["direct"])
        report(f"floor, {quantile}", floor / seconds["direct"])
        report(f"call / floor, {quantile}", seconds["relayed"] / floor)
        report(f"empty relay (`cat`), {quantile}", seconds["cat"] / seconds["direct"])
        report(f"ping, {quantile}", seconds["relayed ping"] / seconds["direct ping"])
        if "in memory" in seconds:
            report(f"call, log in memory, {quantile}", seconds["in memory"] / seconds["direct"])


def build_empty_relay(server: list[str]) -> list[str]:
    """Return a command that passes the bytes of both sides on unread."""
    return ["sh", "-c", f"cat | {shlex.join(server)} | cat"]


def measure_rows(clients: Mapping[str, LineClient]) -> dict[str, float]:
    """Return the median of a call of each client where one call follows the other without a pause."""
    times: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(CALLS // ROW_CALLS):
        for name, client in clients.items():
            times[name] += [client.time_call("hello") for _ in range(ROW_CALLS)]
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def measure_decisions(env: Mapping[str, str], root: Path) -> dict[str, float]:
    """Return the median of a decision alone, without pipes and without waiting for the disk: in a row, and with pauses.

    What takes longer after a pause are the processor's caches, which hold other things by then.
    """
    # In the directory that it decides for, as the relay is.
    with chdir(root), closing(CallGovernor("everything", cwd=str(root), env=env)) as governor:
        medians = {}
        for name, pause_seconds in (("in a row", 0.0), ("after pauses", PAUSE_SECONDS)):
            times = []
            for number in range(CALLS + 50):
                time.sleep(pause_seconds)
                started = time.perf_counter()
                action = governor.build_action("echo", {"message": "hello"}, hints={"proposed": ["read"]})
                decision = governor.decide(action, withholds_result=True)
                times.append(time.perf_counter() - started)
                assert not decision.decision.is_blocked, decision
                governor.sync_decision(decision.log_positions)
                if number == 0:
                    time.sleep(SETTLE_SECONDS)
            medians[name] = statistics.median(times[50:])
    return medians


def measure_sdk_client(
    servers: Path, commands: Mapping[str, list[str]], env: Mapping[str, str], root: Path
) -> list[dict[str, float]]:
    """Return the median of a call by each way, as the client of the `mcp` SDK sees it: with pauses, and without."""
    client = [
        str(servers / "env/bin/python"),
        str(Path(__file__).parent.parent / "tests/mcp_servers/call_timer.py"),
        str(CALLS),
    ]
    completed = subprocess.run(
        client, cwd=root, env=dict(env), input=json.dumps(commands), capture_output=True, text=True, check=True
    )
    return [
        {name: statistics.median(times) for name, times in by_name.items()} for by_name in json.loads(completed.stdout)
    ]


def report_medians(title: str, medians: Mapping[str, float]) -> None:
    """Print the median of each way, and the relay's and the empty relay's as multiples of a direct call."""
    print(f"{title}, p50: " + ", ".join(f"{name} {value * 1e3:.2f} ms" for name, value in medians.items()))
    report(f"call, {title}", medians["relayed"] / medians["direct"])
    report(f"empty relay (`cat`), {title}", medians["cat"] / medians["direct"])


def report(name: str, value: float, *, bar_name: str = "", at_least: bool = False) -> None:
    """Print a figure, with its bar."""
    bar = BARS.get(bar_name or name)
    missed = bar is not None and (value < bar if at_least else value > bar)
    print(f"{name:<34} {value:8.2f}" + (f"   bar {bar:g}{', missed' if missed else ''}" if bar is not None else ""))


def main() -> None:
    """Measure and print."""
    servers = install_servers()
    server = [str(servers / "node_modules/.bin/mcp-server-everything")]
    relay = [sys.executable, "-m", "verdikt", "mcp", "--name", "everything", "--trust-first", "--", *server]
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory())
        root = Path(name)
        env = {"PATH": os.environ["PATH"], "HOME": name, "VERDIKT_HOME": str(root / "data")}
        root = root / "project"
        subprocess.run(["git", "init", "-q", str(root)], check=True)  # most projects are repositories
        LineClient(relay, env, root).close()  # the first start creates keys and pins
        starts = [[LineClient(command, env, root) for command in (server, relay)] for _ in range(STARTS)]
        start_times = [(direct.start_seconds, relayed.start_seconds) for direct, relayed in starts]
        start_cpu = statistics.median(relayed.get_cpu_seconds() for _, relayed in starts)
        direct, relayed = starts.pop()
        for pair in starts:
            for client in pair:
                client.close()
        clients = {"direct": direct, "relayed": relayed, "cat": LineClient(build_empty_relay(server), env, root)}
        memory_home = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)) if MEMORY.is_dir() else ""
        if memory_home:
            clients["in memory"] = LineClient(relay, env | {"VERDIKT_HOME": f"{memory_home}/data"}, root)
        for client in clients.values():
            for _ in range(20):
                client.time_call("warm")
        time.sleep(SETTLE_SECONDS)
        rounds = measure_rounds(clients, root)
        rows = measure_rows(clients)
        for client in [*clients.values()][2:]:
            client.close()
        big = "x" * BIG_BYTES
        big_pairs = [(direct.time_call(big), relayed.time_call(big)) for _ in range(BIG_CALLS)]
        for _ in range(LOAD_CALLS // 4):
            relayed.time_call("settle")
        memory, started, cpu = relayed.get_memory_megabytes(), time.perf_counter(), relayed.get_cpu_seconds()
        for _ in range(LOAD_CALLS):
            relayed.time_call("load")
        rate = LOAD_CALLS / (time.perf_counter() - started)
        growth = relayed.get_memory_megabytes() - memory
        cpu_per_call = (relayed.get_cpu_seconds() - cpu) / LOAD_CALLS
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        print(f"the relay's CPU per call {cpu_per_call * 1e3:.2f} ms")
        report_rounds(rounds)
        ways = {"direct": server, "relayed": relay, "cat": build_empty_relay(server)}
        report_medians("in a row", rows)
        for name, seconds in measure_decisions(env | {"VERDIKT_HOME": f"{env['HOME']}/decisions"}, root).items():
            report(f"decision alone, {name}, ms", seconds * 1e3)
        for title, medians in zip(
            ("SDK client", "SDK client, in a row"), measure_sdk_client(servers, ways, env, root), strict=True
        ):
            report_medians(title, medians)
        for suffix, choose in (("", statistics.median), (", least disturbed", min)):
            big_direct, big_relayed = map(choose, zip(*big_pairs, strict=True))
            start_direct, start_relayed = map(choose, zip(*start_times, strict=True))
            report(f"2 MB argument{suffix}", big_relayed / big_direct, bar_name="2 MB argument")
            report(f"start-up{suffix}, s more", start_relayed - start_direct, bar_name="start-up, seconds more")
        report("start-up, CPU seconds", start_cpu)
        report("calls per second", rate, at_least=True)
        report("growth, MB", growth)
        for client in (direct, relayed):
            client.close()


if __name__ == "__main__":
    main()
