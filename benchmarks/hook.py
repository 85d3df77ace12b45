"""What one hook call costs, wall and CPU: warm and cold, native and Python, beside `/bin/true`, a bare interpreter and other guards.

Every command takes its turn in every round. Ratios are printed, of the least (other processes can only add to it) and of the
median (which has their share). Each call is one that verdikt decides before a tool runs, with its log entry written and synced.

    make bench      or      .venv/bin/python benchmarks/hook.py
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.peer import peers
from verdikt.daemon.client import find_daemon_pid
from verdikt.hosts.wiring import wrapper
from verdikt.hosts.wiring.registration import HOOK_MODULE

ROUNDS = 15
TURNS = 12
"""How often the quick commands are run in each round, in which the slow ones are run once."""

SESSIONS = (10, 1_000, 10_000, 100_000)
RULES = (1, 10, 100, 1_000)
WARM_BAR, COLD_BAR, SESSION_BAR = 3.0, 6.0, 1.2
"""Times `/bin/true`, times a bare interpreter, times the first call of a session."""

TRUE, BARE = "/bin/true", "python -I -S -c pass"
SHM = Path("/dev/shm")  # where there is none, the log lies on the disk in both cases


@dataclass
class Cost:
    """What the calls of one command took: seconds of wall and of CPU, its own and that of the warm process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def ratios(self, base: "Cost") -> str:
        """As the table shows it."""
        least, middle = min(self.wall) / min(base.wall), statistics.median(self.wall) / statistics.median(base.wall)
        return f"{least:10.2f}{middle:10.2f}{statistics.median(self.cpu) / statistics.median(base.cpu):10.2f}"


@dataclass(frozen=True)
class Case:
    """One command: its line, its input, and what its answer must hold."""

    line: tuple[str, ...]
    payload: Path
    env: dict[str, str]
    says: bytes = b""
    warm: int = 0
    """The process whose CPU counts as well."""


class Place:
    """A project with a policy, verdikt's data, and the hook as `verdikt init` registers it there."""

    def __init__(self, root: Path, rules: int = 0) -> None:
        self.root, self.project, self.data = root, root / "project", root / "data"
        self.project.mkdir(parents=True)
        # No variable of this process reaches the hook: a bytecode setting alone would change what is measured.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "VERDIKT_HOME": str(self.data)}
        self.env["VERDIKT_DAEMON_IDLE"] = "600"
        self.cold_env = self.env | {"VERDIKT_DAEMON": "off"}
        self.python = (sys.executable, "-I", "-m", HOOK_MODULE, "claude", "PreToolUse")
        hooks = self.data / "hooks"
        hooks.mkdir(parents=True)
        for name, data in wrapper.load_wrappers().items():
            (hooks / name).write_bytes(data)
            (hooks / name).chmod(0o755)
        self.native = (str(hooks / "verdikt-hook"), "20", "closed", *self.python)
        if rules:
            says = {"verdict": "block", "reason": "no", "fix": "do not"}
            listed = [{"name": f"r{i}", "command": f"tool-r{i} run", **says} for i in range(rules)]
            (self.project / "governance.yaml").write_text(json.dumps({"profile": "standard", "rules": listed}))

    def payload(self, command: str, session: str = "s") -> Path:
        """A call before a tool runs, as a file to read from."""
        call = {"session_id": session, "cwd": str(self.project), "hook_event_name": "PreToolUse"}
        call |= {"tool_name": "Bash", "tool_input": {"command": command}}  # type: ignore[dict-item]
        file = self.root / f"{session}.{command.split(maxsplit=1)[0].replace('/', '_')}.json"
        file.write_text(json.dumps(call))
        return file

    def case(self, command: str = "ls -la src", session: str = "s", says: bytes = b"{}") -> Case:
        """The native client, asking the warm process, which is started if there is none."""
        return Case(self.native, self.payload(command, session), self.env, says, self.warm())

    def warm(self) -> int:
        """The pid of the warm process."""
        end = time.monotonic() + 30
        while not (self.data / "run" / "daemon.sock").exists():
            spend(Case(self.native, self.payload("ls"), self.env, b"{}"))
            time.sleep(0.2)
            if time.monotonic() > end:
                sys.exit("the warm process does not start")
        return find_daemon_pid(self.data / "run")

    def fill(self, session: str, calls: int) -> None:
        """Lets a session have made so many calls."""
        from verdikt import Action, ActionKind, Outcome
        from verdikt.govern import Governance
        from verdikt.ledger.files import FileStore
        from verdikt.ledger.projections import load_projections
        from verdikt.policy import load_policy

        # Without fsync: the log is the same, and filling it takes minutes less.
        store = FileStore(self.data, None, load_projections(), durable=False)
        governance = Governance(load_policy(str(self.project), environ=self.env), store, env=self.env)
        for number in range(calls):
            payload = {"command": f"ls {number % 100}"}
            action = Action(
                kind=ActionKind.BASH, tool="Bash", payload=payload, session_id=session, cwd=str(self.project)
            )
            governance.before(action)
            if number % 10 == 0:
                governance.after(action, Outcome(success=True, output="ok"))
        store.close()

    def end(self) -> None:
        """Ends the warm process."""
        while pid := find_daemon_pid(self.data / "run"):
            os.kill(pid, 9)
            time.sleep(0.02)


