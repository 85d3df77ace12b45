"""Reading a project never drops the locks of a database in it, on which SQLite relies in this process and in others."""

import ast
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from verdikt.errors import PolicyError
from verdikt.ledger.state_database import StateDatabase
from verdikt.model.chain_head import ChainHead
from verdikt.observe.held_databases import open_unheld
from verdikt.observe.policy_files import read_policy_file
from verdikt.observe.regular_file import read_regular_file
from verdikt.observe.small_file import read_small_text
from verdikt.observe.work_tree import read_work_tree
from verdikt.observe.world import RealWorld, digest_file
from verdikt.storage import SQLiteSessionStore

OBSERVE = Path(__file__).parents[3] / "src" / "verdikt" / "observe"

_LAST_CONNECTION_BYTE = 128
"""The byte of `-shm` that every connection locks; a process that finds it free truncates the file."""


def read_as_policy(path: str) -> object:
    """Return what a policy at a path contains; a file that cannot be read is an error there."""
    with suppress(PolicyError):
        return read_policy_file(path)
    return None


READERS: dict[str, Callable[[str], object]] = {
    "regular file": lambda path: read_regular_file(path, 10_000_000),
    "small text": read_small_text,
    "script": lambda path: RealWorld({}).text(path),
    "stamp": lambda path: RealWorld({}).content_stamp(path),
    "digest": digest_file,
    "policy": read_as_policy,
}


@pytest.fixture(params=["state.db", "session store"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Yield the path of a database that this process has open."""
    path = tmp_path / "data" / "held.db"
    path.parent.mkdir()
    if request.param == "state.db":
        with close_after_test(StateDatabase(path)).write_transaction() as db:
            db.put_head("s", ChainHead(1, "0" * 64), frozenset())
    else:
        with close_after_test(SQLiteSessionStore(path)).open("s") as state:
            state.action_count += 1
    yield path


def is_locked(path: Path) -> bool:
    """Return whether another process finds a connection to the database."""
    if (child := os.fork()) == 0:
        with Path(f"{path}-shm").open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LAST_CONNECTION_BYTE)
            except OSError:
                os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["itself", "symlink", "hard link"])
@pytest.mark.parametrize("reader", READERS)
def test_reading_the_files_keeps_the_locks(
    database: Path, reader: str, link: Callable[[str, str], None] | None
) -> None:
    """None of them is read, by whatever name."""
    assert is_locked(database)
    for ending in ("", "-wal", "-shm"):
        path = name = f"{database}{ending}"
        if link is not None:
            link(path, name := f"{database.parent}/other{ending}")
        assert not READERS[reader](name)

    assert is_locked(database)


@pytest.mark.parametrize("has_git", [False, True], ids=["a directory", "a repository"])
def test_fingerprint_of_a_project_keeps_the_locks(database: Path, has_git: bool) -> None:
    """The data directory may lie in the project."""
    project = database.parent.parent
    (project / "notes.txt").write_text("x")
    if has_git:
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    tree = read_work_tree(str(project), {"HOME": "/nowhere", "PATH": os.environ["PATH"]})

    assert tree is not None
    assert "notes.txt" in tree.files
    assert is_locked(database)


def test_database_can_be_read_once_it_is_closed(tmp_path: Path) -> None:
    """Also one that was forgotten instead of closed: its inode may belong to another file by then."""
    path = str(tmp_path / "state.db")
    for forget in (False, True):
        database = StateDatabase(Path(path))
        with database.hold_connection(), pytest.raises(OSError, match="has this database open"):
            open_unheld(path, os.O_RDONLY)
        if not forget:
            database.close()
        del database
        os.close(open_unheld(path, os.O_RDONLY))


WRITES_WHILE_OTHERS_OPEN = """
import select, subprocess, sys
from pathlib import Path
from verdikt.ledger.state_database import StateDatabase
from verdikt.model.chain_head import ChainHead
from verdikt.observe.work_tree import read_work_tree

OPENS = '''
import sqlite3, sys
for line in sys.stdin:
    connection = sqlite3.connect(line.strip(), timeout=30)
    connection.execute("SELECT count(*) FROM heads").fetchone()
    connection.close()
    print("opened", flush=True)
'''
other = subprocess.Popen([sys.executable, "-c", OPENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for number in range(150):
    project = Path(sys.argv[1]) / str(number)
    (project / "data").mkdir(parents=True)
    with StateDatabase(project / "data" / "state.db") as db:
        seq = 0
        def put_head():
            with db.write_transaction() as writing:
                writing.put_head("s", ChainHead(seq, "0" * 64), frozenset())
        put_head()
        read_work_tree(str(project), {"HOME": "/nowhere"})
        print(db.path, file=other.stdin, flush=True)
        while not select.select([other.stdout], [], [], 0)[0]:
            seq += 1
            put_head()
        assert other.stdout.readline() == "opened\\n"
other.stdin.close()
other.wait()
"""


def test_process_survives_another_that_opens_the_database_after_it_read_the_project(tmp_path: Path) -> None:
    """Before, closing the files dropped the locks: the other truncated the shared memory, and SQLite died here."""
    completed = subprocess.run([sys.executable, "-c", WRITES_WHILE_OTHERS_OPEN, str(tmp_path)], check=False)

    assert completed.returncode != -signal.SIGBUS
    assert completed.returncode == 0


OWN_FILES = {"held_databases.py", "crash_log.py", "alerts.py", "atomic_file.py", "process_ancestry.py"}
"""Modules that open files which verdikt or the system names."""


def list_plain_opens(source: str) -> list[int]:
    """Return the lines that open a path without `open_unheld`; a descriptor that is open already is no path."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("open", "os.open"):
            continue
        target = ast.unparse(node.args[0])
        is_unheld = any(ast.unparse(keyword) == "opener=open_unheld" for keyword in node.keywords)
        if target not in ("fd", "descriptor") and not is_unheld and "O_DIRECTORY" not in ast.unparse(node):
            lines.append(node.lineno)
    return lines


def test_observers_open_files_in_one_way() -> None:
    """A new reader of a project's files cannot forget the databases."""
    assert list_plain_opens("fd = os.open(path, 0)\nopen(path)\nopen(fd)\nopen(path, opener=open_unheld)") == [1, 2]
    found = {path.name: list_plain_opens(path.read_text(encoding="utf-8")) for path in OBSERVE.rglob("*.py")}

    assert {name: lines for name, lines in found.items() if lines and name not in OWN_FILES} == {}
