"""Query, await and stop the user's own daemon from the command line."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.daemon.client import find_daemon_pid, get_run_directory
from verdikt.errors import DaemonError

# Twice the time that a stopping daemon takes to answer pending calls (`SHUTDOWN_SECONDS`).
STOP_SECONDS = 20.0


def require_run_directory() -> Path:
    """Return the directory of the daemon's socket and journal; raise `DaemonError` when there can be none."""
    directory = get_run_directory(os.environ)
    if not directory:
        raise DaemonError("expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none")
    return Path(directory)


def query_status(sock: Path) -> dict[str, Any] | None:
    """Return the statistics of the daemon at a socket; None when nothing answers there."""
    request = protocol.encode_request([__version__, "@status", "", "", "/", "open"], {}, b"")
    try:
        _, out, _ = client.send_request(str(sock), request, 5.0, own_socket=False)
    # Nothing listens: an ordinary state, not an error.
    except client.DaemonUnreachable:
        return None
    except client.NoReply as error:
        raise DaemonError(f"the daemon runs, but does not report its status: {error}") from error
    status: dict[str, Any] = json.loads(out)
    return status


def stop_daemon(run_directory: Path) -> int:
    """End the daemon of a run directory and wait until it is gone; return its process id, 0 if there was none."""
    pid = find_daemon_pid(run_directory)
    if pid:
        try:
            os.kill(pid, signal.SIGTERM)
        except OSError as error:
            raise DaemonError(f"cannot end process {pid}: {error.strerror}") from error
        if not wait_until(lambda: find_daemon_pid(run_directory) != pid, STOP_SECONDS):
            raise DaemonError(f"process {pid} does not end: kill it with `kill -9 {pid}`, which loses no decision")
    return pid


def wait_until(condition: Callable[[], Any], seconds: float) -> Any:
    """Poll a condition and return its first true value, or its last value when the time is over."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        # Short enough not to be felt by a person who waits for `daemon start`.
        time.sleep(0.02)
    return value
