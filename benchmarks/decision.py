"""What one decision costs in a warm process, in CPU and as ratios within one run: `python benchmarks/decision.py`.

- the before and the after moment, of a command met before and of a new one, beside a JSON round trip of an entry of the log;
- the before moment 100,000 calls into a session, beside the first calls of one.

Everything lies in memory where there is a place for that, because what is measured is the work and not the disk.
"""

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.verdict import Decision
from verdikt.policy import parse_policy

WARM = 300
ROUNDS = 60
BATCH = 10
CALLS = 100_000
STEP = 1_000
DONE = Outcome(success=True, output="ok\n" * 20, exit_code=0)


class Warm:
    """A warm process that has decided before."""

    def __init__(self, home: Path) -> None:
        self.project = home / "project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / "src").mkdir()
        self.store = FileStore(home / "data", projections=load_projections())
        self.gov = Governance(parse_policy("profile: standard"), self.store, env={"HOME": str(home)})
        self._number = count()
        for _ in range(WARM):
            self.before()
            self.after()
            self.fresh()

    def action(self, command: str, session: str) -> Action:
        """A call as a host makes it: each has an id of its own."""
        return Action(
            kind=ActionKind.BASH,
            tool="Bash",
            payload={"command": command, "description": "look at it"},
            session_id=session,
            cwd=str(self.project),
            host="claude",
            call_id=f"toolu_{next(self._number):024}",
        )

    def before(self, session: str = "warm") -> Decision:
        """A command met before."""
        return self.gov.before(self.action("ls -la src", session))

    def fresh(self) -> Decision:
        """A command that nobody has seen."""
        return self.gov.before(self.action(f"grep -rn 'word {next(self._number)}' src | head -20", "warm"))

    def after(self) -> None:
        """What came of it."""
        self.gov.after(self.action("ls -la src", "warm"), DONE)

    def entry(self) -> bytes:
        """One entry of the log."""
        return json.dumps(next(iter(self.store.read_entries("warm"))).to_record()).encode()

    def age(self, session: str, calls: int) -> None:
        """Makes a session that old: the entries of a real call again and again, straight into the log."""
        self.gov.before(self.action("ls -la src", session))
        self.gov.after(self.action("ls -la src", session), DONE)
        pairs = [(entry.kind, dict(entry.body)) for entry in self.store.read_entries(session)]
        for _, body in pairs:
            body.pop("artifacts", None)

        for _ in range(calls // STEP):
            with self.store.session(session) as log:
                for _ in range(STEP):
                    for kind, body in pairs:
                        log.append(kind, body)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one call, of a few in a row."""
    started = time.process_time()
    for _ in range(BATCH):
        work()
    return (time.process_time() - started) / BATCH


def moments(warm: Warm) -> None:
    """The moments take turns with the yardstick, so that a busy machine is busy for all of them; the least of each counts."""
    entry = warm.entry()
    works: dict[str, Callable[[], object]] = {
        "JSON round trip of an entry": lambda: json.dumps(json.loads(entry)),
        "before, a command met before": warm.before,
        "before, a new command": warm.fresh,
        "after": warm.after,
    }
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            taken[name].append(cpu(work))
    yard = min(taken["JSON round trip of an entry"])
    print(f"{'a warm process, CPU':<32}{'µs, least':>12}{'µs, median':>12}{'times a round trip':>20}")
    for name, many in taken.items():
        print(f"{name:<32}{min(many) * 1e6:>12.0f}{statistics.median(many) * 1e6:>12.0f}{min(many) / yard:>20.1f}")


def growth(warm: Warm) -> None:
    """A call late in a session beside the first calls of others; each young session is used for a few calls only."""
    warm.age("old", CALLS)
    early: list[float] = []
    late: list[float] = []
    for at in range(ROUNDS):
        young = f"young-{at % 16}-{at // 32}"
        warm.before(young)
        warm.before("old")
        early.append(cpu(lambda young=young: warm.before(young)))
        late.append(cpu(lambda: warm.before("old")))
    ratio = min(late) / min(early)
    print(f"\na call after {CALLS:,} of one session costs {ratio:.2f} times the first", end=" ")
    print(f"(bar: at most 1.2): {'met' if ratio <= 1.2 else 'missed'}")


def main() -> None:
    """Prints the table and whether the bar is met."""
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="verdikt-decision-", dir=memory if memory.is_dir() else None))
    try:
        warm = Warm(home)
        moments(warm)
        growth(warm)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
