"""The life of a warm process: takes its residence, warms up, serves, leaves."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import DaemonError

if TYPE_CHECKING:
    from verdikt.daemon.residence import Residence
    from verdikt.daemon.server import Server

IDLE_SECONDS = 1800.0
FILES = 8192


def live(arguments: list[str], env: Mapping[str, str]) -> int:
    """Serves one user's hooks; the status to end with. Takes its residence before it loads what deciding needs."""
    from verdikt.daemon.client import run_directory
    from verdikt.daemon.residence import Residence

    directory = run_directory(env)
    if not directory:
        print("verdikt: expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none", file=sys.stderr)
        return 1
    os.umask(0o077)
    os.chdir("/")
    try:
        residence = Residence(Path(directory))
        if not residence.take():
            return 0
        return _serve(residence, env)
    except DaemonError as error:
        print(f"verdikt: {error}", file=sys.stderr)
        return 1


def _serve(residence: "Residence", env: Mapping[str, str]) -> int:
    import gc

    from verdikt.daemon.door import UnixDoor
    from verdikt.daemon.journal import Journal
    from verdikt.daemon.server import Server
    from verdikt.daemon.warm import Warm

    journal = Journal(residence.directory / "daemon.log")
    os.environ.clear()  # what is asked counts, and never what this process was started with
    _more_files()
    warm = Warm()
    warm.warm_up(env)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    me = os.geteuid()
    door = UnixDoor(residence, lambda peer: peer.uid == me, journal)
    server = Server(
        [door],
        warm.answer,
        journal,
        ours=residence.ours,
        facts=lambda: {"policies": len(warm.policies)},
        idle_seconds=_idle(env),
    )
    _listen_to_signals(server)
    journal.write("started")
    why = server.serve()
    warm.close()
    journal.write(f"ended: {why}")
    # Threads that hang must not hold the process up; what was decided is on the disk.
    os._exit(0)


def _listen_to_signals(server: "Server") -> None:
    signal.set_wakeup_fd(server.wake_fd, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: server.leave(signal.Signals(number).name))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _idle(env: Mapping[str, str]) -> float:
    try:
        seconds = float(env.get("VERDIKT_DAEMON_IDLE", ""))
    except ValueError:
        return IDLE_SECONDS
    return seconds if seconds > 0 else IDLE_SECONDS


def _more_files() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
