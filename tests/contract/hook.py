"""Runs the hook entry: as hosts do, or in a forked child, so that thousands of payloads cost seconds."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Said(NamedTuple):
    """What came out of a process."""

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
    """One call of Claude Code about a command, in a project where an agent can write, with no warm process."""
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


def run_forked(arguments: list[str], payload: bytes, env: Mapping[str, str]) -> Said:
    """Return the hook's answer to a payload. The child shares our modules and nothing else."""
    import tempfile

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
                import sys

                sys.stdin = open(0)  # noqa: SIM115 (pytest replaced it)
                from verdikt.hosts.hook import main

                main(arguments)
            finally:
                os._exit(99)
        _, status = os.waitpid(child, 0)
        stdout.seek(0)
        stderr.seek(0)
        return Said(os.waitstatus_to_exitcode(status), stdout.read(), stderr.read())
