"""What one hook call costs: as wired, warm and cold, beside `/bin/true`, a bare interpreter and other guards.

All commands take turns in every round, in random order, so that none of them always follows the same one and a busy
machine is busy for all. Printed are ratios of wall time
(of the minimum, to which other processes add least, and of the median) and of CPU time. Each call is one that verdikt
decides before a tool runs, with its log entry written and synced; a call through the warm process includes its CPU.

    make bench      or      .venv/bin/python benchmarks/hook.py
"""

import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.acceptance import accept
from tests.clients.install import install_client

from benchmarks.peer import install_peers
from verdikt import Action, ActionKind, Outcome
from verdikt.daemon.client import find_daemon_pid
from verdikt.govern import Governance
from verdikt.hosts.wiring import wrapper
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.policy import load_policy

ROUNDS = 15
CLIENT = "claude-2.1.325"

# In each round the quick commands run this often and the slow ones once.
QUICK_TURNS = 12

SESSION_LENGTHS = (10, 1_000, 10_000, 100_000)
RULE_COUNTS = (1, 10, 100, 1_000)

# Times `/bin/true`, times a bare interpreter, times the first call of a session.
WIRED_BAR, COLD_BAR, SESSION_BAR = 3.0, 14.0, 1.2

TRUE, BARE_PYTHON = "/bin/true", "python -I -S -c pass"
WIRED, COLD = "as wired, warm", "Python, cold"

# The two forms of a line for clients that run hooks with `sh -c`. In the first the shell waits, so that it can
# block when the program is missing. In the second the host itself blocks then, and the shell can be replaced.
FORMS = {
    "sh -c '… || { … }', warm": ("", " || { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }"),
    "sh -c 'exec …', warm": ("exec ", ""),
}

SHM = Path("/dev/shm")  # where there is none, the log is on the disk in both cases


