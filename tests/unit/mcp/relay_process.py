"""The relay as a process of its own, and a client that speaks to it."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parent / "scripted_server.py"


class RelayProcess:
    """A running relay, and a client that speaks to it line by line."""

    def __init__(self, root: Path, *options: str, env: dict[str, str] | None = None, to: str = "") -> None:
        self.root = root
        self.seen = root / "seen"
        for directory in (root / "home", root / "project"):
            directory.mkdir(exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "VERDIKT_HOME": str(root / "data"),
            **(env or {}),
        }
        server = ["--to", to] if to else ["--", sys.executable, str(SERVER), str(self.seen)]
        command = [sys.executable, "-m", "verdikt", "mcp", "--name", "scripted", *options, *server]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=root / "project", env=self.env, **pipes)
        self._last_id = 0
        self.methods: list[str] = []

    def send(self, data: bytes) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer; what comes in between is noted in `methods`."""
        self._last_id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}).encode())
        while (answer := self.read()).get("id") != self._last_id:
            self.methods.append(str(answer.get("method", "")))
        return answer

    def wait_for(self, method: str) -> None:
        """Wait until a message with this method has come."""
        for _ in range(400):
            if method in self.methods:
                return
            self.request("ping")
            time.sleep(0.05)
        raise AssertionError(f"{method} did not come")

    def connect(self, capabilities: dict[str, Any] | None = None) -> None:
        """Do the handshake, and list the tools."""
        info = {"name": "t", "version": "1"}
        self.request("initialize", protocolVersion="2025-06-18", capabilities=capabilities or {}, clientInfo=info)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        self.request("tools/list")

    def call(self, tool: str) -> str:
        """Call a tool and return the text of its result."""
        result = self.request("tools/call", name=tool, arguments={})["result"]
        return str(result["content"][0]["text"])

    def list_calls(self) -> list[str]:
        """Return the tools that the server has run."""
        return self.seen.read_text().split() if self.seen.exists() else []

    def close(self) -> None:
        """End the relay, if it still runs."""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
