"""The life of a warm process: takes its place, warms up, serves, leaves."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.daemon import client
from verdikt.daemon.http_listener import HttpListener, load_port, save_port
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.listener import UnixListener
from verdikt.daemon.options import DaemonOptions
from verdikt.daemon.server import REASON_HUNG, REASON_OTHER_VERSION, REASON_THREAD_FAILED, SHUTDOWN_SECONDS, Server
from verdikt.errors import DaemonError

if TYPE_CHECKING:
    from verdikt.daemon.acceptor import Listener
    from verdikt.daemon.hook_service import HookService
    from verdikt.daemon.request import Peer

IDLE_SECONDS = 1800.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
WANTED_OPEN_FILES = 8192


def run_daemon(arguments: list[str], env: Mapping[str, str]) -> int:
    """Serves the hooks of a user, or of all; the status to end with. Takes its place before it loads what deciding needs."""
    try:
        options = DaemonOptions.from_arguments(arguments, env)
        os.umask(0o077)
        os.chdir("/")
        # Whoever finds somebody listening is answered: a signal waits until there is a server that can leave.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        if options.system_wide:
            if os.geteuid() == 0:
                os.setgroups([])  # or files of a group would be read for whoever asks
            residence = DaemonInstance(options.home / "run", options.socket_path, 0o666)
        else:
            residence = DaemonInstance(options.home / "run")
        return _serve_hooks(residence, options, env) if residence.acquire_lock() else 0
    except DaemonError as error:
        print(f"verdikt: {error}", file=sys.stderr)
        return 1


def _serve_hooks(instance: "DaemonInstance", options: "DaemonOptions", env: Mapping[str, str]) -> int:
    journal = Journal(instance.directory / "daemon.log")
    os.environ.clear()  # what is asked counts, and never what this process was started with
    _raise_file_limit()
    warm = _create_hook_service(options, env)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    web = None if options.system_wide else _open_http_listener(instance, options, env, journal)
    # The port is free before somebody else can take this place, and with it the port.
    doors: list[Listener] = [*([web] if web else []), UnixListener(instance, _build_peer_filter(options), journal)]
    server = Server(
        doors,
        warm.decide_request,
        journal,
        owns_socket=instance.owns_socket,
        extra_stats=lambda: {"policies": len(warm.policies), "http": web.port if web else None},
        idle_seconds=float("inf") if options.system_wide or web else _read_idle_seconds(env),
        maintain=warm.run_maintenance,
        on_listeners_closed=lambda why: _start_successor(why, instance, env) if web else None,
    )
    _install_signal_handlers(server)
    journal.write_line("started")
    why = server.serve()
    # A decision that hangs may hold what is to be closed.
    last = threading.Timer(SHUTDOWN_SECONDS, os._exit, (0,))
    last.daemon = True
    try:
        last.start()
    except RuntimeError:
        os._exit(0)  # the system has no room for a thread, and nobody would end this one
    warm.close()
    journal.write_line(f"ended: {why}")
    # Threads that hang must not hold the process up; what was decided is on the disk.
    os._exit(0)


def _open_http_listener(
    instance: "DaemonInstance", options: "DaemonOptions", env: Mapping[str, str], journal: "Journal"
) -> "HttpListener | None":
    """The port that was asked for, or that the process before this one had; a client takes a closed one for silence."""
    if options.http_port is None and not Path(instance.directory, "http.port").exists():
        return None

    port = load_port(instance.directory) if options.http_port is None else options.http_port
    try:
        web = None if port is None else HttpListener(port, instance.directory, env)
    except DaemonError as error:
        if options.http_port is not None:
            raise
        journal.write_line(str(error))
        return None
    if web and port != load_port(instance.directory):
        with suppress(OSError):  # then it must be switched on again, should this process end
            save_port(instance.directory, web.port)
    return web


def _start_successor(reason: str, instance: "DaemonInstance", env: Mapping[str, str]) -> None:
    """Somebody must listen on the port after this process, unless a person has ended it."""
    if reason in (REASON_THREAD_FAILED, REASON_HUNG, REASON_OTHER_VERSION):
        client.start_daemon(env)
    elif reason in signal.Signals.__members__:
        with suppress(OSError):
            save_port(instance.directory, 0)


def _create_hook_service(options: "DaemonOptions", env: Mapping[str, str]) -> "HookService":
    from verdikt.daemon.hook_service import HookService

    if options.system_wide:
        from verdikt.daemon.system_service import SystemHookService

        warm: HookService = SystemHookService(options.home)
    else:
        warm = HookService(options.home)
    warm.warm_up(env)
    return warm


def _build_peer_filter(options: "DaemonOptions") -> "Callable[[Peer], bool]":
    """Whom to serve: this user; where there are others, those on the list, or all."""
    me = os.geteuid()
    if not options.system_wide:
        return lambda peer: peer.uid == me
    allowed = options.allowed_uids
    return lambda peer: not allowed or peer.uid in allowed


def _install_signal_handlers(server: "Server") -> None:
    signal.set_wakeup_fd(server.wakeup_fd, warn_on_full_buffer=False)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _: server.request_stop(signal.Signals(number).name))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whoever started us may have ignored it, and git would as well
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def _read_idle_seconds(env: Mapping[str, str]) -> float:
    try:
        seconds = float(env.get("VERDIKT_DAEMON_IDLE", ""))
    except ValueError:
        return IDLE_SECONDS
    return seconds if seconds > 0 else IDLE_SECONDS


def _raise_file_limit() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(WANTED_OPEN_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
