"""A canary through the command that a client's settings name: whether it is blocked, and what a call costs from day to day."""

import json
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdikt.cli import daemon_control
from verdikt.errors import DaemonError
from verdikt.hosts.live.canary import Canary
from verdikt.hosts.wiring.inspection import HookWiring
from verdikt.hosts.wiring.installation import Installation

READY_SECONDS = 15.0
"""How long a warm process that the first call started is waited for, so that the calls after it find what they find every day."""

CALL_SECONDS = 60

_FAILURE_MARKS = ("did not work", "no decision could be made", "could not start", "verdikt: blocked\n")

_FOREIGN_REASON = (
    "not tried: the project's file names something else than this verdikt writes there, and it would be run; "
    "look at it, then run `verdikt init`"
)

_SOCKET_ARGUMENT = re.compile(r"--socket '?([^ ']+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryResult:
    """What came back, and how long it took. `warm` when every call that was timed was answered by the warm process."""

    blocked: bool
    why: str
    warm: bool = False
    calls: int = 0
    p50_milliseconds: float = 0.0
    p99_milliseconds: float = 0.0
    cold_milliseconds: float | None = None
    """Of a call before those, which found no warm process; None where one was there."""


def fire_canary(
    installation: Installation, wiring: HookWiring, calls: int, *, wait_seconds: float = READY_SECONDS
) -> CanaryResult:
    """Through the shell, from the project, as the client does it: once, and then `calls` times for the clock.

    In between, a warm process that the first call may have started is waited for, for so many seconds.
    """
    if not wiring.before_command:
        return CanaryResult(blocked=False, why="no hook before an action")
    if wiring.is_foreign:
        return CanaryResult(blocked=False, why=_FOREIGN_REASON)
    payload = json.dumps(
        Canary(data_directory=installation.data_directory).build_payload(
            wiring.host, wiring.before_event, installation.project
        )
    )
    sock = _find_socket(installation, wiring.before_command)
    cold = _count_answered_calls(sock, 0) is None
    milliseconds, said = _call_hook(installation, wiring.before_command, payload)
    judged = _assess_block(said)
    if not judged["blocked"]:
        return CanaryResult(**judged)
    before = _count_answered_calls(sock, wait_seconds)
    timed = [_call_hook(installation, wiring.before_command, payload) for _ in range(calls)]
    after = _count_answered_calls(sock, 0)
    times = sorted(took for took, _ in timed)
    return CanaryResult(
        **next((wrong for _, one in timed if not (wrong := _assess_block(one))["blocked"]), judged),
        warm=before is not None and after is not None and after - before >= calls,
        calls=calls,
        p50_milliseconds=round(times[len(times) // 2], 1),
        p99_milliseconds=round(times[min(len(times) - 1, int(len(times) * 0.99))], 1),
        cold_milliseconds=round(milliseconds, 1) if cold else None,
    )


def _call_hook(
    installation: Installation, command: str, payload: str
) -> tuple[float, "subprocess.CompletedProcess[str]"]:
    """How long it took, and what was said. What stands between the client and a plugin tells its own time."""
    start = time.perf_counter()
    try:
        said = subprocess.run(
            ["/bin/sh", "-c", command],
            input=payload,
            cwd=installation.project,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = subprocess.CompletedProcess(command, 124, "", "")
    milliseconds = (time.perf_counter() - start) * 1000
    own = _parse_stdout(said).get("milliseconds")
    return own if isinstance(own, float | int) else milliseconds, said


def _find_socket(installation: Installation, command: str) -> Path | None:
    """Where the command asks; None when it is told not to."""
    if named := _SOCKET_ARGUMENT.search(command):
        return Path(named[1])
    return (
        None
        if installation.env.get("VERDIKT_DAEMON") == "off"
        else Path(installation.data_directory, "run", "daemon.sock")
    )


def _count_answered_calls(sock: Path | None, wait_seconds: float) -> int | None:
    """How many calls the warm process has answered; None when there is none, and none comes."""
    try:
        found = daemon_control.wait_until(lambda: daemon_control.query_status(sock), wait_seconds) if sock else None
    except DaemonError:
        return None
    return int(found["calls"]) if found else None


def _parse_stdout(completed_process: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    try:
        document = json.loads(completed_process.stdout)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _assess_block(completed_process: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    document = _parse_stdout(completed_process)
    words = json.dumps(document)
    if completed_process.returncode != 2 and '"deny"' not in words and '"block"' not in words:
        return {"blocked": False, "why": _explain_unblocked(completed_process)}
    reason = document.get("reason") or document.get("permissionDecisionReason") or document.get("user_message")
    text = str(reason or completed_process.stderr)
    broken = any(mark in f"{text}\n" for mark in _FAILURE_MARKS)
    return {"blocked": not broken, "why": text.strip() if broken else ""}


def _explain_unblocked(completed_process: "subprocess.CompletedProcess[str]") -> str:
    """Why nothing was blocked, in words for a person."""
    if completed_process.returncode in (126, 127):
        node = (
            "; Node.js loads the plugin for the doctor, so install it"
            if "node: not found" in completed_process.stderr
            else ""
        )
        return f"the command cannot be run: {completed_process.stderr.strip()}{node}"
    if completed_process.returncode == 124 and not completed_process.stdout:
        return f"no answer within {CALL_SECONDS} seconds"
    words = completed_process.stderr.strip()
    return (
        f"the canary was not blocked: {words}"
        if words and completed_process.returncode
        else "the canary was not blocked"
    )