@dataclass
class Samples:
    """Seconds of wall and of CPU time that the runs of one command took."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def render_ratios(self, base: "Samples") -> str:
        """Return three table cells: the ratios of least wall, median wall and median CPU time."""
        least, median = min(self.wall) / min(base.wall), statistics.median(self.wall) / statistics.median(base.wall)
        return f"{least:10.2f}{median:10.2f}{statistics.median(self.cpu) / statistics.median(base.cpu):10.2f}"


@dataclass(frozen=True)
class Command:
    """One command: its arguments, its input, and a part of the output that it must print."""

    argv: tuple[str, ...]
    payload: Path
    env: dict[str, str]
    expected_output: bytes = b""
    daemon_pid: int = 0
    """The process whose CPU time counts as well."""


class Workspace:
    """A project in which `verdikt init` has wired Claude Code, with a data directory of its own."""

    def __init__(self, root: Path, rule_count: int = 0) -> None:
        self.root, self.project, self.data = root, root / "project", root / "data"
        self.project.mkdir(parents=True)
        # No variable of this process reaches the hook: a bytecode setting alone would change what is measured.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "VERDIKT_HOME": str(self.data)}
        self.env["VERDIKT_DAEMON_IDLE"] = "600"
        self.cold_env = self.env | {"VERDIKT_DAEMON": "off"}
        if rule_count:
            verdict = {"verdict": "block", "reason": "no", "fix": "do not"}
            rules = [{"name": f"r{i}", "command": f"tool-r{i} run", **verdict} for i in range(rule_count)]
            (self.project / "governance.yaml").write_text(json.dumps({"profile": "standard", "rules": rules}))
            accept(self.project, self.env)
        init = [sys.executable, "-I", "-m", "verdikt", "init", "--host", "claude", "--scope", "local", "--yes"]
        # With the client at hand: `init` registers one command that the shell replaces itself with where the client
        # itself blocks on a failing hook, and a longer line where it does not.
        init_env = self.env | {"PATH": f"{install_client(CLIENT).parent}:{self.env['PATH']}"}
        subprocess.run(init, cwd=self.project, env=init_env, stdout=subprocess.DEVNULL, check=True)
        settings = json.loads((self.project / ".claude" / "settings.local.json").read_text())
        handler = settings["hooks"]["PreToolUse"][0]["hooks"][0]
        # With `args` the client starts the hook itself, without a shell.
        self.native_argv = (handler["command"], *handler["args"])
        # The native client, SECONDS and closed|open come before the hook itself.
        self.python_argv = self.native_argv[3:]

    def write_payload(self, command: str, session: str = "s") -> Path:
        """Write the input of a hook call before a tool runs and return its file."""
        call = {
            "session_id": session,
            "cwd": str(self.project),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
        }
        file = self.root / f"{session}.{command.split(maxsplit=1)[0].replace('/', '_')}.json"
        file.write_text(json.dumps(call))
        return file

    def build_warm_command(
        self, command: str = "ls -la src", session: str = "s", expected_output: bytes = b"{}", line: str = ""
    ) -> Command:
        """Return a call through the warm process: of the native client, or of `sh -c` with a line."""
        argv = ("/bin/sh", "-c", line) if line else self.native_argv
        return Command(argv, self.write_payload(command, session), self.env, expected_output, self.start_daemon())

    def start_daemon(self) -> int:
        """Start the warm process, if there is none, and return its pid."""
        deadline = time.monotonic() + 30
        while not (self.data / "run" / "daemon.sock").exists():
            run_command(Command(self.native_argv, self.write_payload("ls"), self.env, b"{}"))
            time.sleep(0.2)
            if time.monotonic() > deadline:
                sys.exit("the warm process does not start")
        return find_daemon_pid(self.data / "run")

    def fill_session(self, session: str, call_count: int) -> None:
        """Write the log of a session with that many calls."""
        # Without fsync: the log is the same, and filling it takes minutes less.
        store = FileStore(self.data, None, load_projections(), durable=False)
        governance = Governance(load_policy(str(self.project), environ=self.env), store, env=self.env)
        for number in range(call_count):
            action = Action(
                kind=ActionKind.BASH,
                tool="Bash",
                payload={"command": f"ls {number % 100}"},
                session_id=session,
                cwd=str(self.project),
            )
            governance.before(action)
            if number % 10 == 0:
                governance.after(action, Outcome(success=True, output="ok"))
        store.close()

    def stop_daemon(self) -> None:
        """End the warm process."""
        while pid := find_daemon_pid(self.data / "run"):
            os.kill(pid, 9)
            time.sleep(0.02)


def run_command(command: Command) -> tuple[float, float]:
    """Return wall and CPU seconds of one run; end the benchmark when its output is wrong."""
    output_file = command.payload.with_suffix(".out")
    file_actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(command.payload), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output_file), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    daemon_cpu_before = _read_cpu_seconds(command.daemon_pid)
    started_at = time.perf_counter()
    pid = os.posix_spawn(command.argv[0], command.argv, command.env, file_actions=file_actions)
    _, _, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started_at
    output = output_file.read_bytes()
    if command.expected_output not in output:
        sys.exit(f"{' '.join(command.argv)}: expected {command.expected_output!r}, found {output!r}")
    daemon_cpu = _read_cpu_seconds(command.daemon_pid) - daemon_cpu_before
    return wall, usage.ru_utime + usage.ru_stime + daemon_cpu


def _read_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of all threads of a process so far; 0 where the system does not report them."""
    try:
        stats = [(task / "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()] if pid else []
    except OSError:
        return 0.0
    return sum(int(line.split()[0]) for line in stats) / 1e9


def measure_commands(quick: dict[str, Command], slow: dict[str, Command], rounds: int = ROUNDS) -> dict[str, Samples]:
    """Run all commands in turns and return what each took."""
    samples = {name: Samples() for name in (*quick, *slow)}
    turns = [*([quick] * QUICK_TURNS), slow]
    shuffler = random.Random(0)
    for round_number in range(rounds + 1):
        for commands in turns:
            # After a large process the caches are cold: with a fixed order the call behind it costs up to 15 % more.
            for name, command in shuffler.sample(list(commands.items()), len(commands)):
                wall, cpu = run_command(command)
                if round_number:  # the first round writes bytecode and compiles the policy
                    samples[name].wall.append(wall)
                    samples[name].cpu.append(cpu)
    return samples


@contextmanager
def open_workspaces(*roots: Path) -> Iterator[list[Workspace]]:
    """Create workspaces and end their warm processes afterwards."""
    workspaces = [Workspace(root) for root in roots]
    try:
        yield workspaces
    finally:
        for workspace in workspaces:
            workspace.stop_daemon()


def measure_fsync(directory: Path) -> Samples:
    """Append a line to a file and sync it, which is what a log entry costs at least on that disk."""
    samples = Samples(cpu=[0.0])
    with (directory / "fsync").open("ab") as file:
        for _ in range(ROUNDS * QUICK_TURNS):
            started_at = time.perf_counter()
            file.write(b"x" * 1000)
            file.flush()
            os.fsync(file.fileno())
            samples.wall.append(time.perf_counter() - started_at)
    return samples


def print_call_costs(memory: Path, disk: Path) -> None:
    """Print what one call costs in every form, and whether the bars are met."""
    with open_workspaces(memory / "calls", disk / "calls") as (workspace, on_disk):
        payload, native_line = workspace.write_payload("ls -la src"), shlex.join(workspace.native_argv)
        quick = {
            TRUE: Command(("/bin/true",), payload, workspace.env),
            "sh -c /bin/true": Command(("/bin/sh", "-c", "/bin/true"), payload, workspace.env),
            BARE_PYTHON: Command((sys.executable, "-I", "-S", "-c", "pass"), payload, workspace.env),
            WIRED: workspace.build_warm_command(),
            **{
                name: workspace.build_warm_command(line=f"{prefix}{native_line}{suffix}")
                for name, (prefix, suffix) in FORMS.items()
            },
            "native, warm, a block": workspace.build_warm_command("rm -rf /", expected_output=b'"block"'),
            "native, warm, log on disk": on_disk.build_warm_command(),
        }
        python, cold_env = workspace.python_argv, workspace.cold_env
        slow = {
            "Python, warm": Command(python, payload, workspace.env, b"{}", workspace.start_daemon()),
            COLD: Command(python, payload, cold_env, b"{}"),
            "Python, cold, a block": Command(python, workspace.write_payload("rm -rf /"), cold_env, b'"block"'),
            "native, no warm process": Command(workspace.native_argv, payload, cold_env, b"{}"),
        }
        missing_peers = []
        for peer in install_peers():
            if peer.argv:
                slow[peer.name] = Command(
                    peer.argv, payload, {"PATH": workspace.env["PATH"], "HOME": str(workspace.root)}
                )
            else:
                missing_peers.append(f"{peer.name}: not installed: {peer.error}")
        samples = measure_commands(quick, slow)
        fsync = measure_fsync(disk)
    registered = shlex.join(workspace.native_argv).replace(str(workspace.root), "~").replace(sys.executable, "python")
    print("the words that `verdikt init` registers for PreToolUse of Claude Code, which starts them without a shell:")
    print(f"    {registered}\n")
    print(f"one call, times `{TRUE}` and times `{BARE_PYTHON}`; least and median of wall, median of CPU")
    print(f"{'':28}" + "".join(f"{head:>10}" for head in ("least", "median", "CPU") * 2))
    for name, sample in samples.items():
        print(f"{name:28}{sample.render_ratios(samples[TRUE])}{sample.render_ratios(samples[BARE_PYTHON])}")
    least_ratio = min(fsync.wall) / min(samples[TRUE].wall)
    median_ratio = statistics.median(fsync.wall) / statistics.median(samples[TRUE].wall)
    print(f"{'(one fsync on that disk)':28}{least_ratio:10.2f}{median_ratio:10.2f}")
    print("\n".join(missing_peers))
    true, bare = samples[TRUE], samples[BARE_PYTHON]
    print_bar(f"as wired and warm, at most {WIRED_BAR:g} times {TRUE}", samples[WIRED].wall, true.wall, WIRED_BAR)
    print_bar(f"cold, at most {COLD_BAR:g} times `{BARE_PYTHON}`, CPU", samples[COLD].cpu, bare.cpu, COLD_BAR)
    disk_seconds = statistics.median(samples["native, warm, log on disk"].wall)
    extra_seconds = disk_seconds - statistics.median(samples[WIRED].wall)
    print(f"on disk: {extra_seconds / statistics.median(fsync.wall):.2f} times one fsync more")


def print_bar(what: str, seconds: list[float], base_seconds: list[float], limit: float) -> None:
    """Print whether a bar is met, by the median and by the minimum."""
    median = statistics.median(seconds) / statistics.median(base_seconds)
    least = min(seconds) / min(base_seconds)
    is_met = "met" if median <= limit else "NOT met"
    print(f"bar ({what}): {is_met}: {median:.2f} by the median, {least:.2f} by the least")


def print_growth(title: str, commands: dict[str, Command], limit: float = 0.0) -> None:
    """Print what each size costs through the native client, as a multiple of the smallest."""
    samples = measure_commands(commands, {}, rounds=6)
    first = next(iter(samples.values()))
    print(f"\n{title:40}{'least':>10}{'median':>10}{'CPU':>10}   times the first")
    for name, sample in samples.items():
        print(f"{name:40}{sample.render_ratios(first)}")
    if limit:
        print_bar(f"at most {limit:g} times the first", list(samples.values())[-1].wall, first.wall, limit)


def main() -> int:
    """Print the tables, and whether the bars are met."""
    if not wrapper.load_native_client():
        sys.exit("the native client is not installed: install verdikt where there is a C compiler")
    memory = Path(tempfile.mkdtemp(prefix="vk", dir=SHM if SHM.is_dir() else None))
    disk = Path(tempfile.mkdtemp(prefix="vk"))
    try:
        print_call_costs(memory, disk)
        with open_workspaces(memory / "sessions") as (workspace,):
            for length in SESSION_LENGTHS:
                workspace.fill_session(f"s{length}", length)
            print_growth(
                "calls of the session so far",
                {f"{length:,}": workspace.build_warm_command(session=f"s{length}") for length in SESSION_LENGTHS},
                SESSION_BAR,
            )
        sized_workspaces = [Workspace(memory / f"rules{count}", count) for count in RULE_COUNTS]
        try:
            print_growth(
                "rules beside the standard profile",
                {
                    f"{count:,}": workspace.build_warm_command()
                    for count, workspace in zip(RULE_COUNTS, sized_workspaces, strict=True)
                },
            )
        finally:
            for workspace in sized_workspaces:
                workspace.stop_daemon()
    finally:
        for directory in (memory, disk):
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
