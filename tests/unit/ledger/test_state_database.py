"""`state.db` with several connections, in one process and in several."""

import subprocess
import sys
from pathlib import Path

from tests.cleanup import close_after_test
from verdikt.ledger.state_database import StateDatabase, StateRow
from verdikt.ledger.store import ChainHead
from verdikt.storage import SQLiteSessionStore

ELSEWHERE = """
import sys
from pathlib import Path
from verdikt.ledger.state_database import StateDatabase
from verdikt.ledger.store import ChainHead

db = StateDatabase(Path(sys.argv[1]))
with db.write_transaction() as writing:
    writing.put_head(sys.argv[2], ChainHead(1, "0" * 64), frozenset())
print(sorted(db.read_heads()))
db.close()
"""


def put(db: StateDatabase, session: str) -> None:
    with db.write_transaction() as writing:
        writing.put_head(session, ChainHead(1, "0" * 64), frozenset())


def elsewhere(path: Path, session: str) -> str:
    """Another process records a head, and ends; the heads that it found."""
    command = [sys.executable, "-c", ELSEWHERE, str(path), session]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_second_connection_does_not_let_go_of_the_locks_of_the_first(tmp_path: Path) -> None:
    """Closing any descriptor of a file drops every lock that a process has on it, and the next process to end would clear up."""
    path = tmp_path / "state.db"
    first, second = close_after_test(StateDatabase(path)), close_after_test(StateDatabase(path))
    put(first, "a")
    put(second, "b")

    assert elsewhere(path, "c") == "['a', 'b', 'c']"
    assert (tmp_path / "state.db-wal").exists()
    put(first, "d")
    put(second, "e")
    assert elsewhere(path, "f") == "['a', 'b', 'c', 'd', 'e', 'f']"
    with first.hold_connection() as db:
        assert sorted(db.read_heads()) == ["a", "b", "c", "d", "e", "f"]
    with second.write_transaction() as db:
        db.put_state("a", "n", StateRow(1, 1, "{}"))
    for each in (first, second):
        each.close()


def test_it_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """With the files that SQLite puts beside it."""
    db = close_after_test(StateDatabase(tmp_path / "state.db"))
    put(db, "a")

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    db.close()


COUNTED = """
import sys
from verdikt.storage import SQLiteSessionStore

store = SQLiteSessionStore(sys.argv[1])
with store.open("s") as session:
    session.action_count += 1
    print(session.action_count)
store.close()
"""


def test_a_second_session_store_does_not_let_go_of_the_locks_of_the_first(tmp_path: Path) -> None:
    """The same for the store of a `PolicyEngine` by itself, of which a program may have several."""
    path = tmp_path / "sessions.db"
    stores = [close_after_test(SQLiteSessionStore(path)), close_after_test(SQLiteSessionStore(path))]
    for wanted in (1, 4):
        for at, store in enumerate(stores):
            with store.open("s") as session:
                session.action_count += 1
                assert session.action_count == wanted + at
        command = [sys.executable, "-c", COUNTED, str(path)]
        assert int(subprocess.run(command, capture_output=True, check=True).stdout) == wanted + 2
        assert (tmp_path / "sessions.db-wal").exists()
    for store in stores:
        store.close()
