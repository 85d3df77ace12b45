"""`state.db` with several connections, in one process and in several."""

import subprocess
import sys
from pathlib import Path

from tests.cleanup import close_after_test
from verdikt.ledger.state_database import StateDatabase, StateRow
from verdikt.model.chain_head import ChainHead
from verdikt.storage import SQLiteSessionStore

ELSEWHERE = """
import sys
from pathlib import Path
from verdikt.ledger.state_database import StateDatabase
from verdikt.model.chain_head import ChainHead

db = StateDatabase(Path(sys.argv[1]))
with db.write_transaction() as writing:
    writing.put_head(sys.argv[2], ChainHead(1, "0" * 64), frozenset())
print(sorted(db.read_heads()))
db.close()
"""


def put_head(db: StateDatabase, session: str) -> None:
    """Store a chain head for a session."""
    with db.write_transaction() as writing:
        writing.put_head(session, ChainHead(1, "0" * 64), frozenset())


def record_in_other_process(path: Path, session: str) -> str:
    """Record a head in another process, and return the heads that it found."""
    command = [sys.executable, "-c", ELSEWHERE, str(path), session]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_second_connection_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Closing any descriptor of a file would drop every lock of the process, and lose the write-ahead log."""
    path = tmp_path / "state.db"
    first, second = close_after_test(StateDatabase(path)), close_after_test(StateDatabase(path))
    put_head(first, "a")
    put_head(second, "b")

    assert record_in_other_process(path, "c") == "['a', 'b', 'c']"
    assert (tmp_path / "state.db-wal").exists()
    put_head(first, "d")
    put_head(second, "e")
    assert record_in_other_process(path, "f") == "['a', 'b', 'c', 'd', 'e', 'f']"
    with first.hold_connection() as db:
        assert sorted(db.read_heads()) == ["a", "b", "c", "d", "e", "f"]
    with second.write_transaction() as db:
        db.put_state("a", "n", StateRow(1, 1, "{}"))
    for database in (first, second):
        database.close()


def test_database_files_are_private(tmp_path: Path) -> None:
    """The files that SQLite puts beside it are private too."""
    db = close_after_test(StateDatabase(tmp_path / "state.db"))
    put_head(db, "a")

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


def test_second_session_store_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """A program may have several session stores."""
    path = tmp_path / "sessions.db"
    stores = [close_after_test(SQLiteSessionStore(path)), close_after_test(SQLiteSessionStore(path))]
    for expected in (1, 4):
        for index, store in enumerate(stores):
            with store.open("s") as session:
                session.action_count += 1
                assert session.action_count == expected + index
        command = [sys.executable, "-c", COUNTED, str(path)]
        assert int(subprocess.run(command, capture_output=True, check=True).stdout) == expected + 2
        assert (tmp_path / "sessions.db-wal").exists()
    for store in stores:
        store.close()
