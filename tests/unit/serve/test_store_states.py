"""Any order of batches, repeats, forks, gaps and crashes: the store holds what a naive list of lines would."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import Engine, event

from tests.postgres import PostgresServer
from tests.unit.serve.submissions import add_machine
from tests.unit.team.chains import build_lines, find_head
from verdikt.errors import ServiceError
from verdikt.serve.store import TeamStore
from verdikt.team.search_query import SearchQuery

SESSIONS = ("a", "b")


class _CrashError(ServiceError):
    """Raised in place of a commit."""


class StoreMachine(RuleBasedStateMachine):
    """Two sessions of one machine, their logs there, and what a list of lines would have of them."""

    url = ""

    @initialize()
    def open(self) -> None:
        """Begin with an empty store, or with another machine of the same one."""
        self.directory = tempfile.TemporaryDirectory()
        url = self.url or f"sqlite:///{Path(self.directory.name) / 'team.db'}"
        self.store = TeamStore(url, create=True)
        self.machine = add_machine(self.store, f"machine-{id(self)}-{len(self.store.read_as(1).list_machines())}")
        self.logs: dict[str, list[bytes]] = {session: [] for session in SESSIONS}
        self.stored: dict[str, list[bytes]] = {session: [] for session in SESSIONS}
        self.generations = dict.fromkeys(SESSIONS, 0)
        self.counter = 0

    @rule(session=st.sampled_from(SESSIONS), count=st.integers(1, 5))
    def log_entries(self, session: str, count: int) -> None:
        """Let the machine's log grow."""
        log = self.logs[session]
        self.counter += 1
        log += build_lines(session, range(count), head=find_head(log), flavour=str(self.counter))

    @rule(session=st.sampled_from(SESSIONS), keep=st.integers(0, 12))
    def roll_back(self, session: str, keep: int) -> None:
        """Cut the machine's log; what it writes next contradicts what it may have sent."""
        del self.logs[session][keep:]

    @rule(session=st.sampled_from(SESSIONS), first=st.integers(0, 12), count=st.integers(1, 12), crash=st.booleans())
    def ship(self, session: str, first: int, count: int, crash: bool) -> None:
        """Send any stretch of the log; the transaction may crash at its end, and then nothing has happened."""
        lines = self.logs[session][first : first + count]
        if not lines:
            return
        if crash:
            self._ship_and_crash(lines)
            return
        result = self.machine.send(*lines)[0]
        assert result.continuation.value == self._expect(session, first, lines)
        assert (result.generation, result.head) == (self.generations[session], find_head(self.stored[session]))

    def _ship_and_crash(self, lines: list[bytes]) -> None:
        def fail_commit(_: Any) -> None:
            raise _CrashError

        engine: Engine = self.store.database.ingest_engine
        event.listen(engine, "commit", fail_commit)
        try:
            with pytest.raises(_CrashError):
                self.machine.send(*lines)
        finally:
            event.remove(engine, "commit", fail_commit)

    def _expect(self, session: str, first: int, lines: list[bytes]) -> str:
        """Do to the list what the store must do, and return the word for it."""
        stored, log = self.stored[session], self.logs[session]
        if first > len(stored):
            return "missing"
        shared = stored[first : first + len(lines)]
        if shared != lines[: len(shared)] or (first == len(stored) and log[:first][-1:] != stored[-1:]):
            self.stored[session] = []
            self.generations[session] += 1
            return "forks"
        self.stored[session] = stored + lines[len(shared) :]
        return "extends" if len(lines) > len(shared) else "repeats"

    @invariant()
    def store_equals_the_lists(self) -> None:
        """Every session has exactly the lines that were accepted, and its generation."""
        if not hasattr(self, "store"):
            return
        heads = self.store.read_heads(self.machine.id)
        for session in SESSIONS:
            generation, head = heads.get(session, (0, find_head([])))
            assert (generation, head) == (self.generations[session], find_head(self.stored[session]))
            assert self._read_newest(session, generation) == self.stored[session]

    def _read_newest(self, session: str, generation: int) -> list[bytes]:
        query = SearchQuery(patterns={"session": (session,), "machine": (self._machine_name(),)})
        rows = self.store.read_as(self.machine.organisation).find_sessions(query).sessions
        chains = [row["chain"] for row in rows if row["generation"] == generation]
        return list(self.store.read_as(self.machine.organisation).read_lines(chains[0])) if chains else []

    def _machine_name(self) -> str:
        machines = self.store.read_as(self.machine.organisation).list_machines()
        return next(row.name for row in machines if row.id == self.machine.id)

    def teardown(self) -> None:
        """Close the store."""
        self.store.close()
        self.directory.cleanup()


SETTINGS = {
    "deadline": None,
    "stateful_step_count": 25,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


def test_any_history_on_sqlite_gives_the_same_lines() -> None:
    """SQLite holds what the lists hold."""
    run_state_machine_as_test(StoreMachine, settings=settings(max_examples=25, **SETTINGS))  # type: ignore[arg-type]


def test_any_history_on_postgresql_gives_the_same_lines(postgres: PostgresServer) -> None:
    """PostgreSQL holds what the lists hold."""

    class PostgresMachine(StoreMachine):
        """The same, on a database that all examples share."""

        url = postgres.create_database()

    run_state_machine_as_test(PostgresMachine, settings=settings(max_examples=10, **SETTINGS))  # type: ignore[arg-type]
