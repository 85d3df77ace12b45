"""A canary through the command that a client's settings name: whether it is blocked, and what a call costs from day to day."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from verdikt.adapters.live.canary import Canary
from verdikt.adapters.wiring.checkup import Wired
from verdikt.adapters.wiring.install import Installation
from verdikt.cli import warm
from verdikt.errors import DaemonError
from verdikt.model.value import Value

READY_SECONDS = 15.0
"""How long a warm process that the first call started is waited for, so that the calls after it find what they find every day."""

CALL_SECONDS = 60

_FAILED = ("did not work", "no decision could be made", "could not start", "verdikt: blocked\n")

_FOREIGN = (
    "not tried: the project's file names something else than this verdikt writes there, and it would be run; "
    "look at it, then run `verdikt init`"
)

_SOCKET = re.compile(r"--socket '?([^ ']+)")


class Firing(Value, kw_only=True):
    """What came back, and how long it took. `warm` when every call that was timed was answered by the warm process."""

    blocked: bool
    why: str
    warm: bool = False
    calls: int = 0
    p50_milliseconds: float = 0.0
    p99_milliseconds: float = 0.0
    cold_milliseconds: float | None = None
    """Of a call before those, which found no warm process; None where one was there."""


def fire(here: Installation, found: Wired, calls: int, *, patience: float = READY_SECONDS) -> Firing:
    """Through the shell, from the project, as the client does it: once, and then `calls` times for the clock.

    In between, a warm process that the first call may have started is waited for, for so many seconds.
    """
    if not found.before:
        return Firing(blocked=False, why="no hook before an action")
    if found.foreign:
        return Firing(blocked=False, why=_FOREIGN)
    payload = json.dumps(Canary(data=here.data).payload(found.host, found.before_event, here.project))
    sock = _socket(here, found.before)
    cold = _answered(sock, 0) is None
    milliseconds, said = _call(here, found.before, payload)
    judged = _judged(said)
    if not judged["blocked"]:
        return Firing(**judged)
    before = _answered(sock, patience)
    timed = [_call(here, found.before, payload) for _ in range(calls)]
    after = _answered(sock, 0)
    times = sorted(took for took, _ in timed)
    return Firing(
        **next((wrong for _, one in timed if not (wrong := _judged(one))["blocked"]), judged),
        warm=before is not None and after is not None and after - before >= calls,
        calls=calls,
        p50_milliseconds=round(times[len(times) // 2], 1),
        p99_milliseconds=round(times[min(len(times) - 1, int(len(times) * 0.99))], 1),
        cold_milliseconds=round(milliseconds, 1) if cold else None,
    )


def _call(here: Installation, command: str, payload: str) -> tuple[float, "subprocess.CompletedProcess[str]"]:
    """How long it took, and what was said. What stands between the client and a plugin tells its own time."""
    start = time.perf_counter()
    try:
        said = subprocess.run(
            ["/bin/sh", "-c", command],
            input=payload,
            cwd=here.project,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = subprocess.CompletedProcess(command, 124, "", "")
    milliseconds = (time.perf_counter() - start) * 1000
    own = _document(said).get("milliseconds")
    return own if isinstance(own, float | int) else milliseconds, said


def _socket(here: Installation, command: str) -> Path | None:
    """Where the command asks; None when it is told not to."""
    if named := _SOCKET.search(command):
        return Path(named[1])
    return None if here.env.get("VERDIKT_DAEMON") == "off" else Path(here.data, "run", "daemon.sock")


def _answered(sock: Path | None, patience: float) -> int | None:
    """How many calls the warm process has answered; None when there is none, and none comes."""
    try:
        found = warm.wait(lambda: warm.status(sock), patience) if sock else None
    except DaemonError:
        return None
    return int(found["calls"]) if found else None


def _document(said: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    try:
        document = json.loads(said.stdout)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _judged(said: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    document = _document(said)
    words = json.dumps(document)
    if said.returncode != 2 and '"deny"' not in words and '"block"' not in words:
        return {"blocked": False, "why": _unblocked(said)}
    reason = document.get("reason") or document.get("permissionDecisionReason") or document.get("user_message")
    text = str(reason or said.stderr)
    broken = any(mark in f"{text}\n" for mark in _FAILED)
    return {"blocked": not broken, "why": text.strip() if broken else ""}


def _unblocked(said: "subprocess.CompletedProcess[str]") -> str:
    """Why nothing was blocked, in words for a person."""
    if said.returncode in (126, 127):
        node = "; Node.js loads the plugin for the doctor, so install it" if "node: not found" in said.stderr else ""
        return f"the command cannot be run: {said.stderr.strip()}{node}"
    if said.returncode == 124 and not said.stdout:
        return f"no answer within {CALL_SECONDS} seconds"
    words = said.stderr.strip()
    return f"the canary was not blocked: {words}" if words and said.returncode else "the canary was not blocked"
