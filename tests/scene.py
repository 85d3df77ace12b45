"""A turn of an agent, played through governance: a request, tool calls, a final message."""

import json
from pathlib import Path
from typing import Any

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.hook_message import Answer, Prompt, Turn
from verdikt.policy import parse_policy

GREEN = "===== 42 passed in 1.20s ====="
RED = "===== 2 failed, 40 passed in 1.20s ====="


class Scene:
    """One session in one project directory."""

    def __init__(self, directory: Path, mode: str = "enforce", more: str = "", session: str = "s1") -> None:
        self.project = directory / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.session = session
        self.clock = FakeClock()
        self.store = close_after_test(FileStore(directory / "data", self.clock, load_projections()))
        policy = parse_policy(f"profile: standard\nevidence:\n  mode: {mode}\n{more}")
        self.gov = Governance(
            policy, self.store, world_factory=self._observe, clock=self.clock, env={"HOME": "/home/dev"}
        )
        self.calls = 0

    def close(self) -> None:
        """Close the log."""
        self.store.close()

    def _observe(self, cwd: str) -> FakeWorld:
        return FakeWorld(cwd=cwd, project_root=str(self.project))

    def ask(self, text: str, **more: Any) -> Answer:
        """Send a person's prompt."""
        return self.gov.prompt(Prompt(text=text, session_id=self.session, cwd=str(self.project), **more))

    def run(self, command: str, output: str = "", status: int | None = 0, cwd: str = "", decided: bool = True) -> Entry:
        """Run a command as the agent, and return its log entry."""
        return self._call(
            ActionKind.BASH, "Bash", {"command": command}, output=output, status=status, cwd=cwd, decided=decided
        )

    def edit(self, name: str, text: str = "x = 1\n") -> Entry:
        """Write a file as the agent, and return its log entry."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self._call(ActionKind.WRITE, "Write", {"file_path": str(path), "content": text})

    def read(self, name: str, *, exists: bool = True) -> Entry:
        """Read a file as the agent, and return its log entry."""
        return self._call(
            ActionKind.READ, "Read", {"file_path": str(self.project / name)}, status=None if exists else 1
        )

    def fetch(self, url: str, status: int = 200) -> Entry:
        """Fetch a page as the agent, and return its log entry."""
        return self.run(f"curl -i {url}", f"HTTP/1.1 {status} X", 0 if status < 400 else 22)

    def say(self, message: str | None, **more: Any) -> Answer:
        """Ask to finish the turn with this message."""
        return self.gov.stop(Turn(session_id=self.session, message=message, cwd=str(self.project), **more))

    def _call(
        self,
        kind: ActionKind,
        tool: str,
        payload: dict[str, str],
        *,
        output: str = "",
        status: int | None = None,
        cwd: str = "",
        decided: bool = True,
    ) -> Entry:
        self.calls += 1
        self.clock.seconds += 1
        action = Action(
            kind=kind,
            tool=tool,
            payload=payload,
            session_id=self.session,
            cwd=cwd or str(self.project),
            call_id=f"t{self.calls}",
            host="claude",
        )
        if decided:
            self.gov.before(action)
        self.gov.after(action, Outcome(success=not status, output=output, exit_code=status, duration_seconds=0.5))
        return self.entries(EntryKind.TOOL_CALL)[-1]

    def entries(self, *kinds: EntryKind) -> list[Entry]:
        """Return the session's entries of these kinds."""
        return [entry for entry in self.store.read_entries(self.session) if not kinds or entry.kind in kinds]

    @property
    def last(self) -> dict[str, Any]:
        """Return what the gate recorded last."""
        return dict(
            [entry for entry in self.entries(EntryKind.COMPLETION) if entry.body.get("by") == "evidence"][-1].body
        )

    def transcript(self, *lines: object) -> str:
        """Write a transcript file of these lines, and return its path."""
        path = self.project.parent / "transcript.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return str(path)
