"""Start and end of the warm process: takes the lock, loads what decisions need, serves, cleans up."""

import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from verdikt.daemon import client
from verdikt.daemon.acceptor import Listener
from verdikt.daemon.companion import create_exporter, create_sender
from verdikt.daemon.hook_service import HookService
from verdikt.daemon.http_listener import PORT_FILE, HttpListener, load_port, save_port
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.listener import UnixListener
from verdikt.daemon.options import DaemonOptions
from verdikt.daemon.request import Peer
from verdikt.daemon.server import REASON_HUNG, REASON_OTHER_VERSION, REASON_THREAD_FAILED, SHUTDOWN_SECONDS, Server
from verdikt.daemon.system_service import SystemHookService
from verdikt.errors import DaemonError

IDLE_SECONDS = 1800.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
WANTED_OPEN_FILES = 8192


def run_daemon(arguments: list[str], env: Mapping[str, str]) -> int:
    """Serve the hooks of one user, or of all, and return the exit status; 0 at once when another process does so."""
    try:
        options = DaemonOptions.from_arguments(arguments, env)
        os.umask(0o077)
        os.chdir("/")
        # Blocked until the server's handlers are installed: a client that could connect gets a reply.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        if options.system_wide:
            if os.geteuid() == 0:
                os.setgroups([])  # else files of root's groups would be read on behalf of other users
            instance = DaemonInstance(options.home / "run", options.socket_path, 0o666)
        else:
            instance = DaemonInstance(options.home / "run")
        return _serve_hooks(instance, options, env) if instance.acquire_lock() else 0
    except DaemonError as error:
        print(f"verdikt: {error}", file=sys.stderr)
        return 1


def tune_garbage_collector() -> None:
    """Let the collector skip what is loaded by now, because it stays loaded, and run less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _serve_hooks(instance: DaemonInstance, options: DaemonOptions, env: Mapping[str, str]) -> int:
    journal = Journal(instance.directory / "daemon.log")
    os.environ.clear()  # each request brings its own environment; nothing may read this one by mistake
    _raise_file_limit()
    hook_service = SystemHookService(options.home) if options.system_wide else HookService(options.home)
    hook_service.warm_up(env)
    companions = [create_sender(options.home, env), create_exporter(options.home, system_wide=options.system_wide)]

    def maintain() -> None:
        hook_service.run_maintenance()
        for companion in companions:
            companion.check()

    tune_garbage_collector()
    http_listener = None if options.system_wide else _open_http_listener(instance, options, env, journal)
    # Closed in this order: the port must be free before another process can take the lock, and with it the port.
    listeners: list[Listener] = [
        *([http_listener] if http_listener else []),
        UnixListener(instance, _build_peer_filter(options), journal),
    ]
    server = Server(
        listeners,
        hook_service.decide_request,
        journal,
        owns_socket=instance.owns_socket,
        extra_stats=lambda: {
            "policies": len(hook_service.policies),
            "http": http_listener.port if http_listener else None,
        },
        idle_seconds=float("inf") if options.system_wide or http_listener else _read_idle_seconds(env),
        maintain=maintain,
        on_listeners_closed=lambda reason: _start_successor(reason, instance, env) if http_listener else None,
    )
    _install_signal_handlers(server)
    journal.write_line("started")
    reason = server.serve()
    _arm_exit_timer()
    hook_service.close()
    for companion in companions:
        companion.close()
    journal.write_line(f"ended: {reason}")
    # Not `sys.exit`: threads that hang would hold the process up. What was decided is on the disk.
    os._exit(0)


def _arm_exit_timer() -> None:
    """End the process after `SHUTDOWN_SECONDS`: a decision that hangs may hold what is to be closed."""
    timer = threading.Timer(SHUTDOWN_SECONDS, os._exit, (0,))
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:
        os._exit(0)  # no thread could be started, so closing could hang for ever


def _open_http_listener(
    instance: DaemonInstance, options: DaemonOptions, env: Mapping[str, str], journal: Journal
) -> HttpListener | None:
    """Listen on the port of the options, or of the process before this one: clients take a closed port for consent."""
    if options.http_port is None and not (instance.directory / PORT_FILE).exists():
        return None
    port = load_port(instance.directory) if options.http_port is None else options.http_port
    try:
        http_listener = None if port is None else HttpListener(port, instance.directory, env)
    except DaemonError as error:
        if options.http_port is not None:
            raise
        journal.write_line(str(error))
        return None
    if http_listener and port != load_port(instance.directory):
        # Where it cannot be saved, the next process will not listen until it is told to.
        with suppress(OSError):
            save_port(instance.directory, http_listener.port)
    return http_listener


def _start_successor(reason: str, instance: DaemonInstance, env: Mapping[str, str]) -> None:
    """Start another process for the port, unless a person has ended this one."""
    if reason in (REASON_THREAD_FAILED, REASON_HUNG, REASON_OTHER_VERSION):
        client.start_daemon(env)
    elif reason in signal.Signals.__members__:
        with suppress(OSError):
            save_port(instance.directory, 0)


def _build_peer_filter(options: DaemonOptions) -> Callable[[Peer], bool]:
    """Return whom to serve: this user only; system-wide the users of `--allow`, or all."""
    own_uid = os.geteuid()
    if not options.system_wide:
        return lambda peer: peer.uid == own_uid
    allowed_uids = options.allowed_uids
    return lambda peer: not allowed_uids or peer.uid in allowed_uids


def _install_signal_handlers(server: Server) -> None:
    signal.set_wakeup_fd(server.wakeup_fd, warn_on_full_buffer=False)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _: server.request_stop(signal.Signals(number).name))
    # The starter may ignore it, and an ignored signal stays ignored in child processes, git among them.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
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
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(WANTED_OPEN_FILES, hard_limit)
    if soft_limit < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard_limit))