def spend(case: Case) -> tuple[float, float]:
    """Wall and CPU seconds of one call; a wrong answer ends the run."""
    out = case.payload.with_suffix(".out")
    files = [
        (os.POSIX_SPAWN_OPEN, 0, str(case.payload), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    before = _cpu(case.warm)
    start = time.perf_counter()
    _, _, used = os.wait4(os.posix_spawn(case.line[0], case.line, case.env, file_actions=files), 0)
    wall = time.perf_counter() - start
    if case.says not in (said := out.read_bytes()):
        sys.exit(f"{' '.join(case.line)}: expected {case.says!r}, found {said!r}")
    return wall, used.ru_utime + used.ru_stime + _cpu(case.warm) - before


def _cpu(pid: int) -> float:
    """CPU seconds of all threads of a process so far; 0 where the system does not say."""
    try:
        tasks = [(task / "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()] if pid else []
    except OSError:
        return 0.0
    return sum(int(task.split()[0]) for task in tasks) / 1e9


def measure(quick: dict[str, Case], slow: dict[str, Case], rounds: int = ROUNDS) -> dict[str, Cost]:
    """What each costs."""
    found = {name: Cost() for name in (*quick, *slow)}
    turns = [*([quick] * TURNS), slow]
    for number in range(rounds + 1):
        for cases in turns:
            for name, case in cases.items():
                wall, cpu = spend(case)
                if number:  # the first round writes bytecode and keeps the policy
                    found[name].wall.append(wall)
                    found[name].cpu.append(cpu)
    return found


@contextmanager
def places(*roots: Path) -> Iterator[list[Place]]:
    """Places in directories of their own; what was started for them ends with them."""
    made = [Place(root) for root in roots]
    try:
        yield made
    finally:
        for place in made:
            place.end()


def fsync(directory: Path) -> Cost:
    """One line added to a file and synced, which is what a log entry at least costs there."""
    cost = Cost(cpu=[0.0])
    with (directory / "fsync").open("ab") as file:
        for _ in range(ROUNDS * TURNS):
            start = time.perf_counter()
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
            cost.wall.append(time.perf_counter() - start)
    return cost


def calls(memory: Path, disk: Path) -> None:
    """Prints what one call costs in every way, and whether the bars are met."""
    with places(memory / "calls", disk / "calls") as (place, on_disk):
        payload = place.payload("ls -la src")
        quick = {
            TRUE: Case(("/bin/true",), payload, place.env),
            BARE: Case((sys.executable, "-I", "-S", "-c", "pass"), payload, place.env),
            "native, warm": place.case(),
            "native, warm, a block": place.case("rm -rf /", says=b'"block"'),
            "native, warm, log on disk": on_disk.case(),
        }
        slow = {
            "Python, warm": Case(place.python, payload, place.env, b"{}", place.warm()),
            "Python, cold": Case(place.python, payload, place.cold_env, b"{}"),
            "Python, cold, a block": Case(place.python, place.payload("rm -rf /"), place.cold_env, b'"block"'),
            "native, no warm process": Case(place.native, payload, place.cold_env, b"{}"),
        }
        missing = []
        for peer in peers():
            if peer.command:
                slow[peer.name] = Case(peer.command, payload, {"PATH": place.env["PATH"], "HOME": str(place.root)})
            else:
                missing.append(f"{peer.name}: not installed: {peer.why}")
        found = measure(quick, slow)
        synced = fsync(disk)
    heads = ("least", "median", "CPU") * 2
    print(f"one call, times `{TRUE}` and times `{BARE}`; least and median of wall, median of CPU")
    print(f"{'':28}" + "".join(f"{head:>10}" for head in heads))
    for name, cost in found.items():
        print(f"{name:28}{cost.ratios(found[TRUE])}{cost.ratios(found[BARE])}")
    base = statistics.median(found[TRUE].wall)
    print(
        f"{'(one fsync on that disk)':28}{min(synced.wall) / min(found[TRUE].wall):10.2f}{statistics.median(synced.wall) / base:10.2f}"
    )
    print("\n".join(missing))
    native, disk_cost = found["native, warm"], found["native, warm, log on disk"]
    bar(f"native and warm, at most {WARM_BAR:g} times {TRUE}", native.wall, found[TRUE].wall, WARM_BAR)
    more = statistics.median(disk_cost.wall) - statistics.median(native.wall)
    print(f"on disk: {more / statistics.median(synced.wall):.2f} times one fsync more")
    bar(
        f"Python and cold, at most {COLD_BAR:g} times `{BARE}`, CPU",
        found["Python, cold"].cpu,
        found[BARE].cpu,
        COLD_BAR,
    )


def bar(what: str, found: list[float], base: list[float], most: float) -> None:
    """Prints whether a bar is met, by the least and by the median."""
    least, middle = min(found) / min(base), statistics.median(found) / statistics.median(base)
    print(
        f"bar ({what}): {'met' if middle <= most else 'NOT met'}: {middle:.2f} by the median, {least:.2f} by the least"
    )


def growth(what: str, cases: dict[str, Case], most: float = 0.0) -> None:
    """Prints what each size costs through the native client beside the smallest."""
    found = measure(cases, {}, rounds=6)
    first = next(iter(found.values()))
    print(f"\n{what:40}{'least':>10}{'median':>10}{'CPU':>10}   times the first")
    for name, cost in found.items():
        print(f"{name:40}{cost.ratios(first)}")
    if most:
        last = list(found.values())[-1]
        bar(f"at most {most:g} times the first", last.wall, first.wall, most)


def main() -> int:
    """Prints the tables, and whether the bars are met."""
    if not wrapper.load_native_client():
        sys.exit("the native client is not installed: install verdikt where there is a C compiler")
    memory = Path(tempfile.mkdtemp(prefix="vk", dir=SHM if SHM.is_dir() else None))
    disk = Path(tempfile.mkdtemp(prefix="vk"))
    try:
        calls(memory, disk)
        with places(memory / "sessions") as (place,):
            for count in SESSIONS:
                place.fill(f"s{count}", count)
            growth(
                "calls of the session so far",
                {f"{count:,}": place.case(session=f"s{count}") for count in SESSIONS},
                SESSION_BAR,
            )
        sized = [Place(memory / f"rules{count}", count) for count in RULES]
        try:
            growth(
                "rules beside the standard profile",
                {f"{n:,}": place.case() for n, place in zip(RULES, sized, strict=True)},
            )
        finally:
            for place in sized:
                place.end()
    finally:
        for directory in (memory, disk):
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
