"""Runs the hook as hosts do, or in a forked child, so that thousands of payloads cost seconds."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from verdikt.hosts.hook import main

ROOT = Path(__file__).parent.parent.parent
PRELOADED = tuple(
    f"verdikt.{name}"
    for name in (
        *("hosts", "evidence", "turns", "claims", "prompts", "runs", "effects", "graph", "ledger"),
        *("decide", "govern", "layers", "policy", "ratchet"),
    )
)
"""What a hook imports while it works: packages with all that is in them, and modules."""
STREAMS = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY | os.O_CREAT, "stderr": os.O_WRONLY | os.O_CREAT}


class HookOutput(NamedTuple):
    """The result of a process."""

    code: int
    stdout: bytes
    stderr: bytes


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal in place."""
    with open(f"/proc/{pid}/status") as status:
        caught = next(line.split()[1] for line in status if line.startswith("SigCgt"))
    return bool(int(caught, 16) & 1 << (number - 1))


def fire(
    program: Sequence[str], command: str, place: Path, moment: str = "PreToolUse"
) -> subprocess.CompletedProcess[str]:
    """Run the hook for one command as Claude Code does, without a warm process."""
    call = {"session_id": "s", "cwd": str(place), "hook_event_name": moment, "tool_name": "Bash"}
    env = {"HOME": str(place / "home"), "VERDIKT_HOME": str(place / "data"), "VERDIKT_DAEMON": "off"}
    return subprocess.run(
        program,
        input=json.dumps(call | {"tool_input": {"command": command}}),
        env={"PATH": os.environ["PATH"], **env},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )


def run_forked(arguments: list[str], payload: bytes, env: Mapping[str, str]) -> HookOutput:
    """Return the hook's response to a payload, from a child of the fork server that shares its modules only."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "stdin").write_bytes(payload)
        request = {"directory": directory, "cwd": os.getcwd(), "env": dict(env), "arguments": arguments}
        code = _SERVER.ask(request)
        return HookOutput(code, Path(directory, "stdout").read_bytes(), Path(directory, "stderr").read_bytes())


class ForkServer:
    """A small process that forks the hook: to fork a process with thousands of collected tests takes six times as long.

    It starts with the first request, and ends with the tests of this directory.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Mapping[str, object]) -> int:
        """Return the exit status of a child that serves this request."""
        if self._process is None:
            pipe = subprocess.PIPE
            command = [sys.executable, "-m", "tests.contract.hook"]
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process, if it was started."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


_SERVER = ForkServer()
stop_fork_server = _SERVER.stop


def serve_forks() -> None:
    """Fork the hook for each line on stdin, and print the status of each child."""
    for package in PRELOADED:
        path = getattr(importlib.import_module(package), "__path__", ())
        for module in pkgutil.walk_packages(path, f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become_hook(request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become_hook(request: Mapping[str, Any]) -> NoReturn:
    try:
        os.chdir(request["cwd"])
        for fd, (name, flags) in enumerate(STREAMS.items()):
            os.dup2(os.open(os.path.join(request["directory"], name), flags, 0o600), fd)
        os.environ.clear()
        os.environ.update(request["env"])
        os.environ.setdefault("VERDIKT_DAEMON", "off")
        sys.stdin = open(0)  # noqa: SIM115 (the old one may hold further requests)
        main(request["arguments"])
    finally:
        os._exit(99)


if __name__ == "__main__":
    serve_forks()
