"""An agent under guidance, for tests: its calls through the real flow, in a world of dictionaries."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, Outcome
from verdikt.model.hook_message import Answer, Turn
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Decision
from verdikt.policy import parse_policy

PROJECT = "/home/dev/project"
OPEN = "profile: none\nunknown_tools: pass\nrules: [{name: none, tool: no_such_tool, verdict: warn, reason: never}]\n"
"""A policy that passes everything, so that guidance alone decides."""


@contextmanager
def _hide_project(path: str) -> Iterator[None]:
    """Let only the world of dictionaries have the project, also on a machine that happens to have such a directory."""
    if path == PROJECT or path.startswith(f"{PROJECT}/"):
        raise PermissionError(path)
    yield


@dataclass
class Guided:
    """One session under a definition. Every call opens the log again, as every hook process does."""

    home: Path
    policy: str = ""
    definition: dict[str, Any] = field(default_factory=dict)
    world: FakeWorld = field(default_factory=FakeWorld)
    clock: FakeClock = field(default_factory=FakeClock)
    session: str = "s"
    agent: str = ""
    prompt: str = ""

    def governance(self) -> Governance:
        """Return governance as a new process would load it."""
        return Governance(
            parse_policy(OPEN + self.policy),
            self.store(),
            world_factory=lambda cwd: self.world,
            clock=self.clock,
            env={"HOME": "/home/dev", "VERDIKT_RUNS_DIR": str(self.home / "runs")},
            path_access=_hide_project,
            **self.definition,
        )

    def store(self) -> FileStore:
        """Open the log, to be closed when the test ends."""
        return close_after_test(FileStore(self.home / "data", self.clock, load_projections(), durable=False))

    @contextmanager
    def _open_governance(self) -> Iterator[Governance]:
        """Close the log after one call, as the process of a hook does when it ends."""
        governance = self.governance()
        with closing(governance.store):
            yield governance

    def action(self, tool: str, **payload: Any) -> Action:
        """Return a call of the agent."""
        return Action(
            kind=classify_tool(tool),
            tool=tool,
            payload=payload,
            session_id=self.session,
            cwd=PROJECT,
            agent=self.agent,
            task_type=self.prompt,
        )

    def before(self, tool: str, **payload: Any) -> Decision:
        """Return the decision about a call."""
        self.world.now = self.clock.seconds
        with self._open_governance() as governance:
            return governance.before(self.action(tool, **payload))

    def call(self, tool: str, *, outcome: Outcome | None = None, **payload: Any) -> str:
        """Return the reason of a refusal, or the feedback after a call that passed."""
        decision = self.before(tool, **payload)
        if not decision.passed:
            return decision.verdict.reason
        return self.after(tool, outcome=outcome, **payload).context

    def after(self, tool: str, *, outcome: Outcome | None = None, **payload: Any) -> Answer:
        """Report the outcome of a call."""
        with self._open_governance() as governance:
            return governance.after(self.action(tool, **payload), outcome or Outcome(success=True))

    def stop(self, **turn: Any) -> Answer:
        """Ask to finish the turn."""
        turn = {"session_id": self.session, "cwd": PROJECT, **turn}
        with self._open_governance() as governance:
            return governance.stop(Turn(**turn))

    def put(self, name: str, text: str = "text") -> None:
        """Put a file into the project."""
        self.world.texts[f"{PROJECT}/{name}"] = text
