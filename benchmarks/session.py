"""What the after moment costs late in a session, as a ratio within one run: `python benchmarks/session.py`.

Two sessions under the same definition, every kind of guidance in it, take turns: one is 10 calls old, the other 10,000. The
long one has read more files than are remembered, so that everything that is bounded is full.
"""

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import MAX_MARKS, Memory
from verdikt.policy import parse_policy

EARLY, LATE = 10, 10_000
ROUNDS = 160
POLICY = """\
profile: standard
tool_policies:
  - read_before_write
  - sequential_dependency: {dependencies: {deploy: [test]}, reset_by: [edit]}
  - rate_limit: {tool: WebFetch, max_calls: 30, per_seconds: 60}
  - forbidden_sequence
feedback:
  - {static: look at the plan again, every_n_calls: 5}
  - {blocked_streak: , every_n_calls: 1}
  - {stale_evidence: , every_n_calls: 1}
completion: {checks: [{files: report.md}, {command: pytest}], deadline_seconds: 3600}
"""
DONE = Outcome(success=True, output="ok\n" * 20, exit_code=0)


ENTRIES = (EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.FEEDBACK)
STEP = 400


class Sessions:
    """Sessions of given ages in one log."""

    def __init__(self, home: Path, *, durable: bool) -> None:
        self.project = home / "project"
        self.project.mkdir()
        for at in range(2 * MAX_MARKS):
            (self.project / f"f{at}.py").write_text(f"{at}\n")
        self.data, self.durable = home / "data", durable
        self.gov = self.opened()
        self.calls: dict[str, int] = {}

    def opened(self) -> Governance:
        """Governance as a new process has it, but for the imports."""
        store = FileStore(self.data, projections=load_projections(), durable=self.durable)
        return Governance(parse_policy(POLICY), store, env={"HOME": str(self.project)})

    def action(self, session: str) -> Action:
        """Mostly reads, each of another file; now and then a command."""
        at = self.calls[session] = self.calls.get(session, 0) + 1
        tool, payload = "Read", {"file_path": f"f{at % (2 * MAX_MARKS)}.py"}
        kind = ActionKind.READ
        if at % 4 == 0:
            kind, tool, payload = ActionKind.BASH, "Bash", {"command": "git status --short"}
        return Action(kind=kind, tool=tool, payload=payload, session_id=session, cwd=str(self.project))

    def age(self, session: str, calls: int) -> None:
        """Makes a session that old, through the flow."""
        for _ in range(calls):
            action = self.action(session)
            self.gov.before(action)
            self.gov.after(action, DONE)

    def age_in_bulk(self, session: str, calls: int) -> None:
        """The same, written straight into the log: the entries of a few real calls again and again, each read of another file."""
        self.age(session, 8)
        entries = [entry for entry in self.gov.store.read_entries(session) if entry.kind in ENTRIES]
        pairs = [(entry.kind, _slim(dict(entry.body))) for entry in entries]

        while self.calls[session] < calls:
            with self.gov.store.session(session) as log:
                for kind, body in pairs * (STEP // 8):
                    log.append(kind, self._mark_read(session, body) if kind is EntryKind.TOOL_CALL else body)

    def _mark_read(self, session: str, body: dict[str, Any]) -> dict[str, Any]:
        """Count one call and return its body, with the mark that a read leaves."""
        self.calls[session] += 1
        if body["tool"] != "Read":
            return body
        memory = Memory()
        memory.set_mark("0123456789abcdef", "read_before_write", str(self.calls[session]))
        return {**body, "kept": {**body.get("kept", {}), **memory.changes}}

    def after(self, session: str, *, fresh: bool) -> float:
        """CPU seconds of one after moment; without fsync there is little else, and a busy machine does not show in them."""
        gov = self.opened() if fresh else self.gov
        action = self.action(session)
        gov.before(action)
        started = time.process_time()
        gov.after(action, DONE)
        took = time.process_time() - started
        if fresh:
            gov.store.close()
        return took


def _slim(body: dict[str, Any]) -> dict[str, Any]:
    """A decision with what projections fold, and without the rest of its receipt, which only takes time to write."""
    body.pop("artifacts", None)
    if "receipt" in body:
        body["receipt"] = {name: body["receipt"][name] for name in ("action", "verdict", "after")}
    return body


def measure(sessions: Sessions, rounds: int, *, fresh: bool) -> tuple[float, float]:
    """Median seconds early and late; each early measurement is in a session just as young as the last."""
    early: list[float] = []
    late: list[float] = []
    for at in range(rounds):
        young = f"young-{fresh}-{at // 4}"
        if at % 4 == 0:
            sessions.age(young, EARLY)
        # Turns change, so that neither always runs after the other.
        for which in (0, 1) if at % 2 else (1, 0):
            found = sessions.after("old" if which else young, fresh=fresh)
            (late if which else early).append(found)
    return statistics.median(early), statistics.median(late)


def main() -> None:
    """Prints the table and whether the bar is met."""
    home = Path(tempfile.mkdtemp(prefix="verdikt-session-"))
    try:
        sessions = Sessions(home, durable=False)
        started = time.perf_counter()
        sessions.age_in_bulk("old", LATE)
        took = time.perf_counter() - started
        print(f"{sessions.calls['old']:,} calls written in {took:.1f} s\n")
        print(f"after moment, median CPU ms{'':<10}{EARLY:>10} calls{LATE:>10,} calls{'ratio':>8}")
        ratios = []
        for words, fresh in (("same process, no fsync", False), ("log opened anew, no fsync", True)):
            early, late = measure(sessions, ROUNDS if not fresh else ROUNDS // 3, fresh=fresh)
            ratios.append(late / early)
            print(f"{words:<37}{early * 1000:>16.2f}{late * 1000:>16.2f}{late / early:>8.2f}")
        print(f"\nworst ratio {max(ratios):.2f} (bar: at most 1.5): {'met' if max(ratios) <= 1.5 else 'missed'}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
