"""Session state in SQLite: many processes, and damage."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.graphs import ACTION, ScriptedGuard
from verdikt.engine import PolicyEngine
from verdikt.errors import SessionError
from verdikt.graph.combinator import All
from verdikt.guards import BudgetGuard
from verdikt.ledger.session import SQLiteSessionStore
from verdikt.model.action import Action, ActionKind

WORKER = """
import sys
from verdikt import Action, ActionKind, PolicyEngine, SQLiteSessionStore
from verdikt.guards import BudgetGuard
engine = PolicyEngine(BudgetGuard(max_tasks=100), session_store=SQLiteSessionStore(sys.argv[1]))
print(sum(engine.evaluate(Action(kind=ActionKind.BASH)).passed for _ in range(40)))
"""


def count_actions(store: SQLiteSessionStore, session_id: str = "default") -> int:
    """Return how many actions the session has taken."""
    with store.open(session_id) as state:
        return state.action_count


def test_many_processes_share_one_budget(tmp_path: Path) -> None:
    """Four processes want 160 actions and exactly 100 pass; none is lost and the store is made once."""
    path = tmp_path / "new" / "sessions.db"
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    passed = [int(worker.communicate(timeout=120)[0]) for worker in workers]

    assert sum(passed) == 100
    assert count_actions(close_after_test(SQLiteSessionStore(path))) == 160
    assert close_after_test(SQLiteSessionStore(path)).incidents() == []


def test_forked_child_uses_its_own_connection(tmp_path: Path) -> None:
    """SQLite connections do not survive a fork."""
    store = close_after_test(SQLiteSessionStore(tmp_path / "s.db"))
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=store)
    engine.evaluate(ACTION)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if engine.evaluate(ACTION).context.session.action_count == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert engine.evaluate(ACTION).context.session.action_count == 3


def test_default_store_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sessions.db` in the data directory is readable by its owner only."""
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "home"))
    store = close_after_test(SQLiteSessionStore())

    assert count_actions(store) == 0
    assert store.path == tmp_path / "home" / "sessions.db"
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [b"not a database, " * 300, b"SQLite format 3\\0" + b"\\xff" * 5000])
def test_damaged_file_is_moved_aside_recorded_and_rebuilt(tmp_path: Path, damage: bytes) -> None:
    """The action that finds the damage is blocked; the next one goes on."""
    path = tmp_path / "s.db"
    path.write_bytes(damage)
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=close_after_test(SQLiteSessionStore(path)))

    verdict = engine.evaluate(ACTION)

    assert not verdict.passed
    assert f"session store `{path}` was damaged: moved to `{path}.damaged-1`" in verdict.reason
    assert (tmp_path / "s.db.damaged-1").read_bytes() == damage
    assert engine.evaluate(ACTION).passed
    [incident] = close_after_test(SQLiteSessionStore(path)).incidents()
    assert incident.startswith("the file was damaged (")


def test_readable_rows_of_a_damaged_file_are_kept(tmp_path: Path) -> None:
    """One bad page must not reset every budget."""
    path = tmp_path / "s.db"
    store = close_after_test(SQLiteSessionStore(path))
    for number in range(200):
        with store.open(f"session-{number:03}") as state:
            state.action_count = number
            state.slots["padding"] = "x" * 300
    store.close()
    data = bytearray(path.read_bytes())
    data[-8192:] = b"\\xff" * 8192
    path.write_bytes(data)
    with pytest.raises(SessionError, match="sessions kept; try again"):
        for number in range(200):
            count_actions(store, f"session-{number:03}")

    assert count_actions(store, "session-003") == 3


@pytest.mark.parametrize("loss", ["removed", "emptied", "removed while in use"])
def test_removed_store_is_reported(tmp_path: Path, loss: str) -> None:
    """Removing the file cannot reset a budget unnoticed."""
    path = tmp_path / "s.db"
    store = close_after_test(SQLiteSessionStore(path))
    engine = PolicyEngine(BudgetGuard(max_tasks=1), session_store=store)
    assert engine.evaluate(ACTION).passed
    if loss != "removed while in use":
        store.close()
    path.write_bytes(b"") if loss == "emptied" else path.unlink()

    assert (
        f"session store `{path}` was missing or empty and was made again; try again" in engine.evaluate(ACTION).reason
    )
    assert engine.evaluate(ACTION).passed
    assert store.incidents() == [f"{path} was missing or empty and was made again"]


@pytest.mark.parametrize(
    "text",
    ["not json", "[]", "{}", '{"action_count": "7"}', "\\x00", json.dumps({"action_count": 1, "slots": []})],
)
def test_row_that_is_not_a_state_is_replaced(tmp_path: Path, text: str) -> None:
    """The action is blocked once, the damage is recorded, and other sessions are unaffected."""
    path = tmp_path / "s.db"
    store = close_after_test(SQLiteSessionStore(path))
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=store)
    engine.evaluate(ACTION)
    engine.evaluate(Action(kind=ActionKind.READ, session_id="other"))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE session SET state = ? WHERE id = ?", (text, '"default"'))
    connection.close()

    assert "was damaged and has been started again; try again" in engine.evaluate(ACTION).reason
    assert engine.evaluate(ACTION).context.session.action_count == 1
    assert count_actions(store, "other") == 1
    assert len(store.incidents()) == 1


def test_slots_that_are_not_plain_data_raise(tmp_path: Path) -> None:
    """The error says what is wrong, and the session stays as it was."""
    store = close_after_test(SQLiteSessionStore(tmp_path / "s.db"))
    with pytest.raises(SessionError, match="expected plain data in the session's slots"), store.open("a") as state:
        state.slots["odd"] = {1, 2}

    assert count_actions(store, "a") == 0


def test_store_that_cannot_be_written_blocks(tmp_path: Path) -> None:
    """The reason says what to do."""
    (tmp_path / "file").write_text("")
    engine = PolicyEngine(
        All(ScriptedGuard("pass")), session_store=close_after_test(SQLiteSessionStore(tmp_path / "file" / "s.db"))
    )
    result = engine.evaluate(ACTION)

    assert not result.passed
    assert "make it writable or set VERDIKT_HOME" in result.reason


def test_locked_store_blocks_after_the_timeout(tmp_path: Path) -> None:
    """It neither waits for ever nor passes."""
    path = tmp_path / "s.db"
    store = close_after_test(SQLiteSessionStore(path, timeout_seconds=0.01))
    engine = PolicyEngine(ScriptedGuard("pass"), session_store=store)
    engine.evaluate(ACTION)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert "database is locked" in engine.evaluate(ACTION).reason
    other.execute("ROLLBACK")
    other.close()
    assert engine.evaluate(ACTION).context.session.action_count == 2
