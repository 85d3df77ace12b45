"""A real warm process in a directory of its own, for tests that ask it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.contract.hook import Said
from verdikt import __version__
from verdikt.daemon import client, protocol
from verdikt.ledger.files import FileStore

PATIENCE_SECONDS = 60.0


def eventually(what: str, holds: Any) -> Any:
    """Waits until something holds; how long it takes is the machine's business."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.01)
    raise AssertionError(f"never: {what}")


def remove(root: Path) -> None:
    """Takes a directory away, although something that was started there may be about to write into it."""
    eventually(f"`{root}` is gone", lambda: shutil.rmtree(root, ignore_errors=True) or not root.exists())


def bash(command: str, *, session: str = "s", call: str = "t1", cwd: str = "") -> bytes:
    """A tool call as Claude Code reports it."""
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
    """Started by `start`, ended by `end`, which a test must call."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.data = home / "data"
        self.run = self.data / "run"
        self.path = str(self.run / "daemon.sock")
        self.env = {"HOME": str(home), "VERDIKT_HOME": str(self.data), "PATH": os.environ["PATH"], "USER": "tester"}
        self.env |= env
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, wait: bool = True) -> subprocess.Popen[bytes]:
        """A process; returns when it listens."""
        command = [sys.executable, "-I", "-m", "verdikt.daemon", *arguments]
        process = subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE)
        self.started.append(process)
        if wait:
            eventually("the warm process listens", self.reachable)
        return process

    def reachable(self) -> bool:
        """Whether somebody listens."""
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self) -> socket.socket:
        """A connection that has asked nothing yet."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(PATIENCE_SECONDS)
        try:
            sock.connect(self.path)
        except OSError:
            sock.close()
            raise
        return sock

    def question(self, payload: bytes, *words: str, env: Mapping[str, str] | None = None, cwd: str = "") -> bytes:
        """The bytes of a question; by default about a tool call in Claude Code."""
        host, event, argument = (*words, *("claude", "PreToolUse", "")[len(words) :])
        texts = [__version__, host, event, argument, cwd or str(self.home), protocol.PYTHON_CLIENT]
        return protocol.encode_request(texts, self.env if env is None else env, payload)

    def ask(self, payload: bytes, *words: str, env: Mapping[str, str] | None = None, cwd: str = "") -> Said:
        """The answer of the warm process."""
        return Said(*client.send_request(self.path, self.question(payload, *words, env=env, cwd=cwd), PATIENCE_SECONDS))

    def status(self) -> dict[str, Any]:
        """How it is doing."""
        found: dict[str, Any] = json.loads(self.ask(b"", "@status", "").stdout)
        return found

    def hook(self, payload: bytes, *words: str, **env: str) -> Said:
        """The hook process, as a host runs it."""
        done = subprocess.run(
            [sys.executable, "-I", "-m", "verdikt.hosts.hook", *(words or ("claude", "PreToolUse"))],
            env=self.env | env,
            cwd=self.home,
            input=payload,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def calls(self, session: str = "s") -> list[str]:
        """The decided calls of a session, by their ids; `ChainBroken` when the chain does not hold."""
        store = FileStore(self.data)
        try:
            return [str(entry.body["call_id"]) for entry in store.read_entries(session) if entry.kind == "decision"]
        finally:
            store.close()

    def end(self) -> None:
        """Ends what was started here, and what a hook started."""
        for process in self.started:
            process.kill()
            process.wait()
            if process.stderr:
                process.stderr.close()
        from verdikt.daemon.client import find_daemon_pid

        if pid := find_daemon_pid(self.run):
            os.kill(pid, 9)
