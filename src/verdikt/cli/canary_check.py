"""A canary through the command that a client's settings name: whether it is blocked, and what a call costs."""

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
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring.host_wiring import WiredFile
from verdikt.hosts.wiring.installation import Installation

READY_SECONDS = 15.0
"""How long to wait for a warm process that the first call started, so that the timed calls find one as usual."""

CALL_SECONDS = 60

# A hook that fails blocks too, but only because it failed: these texts tell such a block from a decision.
_FAILURE_MARKS = ("did not work", "no decision could be made", "could not start", "verdikt: blocked\n")

_FOREIGN_REASON = (
    "not tried: the project's file names something else than this verdikt writes there, and it would be run; "
    "look at it, then run `verdikt init`"
)

_SOCKET_ARGUMENT = re.compile(r"--socket '?([^ ']+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryResult:
    """The result of the calls. `warm` if the warm process answered every call that was timed."""

    blocked: bool
    why: str
    warm: bool = False
    calls: int = 0
    p50_milliseconds: float = 0.0
    p99_milliseconds: float = 0.0
    cold_milliseconds: float | None = None
    """The time of the first call, if it found no warm process; None otherwise."""


def fire_canary(
    installation: Installation, wired: WiredFile, calls: int, *, wait_seconds: float = READY_SECONDS
) -> CanaryResult:
    """Run the wired command through the shell in the project, as the client does: once, and then `calls` times.

    Between the two, up to `wait_seconds` are spent on waiting for a warm process that the first call may have started.
    """
    if not wired.before_command:
        return CanaryResult(blocked=False, why="no hook before an action")
    # A stranger could have put any command there.
    if wired.is_foreign:
        return CanaryResult(blocked=False, why=_FOREIGN_REASON)
    canary = Canary(data_directory=installation.data_directory)
    payload = json.dumps(canary.build_payload(HOSTS[wired.host], wired.before_event, installation.project))
    sock = _find_socket(installation, wired.before_command)
    is_cold = _count_answered_calls(sock, 0) is None
    first_milliseconds, completed_process = _call_hook(installation, wired.before_command, payload)
    assessment = _assess_block(completed_process)
    if not assessment["blocked"]:
        return CanaryResult(**assessment)
    count_before = _count_answered_calls(sock, wait_seconds)
    timed_calls = [_call_hook(installation, wired.before_command, payload) for _ in range(calls)]
    count_after = _count_answered_calls(sock, 0)
    times = sorted(milliseconds for milliseconds, _ in timed_calls)
    assessments = [_assess_block(completed_process) for _, completed_process in timed_calls]
    return CanaryResult(
        **next((other for other in assessments if not other["blocked"]), assessment),
        warm=count_before is not None and count_after is not None and count_after - count_before >= calls,
        calls=calls,
        p50_milliseconds=round(times[len(times) // 2], 1),
        p99_milliseconds=round(times[min(len(times) - 1, int(len(times) * 0.99))], 1),
        cold_milliseconds=round(first_milliseconds, 1) if is_cold else None,
    )


def _call_hook(
    installation: Installation, command: str, payload: str
) -> tuple[float, "subprocess.CompletedProcess[str]"]:
    """Return the milliseconds that the call took, and its result."""
    start = time.perf_counter()
    try:
        completed_process = subprocess.run(
            # The shell that Claude Code uses; the wired line means the same in bash and zsh.
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
        completed_process = subprocess.CompletedProcess(command, 124, "", "")
    milliseconds = (time.perf_counter() - start) * 1000
    # A stand-in for a client that already runs (a plugin, an http hook) reports the time without its own start.
    reported = _parse_stdout(completed_process).get("milliseconds")
    return reported if isinstance(reported, float | int) else milliseconds, completed_process


def _find_socket(installation: Installation, command: str) -> Path | None:
    """Return the socket at which the command asks; None if the warm process is switched off."""
    if argument := _SOCKET_ARGUMENT.search(command):
        return Path(argument[1])
    if installation.env.get("VERDIKT_DAEMON") == "off":
        return None
    return Path(installation.data_directory, "run", "daemon.sock")


def _count_answered_calls(sock: Path | None, wait_seconds: float) -> int | None:
    """Return how many calls the warm process has answered; None when there is none within that time."""
    try:
        status = daemon_control.wait_until(lambda: daemon_control.query_status(sock), wait_seconds) if sock else None
    except DaemonError:
        return None
    return int(status["calls"]) if status else None


def _parse_stdout(completed_process: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    try:
        document = json.loads(completed_process.stdout)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _assess_block(completed_process: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    document = _parse_stdout(completed_process)
    text = json.dumps(document)
    if completed_process.returncode != 2 and '"deny"' not in text and '"block"' not in text:
        return {"blocked": False, "why": _explain_unblocked(completed_process)}
    reason = document.get("reason") or document.get("permissionDecisionReason") or document.get("user_message")
    message = str(reason or completed_process.stderr)
    is_failure = any(mark in f"{message}\n" for mark in _FAILURE_MARKS)
    return {"blocked": not is_failure, "why": message.strip() if is_failure else ""}


def _explain_unblocked(completed_process: "subprocess.CompletedProcess[str]") -> str:
    """Return why nothing was blocked, in words for a person."""
    message = completed_process.stderr.strip()
    if completed_process.returncode in (126, 127):
        advice = "; Node.js loads the plugin for the doctor, so install it" if "node: not found" in message else ""
        return f"the command cannot be run: {message}{advice}"
    if completed_process.returncode == 124 and not completed_process.stdout:
        return f"no answer within {CALL_SECONDS} seconds"
    if message and completed_process.returncode:
        return f"the canary was not blocked: {message}"
    return "the canary was not blocked"
