"""A real warm process in a directory of its own, and requests to it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.contract.hook import HookOutput
from tests.leftovers import find_processes, reap_children
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.ledger.files import FileStore

PATIENCE_SECONDS = 60.0


def wait_until(what: str, holds: Any) -> Any:
    """Wait until `holds` returns something true, and return that; the limit is generous for slow machines."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if value := holds():
            return value
        time.sleep(0.01)
    raise AssertionError(f"never: {what}")


def remove(root: Path) -> None:
    """Delete a directory, although a process that was started there may still write into it."""
    wait_until(f"`{root}` is gone", lambda: shutil.rmtree(root, ignore_errors=True) or not root.exists())


def bash(command: str, *, session: str = "s", call: str = "t1", cwd: str = "") -> bytes:
    """Return the payload of a tool call as Claude Code sends it."""
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": cwd,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": call,
    }
    return json.dumps(payload).encode()


class WarmProcess:
    """A warm process, started by `start` and ended by `end`, which a test must call."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.data = home / "data"
        self.run = self.data / "run"
        self.path = str(self.run / "daemon.sock")
        self.env = {"HOME": str(home), "VERDIKT_HOME": str(self.data), "PATH": os.environ["PATH"], "USER": "tester"}
        self.env |= env
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, wait: bool = True) -> subprocess.Popen[bytes]:
        """Start a process and wait until it listens."""
        command = [sys.executable, "-I", "-m", "verdikt.daemon", *arguments]
        process = subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE)
        self.started.append(process)
        if wait:
            wait_until("the warm process listens", self.reachable)
        return process

    def reachable(self) -> bool:
        """Return whether a process listens."""
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self) -> socket.socket:
        """Return a connection without a request."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(PATIENCE_SECONDS)
        try:
            sock.connect(self.path)
        except OSError:
            sock.close()
            raise
        return sock

    def encode_request(
        self, payload: bytes, *arguments: str, env: Mapping[str, str] | None = None, cwd: str = ""
    ) -> bytes:
        """Return the bytes of a request; by default about a tool call in Claude Code."""
        host, event, argument = (*arguments, *("claude", "PreToolUse", "")[len(arguments) :])
        head_fields = [__version__, host, event, argument, cwd or str(self.home), protocol.PYTHON_CLIENT]
        return protocol.encode_request(head_fields, self.env if env is None else env, payload)

    def ask(self, payload: bytes, *arguments: str, env: Mapping[str, str] | None = None, cwd: str = "") -> HookOutput:
        """Send a request and return the reply."""
        data = self.encode_request(payload, *arguments, env=env, cwd=cwd)
        return HookOutput(*client.send_request(self.path, data, PATIENCE_SECONDS))

    def status(self) -> dict[str, Any]:
        """Return the report of `verdikt daemon status`."""
        report: dict[str, Any] = json.loads(self.ask(b"", "@status", "").stdout)
        return report

    def hook(self, payload: bytes, *arguments: str, **env: str) -> HookOutput:
        """Run the hook process as a host does."""
        completed_process = subprocess.run(
            [sys.executable, "-I", "-m", "verdikt.hosts.hook", *(arguments or ("claude", "PreToolUse"))],
            env=self.env | env,
            cwd=self.home,
            input=payload,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return HookOutput(completed_process.returncode, completed_process.stdout, completed_process.stderr)

    def calls(self, session: str = "s") -> list[str]:
        """Return the ids of the decided calls of a session; raise `ChainBroken` when the chain is not intact."""
        store = FileStore(self.data)
        try:
            return [str(entry.body["call_id"]) for entry in store.read_entries(session) if entry.kind == "decision"]
        finally:
            store.close()

    def end(self) -> None:
        """End the processes that were started here, and the one that a hook started."""
        for process in self.started:
            process.kill()
            process.wait()
            if process.stderr:
                process.stderr.close()
        # By their directory: one that a hook has just started may not hold the lock of the run directory yet.
        pids = find_processes([self.home])
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # A process that a test started by `client.start_daemon` is a child of this one.
        wait_until("the children have ended", lambda: reap_children(pids))
