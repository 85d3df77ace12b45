"""What `Governance.after` costs late in a session, as a ratio within one run: `python benchmarks/session.py`.

Two sessions take turns under one policy with every kind of guidance: one is 10 calls old, the other 10,000. The long
one has read more files than are remembered, so that everything that is bounded is full.
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
OUTCOME = Outcome(success=True, output="ok\n" * 20, exit_code=0)
REPEATED_KINDS = (EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.FEEDBACK)
CALLS_PER_UPDATE = 400


class Sessions:
    """Sessions of several lengths in one data directory."""

    def __init__(self, home: Path, *, durable: bool) -> None:
        self.project = home / "project"
        self.project.mkdir()
        for number in range(2 * MAX_MARKS):
            (self.project / f"f{number}.py").write_text(f"{number}\n")
        self.data, self.durable = home / "data", durable
        self.gov = self.open_governance()
        self.calls: dict[str, int] = {}

    def open_governance(self) -> Governance:
        """Return a governance as a new process has it, except for the imports."""
        store = FileStore(self.data, projections=load_projections(), durable=self.durable)
        return Governance(parse_policy(POLICY), store, env={"HOME": str(self.project)})

    def create_action(self, session: str) -> Action:
        """Return mostly reads, each of another file, and now and then a command."""
        number = self.calls[session] = self.calls.get(session, 0) + 1
        tool, payload = "Read", {"file_path": f"f{number % (2 * MAX_MARKS)}.py"}
        kind = ActionKind.READ
        if number % 4 == 0:
            kind, tool, payload = ActionKind.BASH, "Bash", {"command": "git status --short"}
        return Action(kind=kind, tool=tool, payload=payload, session_id=session, cwd=str(self.project))

    def add_calls(self, session: str, call_count: int) -> None:
        """Let a session make that many calls."""
        for _ in range(call_count):
            action = self.create_action(session)
            self.gov.before(action)
            self.gov.after(action, OUTCOME)

    def write_calls(self, session: str, call_count: int) -> None:
        """Write the entries of a few real calls into the log, again and again, each read of another file."""
        self.add_calls(session, 8)
        entries = [entry for entry in self.gov.store.read_entries(session) if entry.kind in REPEATED_KINDS]
        pairs = [(entry.kind, _reduce_receipt(dict(entry.body))) for entry in entries]

        while self.calls[session] < call_count:
            with self.gov.store.session(session) as log:
                for kind, body in pairs * (CALLS_PER_UPDATE // 8):
                    log.append(kind, self._mark_read(session, body) if kind is EntryKind.TOOL_CALL else body)

    def _mark_read(self, session: str, body: dict[str, Any]) -> dict[str, Any]:
        """Count one call and return its body, with the mark that a read leaves."""
        self.calls[session] += 1
        if body["tool"] != "Read":
            return body
        memory = Memory()
        memory.set_mark("0123456789abcdef", "read_before_write", str(self.calls[session]))
        return {**body, "kept": {**body.get("kept", {}), **memory.changes}}

    def measure_after(self, session: str, *, is_new: bool) -> float:
        """Return the CPU seconds of one `after`, in which a busy machine does not show."""
        gov = self.open_governance() if is_new else self.gov
        action = self.create_action(session)
        gov.before(action)
        started_at = time.process_time()
        gov.after(action, OUTCOME)
        seconds = time.process_time() - started_at
        if is_new:
            gov.store.close()
        return seconds


def _reduce_receipt(body: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with only those parts of its receipt that projections read; the others only take time."""
    body.pop("artifacts", None)
    if "receipt" in body:
        body["receipt"] = {name: body["receipt"][name] for name in ("action", "verdict", "after")}
    return body


def measure_sessions(sessions: Sessions, rounds: int, *, is_new: bool) -> tuple[float, float]:
    """Return the median seconds of `after` in young sessions and in the old one."""
    early: list[float] = []
    late: list[float] = []
    for number in range(rounds):
        # A young session is used for four calls only, so that it stays young.
        young = f"young-{is_new}-{number // 4}"
        if number % 4 == 0:
            sessions.add_calls(young, EARLY)
        # Turns change, so that neither always runs after the other.
        for is_old in (False, True) if number % 2 else (True, False):
            seconds = sessions.measure_after("old" if is_old else young, is_new=is_new)
            (late if is_old else early).append(seconds)
    return statistics.median(early), statistics.median(late)


def main() -> None:
    """Print the table, and whether the bar is met."""
    home = Path(tempfile.mkdtemp(prefix="verdikt-session-"))
    try:
        sessions = Sessions(home, durable=False)
        sessions.write_calls("old", LATE)
        print(f"after, median CPU ms       {'':<10}{EARLY:>10} calls{LATE:>10,} calls{'ratio':>8}")
        ratios = []
        for title, is_new in (("same process, no fsync", False), ("log opened again, no fsync", True)):
            early, late = measure_sessions(sessions, ROUNDS if not is_new else ROUNDS // 3, is_new=is_new)
            ratios.append(late / early)
            print(f"{title:<37}{early * 1000:>16.2f}{late * 1000:>16.2f}{late / early:>8.2f}")
        print(f"\nworst ratio {max(ratios):.2f} (bar: at most 1.5): {'met' if max(ratios) <= 1.5 else 'missed'}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
