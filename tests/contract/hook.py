"""Runs the hook as hosts do, or in a forked child, so that thousands of payloads cost seconds."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from verdikt.hosts.hook import main


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
    """Return the hook's response to a payload. The child shares our modules and nothing else."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(payload)
        stdin.flush()
        stdin.seek(0)
        child = os.fork()
        if child == 0:
            try:
                for fd, file in enumerate((stdin, stdout, stderr)):
                    os.dup2(file.fileno(), fd)
                os.environ.clear()
                os.environ.update(env)
                os.environ.setdefault("VERDIKT_DAEMON", "off")
                sys.stdin = open(0)  # noqa: SIM115 (pytest replaced it)
                main(arguments)
            finally:
                os._exit(99)
        _, status = os.waitpid(child, 0)
        stdout.seek(0)
        stderr.seek(0)
        return HookOutput(os.waitstatus_to_exitcode(status), stdout.read(), stderr.read())
