"""The service for one person: this machine's own log, SQLite beside it, on loopback, with a one-time sign-in link."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import uvicorn

from verdikt.errors import LedgerError, ServiceError
from verdikt.ledger.awaited_approval import announce_courier
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.observe.clock import Clock, SystemClock
from verdikt.serve.app import build_app
from verdikt.serve.importer import LogImporter
from verdikt.serve.local_answers import LocalAnswers
from verdikt.serve.machines import EnrolledMachine
from verdikt.serve.notifications import NotificationSettings
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore
from verdikt.serve.worker import Worker
from verdikt.ship.approval_courier import ApprovalCourier
from verdikt.web.files import check_vendor_files

_LOGGER = logging.getLogger("verdikt.serve")

DEFAULT_PORT = 8787
LOOPBACK = "127.0.0.1"
IMPORT_SECONDS = 1.0
ORGANISATION = "local"
ROLES = frozenset({"viewer", "developer", "auditor", "admin"})


@dataclass
class EmbeddedService(AbstractContextManager["EmbeddedService"]):
    """A service on this machine's log. Entering it opens store and socket; `run` serves until it is told to end."""

    home: Path
    port: int = DEFAULT_PORT
    clock: Clock = field(default_factory=SystemClock)
    _replay: Any = field(default=None, init=False)

    def __enter__(self) -> Self:
        if not (self.home / "ledger").is_dir():
            raise ServiceError(
                f"no log in `{self.home}`: nothing was recorded yet, or VERDIKT_HOME is another;"
                " `verdikt init` in a project lets your agents' calls be recorded"
            )
        check_vendor_files()
        self._socket = _bind_loopback(self.port)
        try:
            self.port = self._socket.getsockname()[1]
            self._open_store()
        except BaseException:
            self._socket.close()
            raise
        return self

    def _open_store(self) -> None:
        directory = self.home / "serve"
        directory.mkdir(mode=0o700, exist_ok=True)
        self.store = TeamStore(f"sqlite:///{directory / 'team.db'}", create=True)
        now = self.clock.now()
        organisation = self.store.ensure_organisation(ORGANISATION, int(now * 1_000_000))
        # Nothing is sent over a network, so this machine needs no key.
        machine = self.store.add_machine(organisation, socket.gethostname(), b"", int(now * 1_000_000))
        name = os.environ.get("USER") or os.environ.get("LOGNAME") or "you"
        self.importer = LogImporter(self.store, self.home, self.clock, organisation, machine)
        origins = frozenset(f"http://{host}:{self.port}" for host in (LOOPBACK, "localhost"))
        settings = NotificationSettings.from_env(os.environ)
        self.service = Service(
            self.store,
            origins,
            self.clock,
            problems=self.importer.problems,
            settings=settings,
            replay_line=self._replay_line,
        )
        self._person = self.service.people.ensure_person(organisation, "local", name, ROLES)
        self.store.assign_machine(machine, self._person)
        self.log = FileStore(self.home, self.clock, load_projections())
        answers = LocalAnswers(self.service, EnrolledMachine(machine, organisation))
        self.courier = ApprovalCourier(self.log, answers)

    def _replay_line(self, line: bytes) -> dict[str, Any]:
        """Replay a decision. What decides is loaded when the first one is looked at: the start must not wait for it."""
        if self._replay is None:
            self._replay = import_module("verdikt.serve.receipt_replay").ReceiptReplay(self.home)
        replayed: dict[str, Any] = self._replay.replay_line(line)
        return replayed

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.log.close()
        self.store.close()

    def create_link(self) -> str:
        """Return an address that signs in once. The secret is in its fragment, which is not sent to any server."""
        secret = self.service.people.create_link(self._person, self.clock.now())
        return f"http://{LOOPBACK}:{self.port}/sign-in#{secret}"

    def run(self, on_start: Callable[[], None] | None = None) -> None:
        """Serve until the process is told to end; new lines of the log are imported every second."""
        config = uvicorn.Config(
            build_app(self.service),
            http="httptools",
            lifespan="off",
            log_level="critical",
            server_header=False,
            # An open page never ends its feed by itself.
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        ended = threading.Event()
        importing = threading.Thread(target=self._import_continuously, args=(ended,), name="importer")
        importing.start()
        # Told apart: a place that does not answer must not hold up what the pages show.
        worker = Worker(self.service)
        working = threading.Thread(target=worker.run, name="worker")
        working.start()
        try:
            if on_start:
                on_start()
            self._server.run(sockets=[self._socket])
        finally:
            ended.set()
            worker.stop()
            importing.join()
            working.join()

    def stop(self) -> None:
        """Ask `run` to end, from another thread."""
        self._server.should_exit = True

    def _import_continuously(self, ended: threading.Event) -> None:
        with announce_courier(self.home):
            while not ended.is_set():
                try:
                    self.importer.import_new_lines()
                    self.courier.deliver()
                except (ServiceError, LedgerError) as error:
                    # Another process may hold the database for long; the next round tries again.
                    _LOGGER.warning("the log could not be imported: %s", error)
                except Exception:
                    # A thread that ended here would leave the page as it is, without a word.
                    _LOGGER.exception("importing the log failed, and is tried again")
                ended.wait(IMPORT_SECONDS)


def _bind_loopback(port: int) -> socket.socket:
    """Return a listening socket on loopback, on another port when the default one is taken."""
    for candidate in (port, 0) if port == DEFAULT_PORT else (port,):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, candidate))
        except OSError as error:
            listener.close()
            problem = error
            continue
        listener.listen(128)
        return listener
    raise ServiceError(f"port {port} is taken ({problem.strerror}): choose another with --port")
