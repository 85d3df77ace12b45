"""One replica of the service for a team: any number of them on one database, behind a load balancer."""

from __future__ import annotations

import gc
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import anyio
import uvicorn

from verdikt.errors import ServiceError
from verdikt.observe.clock import Clock, SystemClock
from verdikt.serve.app import build_app
from verdikt.serve.notifications import NotificationSettings
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore
from verdikt.serve.worker import Worker
from verdikt.web.files import check_vendor_files

if TYPE_CHECKING:
    from pathlib import Path

    from verdikt.serve.oidc import OidcSettings

ORGANISATION = "default"
GRACE_SECONDS = 5
"""How long requests may take to end when the process shall; a page's feed and a machine's long poll never hurry."""
_SHARDS = 1024
_GC_THRESHOLDS = (20_000, 20, 20)


@dataclass
class TeamService(AbstractContextManager["TeamService"]):
    """A replica. Entering it opens store and socket; `run` serves until it is told to end."""

    database_url: str
    listen: str
    public_url: str
    clock: Clock = field(default_factory=SystemClock)
    oidc: OidcSettings | None = None

    def __enter__(self) -> Self:
        check_vendor_files()
        self._socket = bind_socket(self.listen)
        try:
            # Replicas count into rows of their own, so that none waits for another.
            self.store = TeamStore(self.database_url, shard=os.getpid() % _SHARDS)
        except BaseException:
            self._socket.close()
            raise
        host, port = self._socket.getsockname()[:2]
        public_url = self.public_url or f"http://{host}:{port}"
        origin = parse_origin(public_url)
        settings = NotificationSettings.from_env(os.environ)
        self.service = Service(self.store, frozenset({origin}), self.clock, settings=settings)
        if self.oidc is not None:
            # Slow to import, and many teams have none.
            from verdikt.serve.oidc import OidcSignIn

            self.service.oidc = OidcSignIn(self.oidc, self.store.database, f"{origin}/oidc")
        self.worker = Worker(self.service)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.store.close()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    def run(self, on_start: Callable[[], None] | None = None) -> None:
        """Serve until the process is told to end."""
        config = uvicorn.Config(
            build_app(self.service),
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # Nothing here rests on the address of a client.
            proxy_headers=False,
            timeout_keep_alive=30,
            limit_concurrency=2000,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        # What is slow to import comes before the event loop, whose other tasks it would hold.
        config.load()
        self._server = uvicorn.Server(config)
        # Else its parts for threads are imported by the first request, while the others wait.
        anyio.run(anyio.sleep, 0)
        # SQLite is for one process, which then does all the work.
        working = None if self.store.database.is_postgresql else threading.Thread(target=self.worker.run, name="worker")
        if working:
            working.start()
        try:
            if on_start:
                on_start()
            self._server.run(sockets=[self._socket])
        finally:
            self.worker.stop()
            if working:
                working.join()

    def stop(self) -> None:
        """Ask `run` to end, from another thread."""
        self._server.should_exit = True


def settle_memory() -> None:
    """Leave what this process loaded by now out of every later search for garbage, which would hold the event loop."""
    gc.collect()
    gc.freeze()
    # A batch makes thousands of objects: else the search would begin several times for each.
    gc.set_threshold(*_GC_THRESHOLDS)


def load_oidc(path: Path, environment: Mapping[str, str]) -> OidcSettings:
    """Return the settings of the identity provider."""
    from verdikt.serve.oidc import load_settings

    return load_settings(path, environment)


def parse_origin(url: str) -> str:
    """Return the origin of an address under which browsers and machines reach the service."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise ServiceError(f"expected an address such as `https://verdikt.example`, found `{url}`")
    return f"{parts.scheme}://{parts.netloc}"


def bind_socket(listen: str) -> socket.socket:
    """Return a listening socket on `HOST:PORT`."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise ServiceError(f"expected HOST:PORT, found `{listen}`")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), int(port)))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ServiceError(f"cannot listen on `{listen}`: {error}") from error
    listener.listen(1024)
    return listener


def run_worker(database_url: str, public_url: str, on_start: Callable[[Worker], None]) -> None:
    """Work on the jobs of a database until told to end; `on_start` gets the worker, to end it."""
    with TeamStore(database_url) as store:
        settings = NotificationSettings.from_env(os.environ)
        worker = Worker(Service(store, frozenset({parse_origin(public_url)}), settings=settings))
        on_start(worker)
        worker.run()
