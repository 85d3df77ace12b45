"""The life of a warm process: takes its place, warms up, serves, leaves."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from verdikt.errors import DaemonError

if TYPE_CHECKING:
    from verdikt.daemon.journal import Journal
    from verdikt.daemon.lobby import Door
    from verdikt.daemon.loopback import HttpDoor
    from verdikt.daemon.options import Options
    from verdikt.daemon.question import Peer
    from verdikt.daemon.residence import Residence
    from verdikt.daemon.server import Server
    from verdikt.daemon.warm import Warm

IDLE_SECONDS = 1800.0
ENDING = (signal.SIGTERM, signal.SIGINT)
FILES = 8192


def live(arguments: list[str], env: Mapping[str, str]) -> int:
    """Serves the hooks of a user, or of all; the status to end with. Takes its place before it loads what deciding needs."""
    from verdikt.daemon.options import Options
    from verdikt.daemon.residence import Residence

    try:
        options = Options.read(arguments, env)
        os.umask(0o077)
        os.chdir("/")
        # Whoever finds somebody listening is answered: a signal waits until there is a server that can leave.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        if options.system:
            if os.geteuid() == 0:
                os.setgroups([])  # or files of a group would be read for whoever asks
            residence = Residence(options.home / "run", options.socket, 0o666)
        else:
            residence = Residence(options.home / "run")
        return _serve(residence, options, env) if residence.take() else 0
    except DaemonError as error:
        print(f"verdikt: {error}", file=sys.stderr)
        return 1


def _serve(residence: "Residence", options: "Options", env: Mapping[str, str]) -> int:
    import gc

    from verdikt.daemon.door import UnixDoor
    from verdikt.daemon.journal import Journal
    from verdikt.daemon.server import LEAVE_SECONDS, Server

    journal = Journal(residence.directory / "daemon.log")
    os.environ.clear()  # what is asked counts, and never what this process was started with
    _more_files()
    warm = _warm(options, env)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    web = None if options.system else _web(residence, options, env, journal)
    # The port is free before somebody else can take this place, and with it the port.
    doors: list[Door] = [*([web] if web else []), UnixDoor(residence, _welcome(options), journal)]
    server = Server(
        doors,
        warm.decide,
        journal,
        ours=residence.ours,
        facts=lambda: {"policies": len(warm.policies), "http": web.port if web else None},
        idle_seconds=float("inf") if options.system or web else _idle(env),
        rest=warm.rest,
        gone=lambda why: _succeed(why, residence, env) if web else None,
    )
    _listen_to_signals(server)
    journal.write("started")
    why = server.serve()
    # A decision that hangs may hold what is to be closed.
    last = threading.Timer(LEAVE_SECONDS, os._exit, (0,))
    last.daemon = True
    try:
        last.start()
    except RuntimeError:
        os._exit(0)  # the system has no room for a thread, and nobody would end this one
    warm.close()
    journal.write(f"ended: {why}")
    # Threads that hang must not hold the process up; what was decided is on the disk.
    os._exit(0)


def _web(residence: "Residence", options: "Options", env: Mapping[str, str], journal: "Journal") -> "HttpDoor | None":
    """The port that was asked for, or that the process before this one had; a client takes a closed one for silence."""
    from pathlib import Path

    if options.http is None and not Path(residence.directory, "http.port").exists():
        return None
    from verdikt.daemon.loopback import HttpDoor, remember_port, remembered_port

    port = remembered_port(residence.directory) if options.http is None else options.http
    try:
        web = None if port is None else HttpDoor(port, residence.directory, env)
    except DaemonError as error:
        if options.http is not None:
            raise
        journal.write(str(error))
        return None
    if web and port != remembered_port(residence.directory):
        with suppress(OSError):  # then it must be switched on again, should this process end
            remember_port(residence.directory, web.port)
    return web


def _succeed(why: str, residence: "Residence", env: Mapping[str, str]) -> None:
    """Somebody must listen on the port after this process, unless a person has ended it."""
    from verdikt.daemon import client
    from verdikt.daemon.loopback import remember_port
    from verdikt.daemon.server import BROKEN, HANGS, OTHER_VERSION

    if why in (BROKEN, HANGS, OTHER_VERSION):
        client.start(env)
    elif why in signal.Signals.__members__:
        with suppress(OSError):
            remember_port(residence.directory, 0)


def _warm(options: "Options", env: Mapping[str, str]) -> "Warm":
    from verdikt.daemon.warm import Warm

    if options.system:
        from verdikt.daemon.system import SystemWarm

        warm: Warm = SystemWarm(options.home)
    else:
        warm = Warm(options.home)
    warm.warm_up(env)
    return warm


def _welcome(options: "Options") -> "Callable[[Peer], bool]":
    """Whom to serve: this user; where there are others, those on the list, or all."""
    me = os.geteuid()
    if not options.system:
        return lambda peer: peer.uid == me
    allowed = options.allow
    return lambda peer: not allowed or peer.uid in allowed


def _listen_to_signals(server: "Server") -> None:
    signal.set_wakeup_fd(server.wake_fd, warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, lambda number, _: server.leave(signal.Signals(number).name))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whoever started us may have ignored it, and git would as well
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


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
