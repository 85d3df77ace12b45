"""The user's own warm process, as the command line sees it: asked how it is, waited for, ended."""

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

STOP_SECONDS = 20.0


def require_run_directory() -> Path:
    """Where it lives."""
    found = get_run_directory(os.environ)
    if not found:
        raise DaemonError("expected an absolute HOME, XDG_DATA_HOME or VERDIKT_HOME, found none")
    return Path(found)


def query_status(sock: Path) -> dict[str, Any] | None:
    """What a warm process says of itself; None when nobody answers."""
    question = protocol.encode_request([__version__, "@status", "", "", "/", "open"], {}, b"")
    try:
        _, out, _ = client.send_request(str(sock), question, 5.0, own_socket=False)
    except client.DaemonUnreachable:
        return None
    except client.NoReply as error:
        raise DaemonError(f"it runs, and says nothing of itself: {error}") from error
    found: dict[str, Any] = json.loads(out)
    return found


def stop_daemon(run_directory: Path) -> int:
    """Ends the one that lives there and waits until it is gone; its process number, 0 when there was none."""
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
    """What holds, as soon as it does; what it was when the time was over."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found
