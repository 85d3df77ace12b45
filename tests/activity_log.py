"""A log of a working week, made by the real flow on a fake clock, for tests of the report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes import FakeClock, FakeWorld
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.pause import begin_pause, end_pause
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.verdict import Decision
from verdikt.policy import parse_policy

DAY = 86_400
PROJECT = "/home/dev/project"


@dataclass
class TickingClock(FakeClock):
    """A clock that moves a little whenever it is read, so that decisions take a time."""

    ticks: int = 0

    def now(self) -> float:
        """Return the time, a few hundred microseconds after the last answer."""
        self.ticks += 1
        self.seconds += 0.0001 * (1 + self.ticks % 7) + (0.08 if self.ticks % 211 == 0 else 0)
        return self.seconds


@dataclass
class ActivityLog:
    """Writes sessions of agents into a log; the clock is moved by the calls."""

    store: FileStore
    clock: FakeClock
    governance: Governance
    _calls: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    def call(
        self,
        session: str,
        command: str,
        *,
        host: str = "claude",
        runs: bool = True,
        wait: float = 4.0,
        tool: str = "Bash",
        output: str = "ok",
    ) -> Decision:
        """Decide a command, and report its outcome if it may run: an ask is answered after `wait` seconds."""
        kind, key = (ActionKind.BASH, "command") if tool == "Bash" else (ActionKind.WRITE, "file_path")
        action = Action(
            kind=kind,
            tool=tool,
            payload={key: command},
            session_id=session,
            cwd=PROJECT,
            host=host,
            call_id=f"call-{next(self._calls)}",
        )
        decision = self.governance.before(action)
        self.clock.sleep(1)
        if decision.passed or (decision.verdict.kind.word == "ask" and runs):
            self.clock.sleep(0 if decision.passed else wait - 1)
            self.clock.sleep(2)
            self.governance.after(action, Outcome(success=True, exit_code=0, output=output, duration_seconds=2.0))
        return decision

    def prompt(self, session: str, text: str) -> None:
        """Record a person's request."""
        self.governance.prompt(Prompt(text=text, session_id=session, cwd=PROJECT))

    def stop(self, session: str, message: str) -> None:
        """End a turn."""
        self.governance.stop(Turn(session_id=session, message=message, cwd=PROJECT))


@contextmanager
def open_activity_log(home: Path, more: str = "") -> Iterator[ActivityLog]:
    """Yield an empty log."""
    clock = TickingClock(1_793_000_000.0)
    store = FileStore(home, clock, load_projections(), durable=False)
    policy = parse_policy(f"profile: standard\nevidence: {{mode: shadow}}\n{more}")
    governance = Governance(
        policy,
        store,
        world_factory=lambda cwd: FakeWorld(cwd=PROJECT, now=clock.seconds),
        clock=clock,
        env={"HOME": "/home/dev"},
    )
    try:
        yield ActivityLog(store, clock, governance)
    finally:
        store.close()


def write_week(home: Path, *, busy: int = 6) -> float:
    """Write a week of two hosts into a data directory; return the time at its end."""
    with open_activity_log(home) as log:
        for day in range(7):
            session = f"{day:08x}-5d2e-4c1a"
            host = "codex" if day % 3 == 2 else "claude"
            log.prompt(session, "Add a retry to the client in `src/client.py`")
            for _ in range(busy * (1 + day % 4)):
                log.call(session, "git status", host=host)
                log.call(session, "pytest -q tests", host=host, output="ok" if day == 4 else "3 passed in 0.10s")
            log.call(session, "npm publish --registry https://registry.internal", host=host, wait=3 + day)
            if day % 2:
                log.call(session, "rm -rf /home/dev/other/cache", host=host)
                log.call(session, "mv /home/dev/other/cache /home/dev/other/cache.old", host=host)
            if day in (1, 4, 5):
                log.call(session, "git push --force origin main", host=host)
                log.call(session, "git push --force-with-lease origin feature", host=host)
            if day == 3:
                log.call(session, "git push --force origin main", host=host)
                log.call(session, "git push --force origin main", host=host)
            log.call(session, 'rm -rf "$BUILD_DIR"', host=host, runs=day > 4, wait=25)
            log.stop(session, "The retry works and all tests pass.")
            if day == 5:
                begin_pause(log.store, seconds=600, reason="moving the repository", by="dev")
                log.call(session, "rm -rf /home/dev/other/cache", host=host)
                end_pause(log.store, by="dev")
            log.clock.seconds += DAY - log.clock.seconds % DAY + 9 * 3600 + day * 1800
        return log.clock.now()
