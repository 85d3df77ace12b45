"""What one hook call costs without a daemon, in CPU, beside `/bin/true` and a bare interpreter in the same run.

Every command takes its turn in every round and the least of each is taken, because other processes can only add to it. The
hook is the one that `verdikt init` registers, without the wrapper around it, with a log entry written and synced each time.

    make bench      or      .venv/bin/python benchmarks/hook.py
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from verdikt.adapters.wiring.registration import LAUNCH

ROUNDS = 15
SESSIONS = (10, 100, 1_000, 10_000)
RULES = (1, 10, 100, 1_000)
BAR = 6.0
"""Times a bare interpreter that a hook may cost."""

BARE = (sys.executable, "-I", "-S", "-c", "pass")


class Place:
    """A project with a policy and verdikt's data, and the hook as a host would call it there."""

    def __init__(self, root: Path, rules: int = 0) -> None:
        self.project, self.data = root / "project", root / "data"
        self.project.mkdir(parents=True)
        # No variable of this process reaches the hook: a bytecode setting alone would change what is measured.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "VERDIKT_HOME": str(self.data)}
        self.env["VERDIKT_DAEMON"] = "off"  # what is measured here is the process that decides by itself
        if rules:
            names = [f"r{i}" for i in range(rules)]
            says = {"verdict": "block", "reason": "no", "fix": "do not"}
            listed = [{"name": name, "command": f"tool-{name} run", **says} for name in names]
            (self.project / "governance.yaml").write_text(json.dumps({"profile": "standard", "rules": listed}))

    def call(self, command: str, session: str = "s") -> tuple[tuple[str, ...], bytes]:
        """Command line and payload of one call before a tool runs."""
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": "PreToolUse"}
        payload |= {"tool_name": "Bash", "tool_input": {"command": command}}  # type: ignore[dict-item]
        line = (sys.executable, "-I", "-S", LAUNCH, "claude", "PreToolUse")
        return line, json.dumps(payload).encode()

    def fill(self, session: str, calls: int) -> None:
        """Lets a session have made so many calls."""
        from verdikt import Action, ActionKind, Outcome
        from verdikt.govern import Governance
        from verdikt.ledger.files import FileStore
        from verdikt.policy import load_policy
        from verdikt.projections import projections

        # Without fsync: the log is the same, and filling it takes minutes less.
        store = FileStore(self.data, None, projections(), durable=False)
        governance = Governance(load_policy(str(self.project), environ=self.env), store, env=self.env)
        for number in range(calls // 2):
            payload = {"command": f"ls {number}"}
            action = Action(
                kind=ActionKind.BASH, tool="Bash", payload=payload, session_id=session, cwd=str(self.project)
            )
            governance.before(action)
            governance.after(action, Outcome(success=True, output="ok"))


def spent(line: tuple[str, ...], payload: bytes, env: dict[str, str]) -> tuple[float, bytes]:
    """CPU seconds of a process and of what it started, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, input=payload, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


Case = tuple[tuple[str, ...], bytes, dict[str, str], bytes]
"""Command line, payload, environment, and what the answer must hold."""


def measure(cases: dict[str, Case], rounds: int = ROUNDS) -> dict[str, float]:
    """The least CPU seconds of each; a wrong answer ends the run."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(rounds + 2):
        for name, (line, payload, env, said) in cases.items():
            seconds, answer = spent(line, payload, env)
            if said not in answer:
                sys.exit(f"{name}: expected {said!r}, found {answer!r}")
            if turn > 1:  # the first turns write bytecode and keep the policy
                found[name].append(seconds)
    return {name: min(times) for name, times in found.items()}


def main() -> int:
    """Prints the tables, and whether the bar is met."""
    with tempfile.TemporaryDirectory(prefix="verdikt-bench-") as root:
        report(Path(root))
    return 0


def report(root: Path) -> None:
    """Measures in a directory of its own and prints what was found."""
    place = Place(root / "one")
    cases: dict[str, Case] = {
        "/bin/true": (("/bin/true",), b"", place.env, b""),
        "python -I -S -c pass": (BARE, b"", place.env, b""),
        "python -I -c pass": ((sys.executable, "-I", "-c", "pass"), b"", place.env, b""),
        "verdikt, allowed": (*place.call("ls -la src"), place.env, b"{}"),
        "verdikt, blocked": (*place.call("rm -rf /"), place.env, b'"block"'),
        "verdikt, a script": (*place.call("for f in *.py; do wc -l $f; done | sort"), place.env, b"{"),
    }
    found = measure(cases)
    bare = found["python -I -S -c pass"]
    print(f"CPU of one call, times `python -I -S -c pass`; the least of {ROUNDS}")
    for name, seconds in found.items():
        print(f"{name:24}{seconds / bare:8.2f}")
    sessions: dict[str, Case] = {"bare": cases["python -I -S -c pass"]}
    for calls in SESSIONS:
        place.fill(f"s{calls}", calls)
        sessions[f"{calls:,}"] = (*place.call("ls -la src", f"s{calls}"), place.env, b"{}")
    growth("entries in the session's log", measure(sessions))
    sizes: dict[str, Case] = {"bare": cases["python -I -S -c pass"]}
    for rules in RULES:
        there = Place(root / f"rules{rules}", rules)
        sizes[f"{rules:,}"] = (*there.call("ls -la src"), there.env, b"{}")
    growth("rules beside the standard profile", measure(sizes))
    worst = max(found["verdikt, allowed"], found["verdikt, blocked"]) / bare
    print(f"\nbar (at most {BAR:g} times a bare interpreter): {'met' if worst <= BAR else f'NOT met: {worst:.2f}'}")


def growth(what: str, found: dict[str, float]) -> None:
    """Prints what each size costs, in bare interpreters and beside the smallest."""
    bare = found.pop("bare")
    first = next(iter(found.values()))
    print(f"\n{what:36}{'times bare':>12}{'times the first':>18}")
    for name, seconds in found.items():
        print(f"{name:36}{seconds / bare:12.2f}{seconds / first:18.2f}")


if __name__ == "__main__":
    sys.exit(main())
