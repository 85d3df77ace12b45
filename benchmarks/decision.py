"""What one decision costs in a warm process, in CPU and as ratios within one run: `python benchmarks/decision.py`.

- `before` and `after`, of a known command and of a new one, beside a JSON round trip of a log entry;
- `before` 100,000 calls into a session, beside the first calls of one.

All files are in memory where there is a tmpfs, because the work is measured and not the disk.
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

WARM_UP_CALLS = 300
ROUNDS = 60
BATCH = 10
SESSION_CALLS = 100_000
CALLS_PER_UPDATE = 1_000
OUTCOME = Outcome(success=True, output="ok\n" * 20, exit_code=0)


class WarmGovernance:
    """A `Governance` that has decided before, with its project and store."""

    def __init__(self, home: Path) -> None:
        self.project = home / "project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / "src").mkdir()
        self.store = FileStore(home / "data", projections=load_projections())
        self.gov = Governance(parse_policy("profile: standard"), self.store, env={"HOME": str(home)})
        self._numbers = count()
        for _ in range(WARM_UP_CALLS):
            self.decide_known()
            self.report_outcome()
            self.decide_new()

    def create_action(self, command: str, session: str) -> Action:
        """Return an action as a host reports it, with a call id of its own."""
        return Action(
            kind=ActionKind.BASH,
            tool="Bash",
            payload={"command": command, "description": "look at it"},
            session_id=session,
            cwd=str(self.project),
            host="claude",
            call_id=f"toolu_{next(self._numbers):024}",
        )

    def decide_known(self, session: str = "warm") -> Decision:
        """Decide a command that was decided before."""
        return self.gov.before(self.create_action("ls -la src", session))

    def decide_new(self) -> Decision:
        """Decide a command that was never decided before."""
        return self.gov.before(self.create_action(f"grep -rn 'word {next(self._numbers)}' src | head -20", "warm"))

    def report_outcome(self) -> None:
        """Report the outcome of a command."""
        self.gov.after(self.create_action("ls -la src", "warm"), OUTCOME)

    def read_entry(self) -> bytes:
        """Return one entry of the log."""
        return json.dumps(next(iter(self.store.read_entries("warm"))).to_record()).encode()

    def fill_session(self, session: str, call_count: int) -> None:
        """Write the entries of one real call into the log, again and again."""
        self.gov.before(self.create_action("ls -la src", session))
        self.gov.after(self.create_action("ls -la src", session), OUTCOME)
        pairs = [(entry.kind, dict(entry.body)) for entry in self.store.read_entries(session)]
        for _, body in pairs:
            body.pop("artifacts", None)

        for _ in range(call_count // CALLS_PER_UPDATE):
            with self.store.session(session) as log:
                for _ in range(CALLS_PER_UPDATE):
                    for kind, body in pairs:
                        log.append(kind, body)


def measure_cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, averaged over a batch."""
    started_at = time.process_time()
    for _ in range(BATCH):
        work()
    return (time.process_time() - started_at) / BATCH


def print_decision_costs(warm: WarmGovernance) -> None:
    """Print the cost of each kind of call; they take turns, so that a busy machine is busy for all of them."""
    entry = warm.read_entry()
    works: dict[str, Callable[[], object]] = {
        "JSON round trip of an entry": lambda: json.dumps(json.loads(entry)),
        "before, a command met before": warm.decide_known,
        "before, a new command": warm.decide_new,
        "after": warm.report_outcome,
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            seconds[name].append(measure_cpu(work))
    round_trip = min(seconds["JSON round trip of an entry"])
    print(f"{'a warm process, CPU':<32}{'µs, least':>12}{'µs, median':>12}{'times a round trip':>20}")
    for name, samples in seconds.items():
        least, median = min(samples), statistics.median(samples)
        print(f"{name:<32}{least * 1e6:>12.0f}{median * 1e6:>12.0f}{least / round_trip:>20.1f}")


def print_session_growth(warm: WarmGovernance) -> None:
    """Print the cost of a call late in a session as a multiple of the first calls of other sessions."""
    warm.fill_session("old", SESSION_CALLS)
    early: list[float] = []
    late: list[float] = []
    for number in range(ROUNDS):
        young = f"young-{number % 16}-{number // 32}"
        warm.decide_known(young)
        warm.decide_known("old")
        early.append(measure_cpu(lambda young=young: warm.decide_known(young)))
        late.append(measure_cpu(lambda: warm.decide_known("old")))
    ratio = min(late) / min(early)
    print(f"\na call after {SESSION_CALLS:,} of one session costs {ratio:.2f} times the first", end=" ")
    print(f"(bar: at most 1.2): {'met' if ratio <= 1.2 else 'missed'}")


def main() -> None:
    """Print the table, and whether the bar is met."""
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="verdikt-decision-", dir=memory if memory.is_dir() else None))
    try:
        warm = WarmGovernance(home)
        print_decision_costs(warm)
        print_session_growth(warm)
        warm.store.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
