"""What the warm process does under load, and after long: through its socket, with a log entry written and synced for each answer.

Each client is a process of its own that asks, waits and asks again; what they cost the machine is part of the figures.

    make bench      or      .venv/bin/python benchmarks/daemon.py [CALLS]
"""

import _socket
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from verdikt import __version__
from verdikt.daemon import client, protocol

CLIENTS = 8
EACH = 200
SERIAL = 300
ROUNDS = 5
LONG = 100_000
COMMANDS = ("ls -la src", "git status", "cat README.md | head -20", "python -m pytest -q tests", "rm -rf build")

RATE, SPREAD, GROWTH, LENGTH = 1_500, 4.0, 1.10, 1.2
"""The bars: decisions a second, p99 over p50, memory and the cost of a call after many calls over that after few."""


class Daemon:
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

    def question(self, number: int, session: str) -> bytes:
        """A question about a call."""
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": session,
            "cwd": str(self.project),
            "tool_name": "Bash",
            "tool_input": {"command": COMMANDS[number % len(COMMANDS)]},
            "tool_use_id": f"t{number}",
        }
        words = [__version__, "claude", "PreToolUse", "", str(self.project), protocol.PYTHON_CLIENT]
        return protocol.encode_request(words, self.env, json.dumps(payload).encode())

    def ask(self, question: bytes) -> float:
        """Asks as the native client does, with as little work; how long the answer took. A wrong one ends the run."""
        start = time.perf_counter()
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        sock.connect(self.path)
        sock.send(question)
        said = sock.recv(65536)
        sock.close()
        seconds = time.perf_counter() - start
        if said[:6] != protocol.MAGIC + bytes((protocol.KIND_ANSWER, 0)) or not said.endswith(b"}\n"):
            sys.exit(f"expected an answer that lets go, found {said!r}")
        return seconds

    def cpu_seconds(self) -> float:
        """What it has used of the processors so far."""
        used = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")

    def memory_kb(self) -> int:
        """What it keeps in memory."""
        data = protocol.encode_request([__version__, "@status", "", "", "/", "open"], {}, b"")
        kept: int = json.loads(client.send_request(self.path, data, 30)[1])["memory_kb"]
        return kept

    def load(self, calls: int, clients: int = CLIENTS, session: str = "") -> tuple[float, list[float], float]:
        """So many calls of so many clients at once; calls a second, how long each took, and CPU seconds of the process for each."""
        ready = multiprocessing.Barrier(clients + 1)
        said: multiprocessing.Queue[list[float]] = multiprocessing.Queue()

        def work(who: int) -> None:
            questions = [self.question(number, session or f"s{who}") for number in range(calls // clients)]
            ready.wait()
            said.put([self.ask(question) for question in questions])

        workers = [multiprocessing.Process(target=work, args=(who,)) for who in range(clients)]
        for worker in workers:
            worker.start()
        ready.wait()
        start, used = time.perf_counter(), self.cpu_seconds()
        times = [seconds for _ in workers for seconds in said.get()]
        wall = time.perf_counter() - start
        for worker in workers:
            worker.join()
        return len(times) / wall, sorted(times), (self.cpu_seconds() - used) / len(times)

    def beside(self, session: str, new: str) -> float:
        """What a call of a session costs, times one of a session that has just begun: in turns, so that both meet the same load."""
        turns = [
            (self.ask(self.question(number, session)), self.ask(self.question(number, new))) for number in range(SERIAL)
        ]
        return median(old for old, _ in turns) / median(young for _, young in turns)

    def end(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()


def verdict(met: bool) -> str:
    """Whether a bar is met, in a word."""
    return "met" if met else "NOT met"


def under_load(name: str, root: Path) -> None:
    """Prints rate and spread for clients of one session and of sessions of their own."""
    daemon = Daemon(root)
    daemon.load(400)
    alone = median(daemon.ask(daemon.question(number, "alone")) for number in range(SERIAL))
    for kind, session in (("a session each", ""), ("one session", "shared")):
        rounds = [daemon.load(CLIENTS * EACH, session=session) for _ in range(ROUNDS)]
        rate, times, _ = max(rounds)
        cpu = min(each[2] for each in rounds)
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(
            f"{name:8}{kind:16}{rate:10,.0f}{p50 / alone:12.1f}{p99 / alone:12.1f}{p99 / p50:10.1f}"
            f"{cpu * 1e6:10,.0f}   rate {verdict(rate >= RATE)}, p99/p50 {verdict(p99 / p50 <= SPREAD)}"
        )
    daemon.end()


def over_time(root: Path, calls: int) -> None:
    """Prints memory after a tenth of the calls and after all, in one session; and the cost of a call beside a new session's."""
    daemon = Daemon(root)
    daemon.load(calls // 10, session="long")
    early, beginning = daemon.memory_kb(), daemon.beside("long", "first")
    daemon.load(calls - calls // 10, session="long")
    late, end = daemon.memory_kb(), daemon.beside("long", "second")
    daemon.end()
    print(f"\n{'after calls':>12}{'memory':>12}{'cost of a call, times that of a new session':>48}")
    print(f"{calls // 10:12,}{1.0:12.2f}{beginning:48.2f}")
    print(f"{calls:12,}{late / early:12.2f}{end:48.2f}   ({late // 1024} MB)")
    met = verdict(late / early <= GROWTH), verdict(end <= LENGTH)
    print(f"bars: memory at most {GROWTH:g}: {met[0]}; cost at most {LENGTH:g}: {met[1]}")


def main() -> int:
    """Prints the tables, and whether the bars are met."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else LONG
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    print(
        f"{CLIENTS} clients × {EACH} calls; times in medians of one client alone; CPU of the process for a call; best of {ROUNDS}"
    )
    print(f"{'on':8}{'clients of':16}{'calls/s':>10}{'p50':>12}{'p99':>12}{'p99/p50':>10}{'CPU, µs':>10}")
    for name, place in (("tmpfs", memory), ("disk", None)):
        root = tempfile.mkdtemp(prefix="verdikt-bench-", dir=place)
        under_load(name, Path(root))
        shutil.rmtree(root)
    root = tempfile.mkdtemp(prefix="verdikt-bench-", dir=memory)
    over_time(Path(root), calls)
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
