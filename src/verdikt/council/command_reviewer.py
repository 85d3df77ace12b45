"""Run one command reviewer with a time limit and read its output as findings."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from verdikt.council.config import FILES_PLACEHOLDER, Reviewer
from verdikt.council.finding_parser import read_findings
from verdikt.errors import FindingError
from verdikt.model.finding import Finding, Level, Review, build_finding, finding_id

FAILURE_TITLE = "the reviewer failed"
"""The title of the finding for a reviewer that crashed; it is cleared when the reviewer succeeds."""

# Linux allows 2 MB of arguments in most places, other systems far less; with more names the command runs again.
_MAX_ARGUMENT_BYTES = 64 * 1024

_STDERR_TAIL = 2000

_TIMED_OUT = "it did not end in time"


def failure_id(reviewer: str) -> str:
    """Return the id of the finding that says that a reviewer failed."""
    return finding_id(Level.HIGH.name, reviewer, FAILURE_TITLE)


def run_reviewer(
    reviewer: Reviewer,
    files: Sequence[str],
    directory: str,
    env: Mapping[str, str],
    *,
    seconds: float,
    now: Callable[[], float],
) -> tuple[Review, list[Finding]]:
    """Run a command on the files; a crash, a timeout or unreadable output is a finding, not an exception."""
    start = now()
    # Inside a git hook these name the repository and index of the commit; a scanner's own git calls must not use them.
    clean_env = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    findings: list[Finding] = []
    status: int | None = 0
    failure = ""
    for words in _build_commands(reviewer.command, files):
        status, output, failure = _run_command(words, directory, clean_env, seconds - (now() - start))
        try:
            findings += read_findings(output, agent=reviewer.name, root=directory)
        except FindingError as error:
            failure = failure or f"{error}"
        if not failure and status not in reviewer.accept:
            failure = f"it ended with status {status}"
        if failure == _TIMED_OUT:
            failure = f"it took longer than {seconds:g} seconds"
        if failure:
            break
    ceiling = Level.from_name(reviewer.at_most)
    capped = [replace(item, agent=reviewer.name, level=min(item.severity, ceiling).name) for item in findings]
    review = Review(reviewer.name, status, round(now() - start, 3), failure)
    if failure:
        # After the ceiling, which must not make a failed review harmless.
        capped.append(build_finding(level="HIGH", title=FAILURE_TITLE, agent=reviewer.name, rationale=failure))
    return review, capped


def _build_commands(command: Sequence[str], files: Sequence[str]) -> Iterator[list[str]]:
    """Yield the command with the files inserted; several commands when the names are too long for one."""
    if FILES_PLACEHOLDER not in command:
        yield list(command)
        return
    # A file name must not be taken for an option.
    named = [f"./{file}" if file.startswith("-") else file for file in files]
    while named:
        size = count = 0
        while count < len(named) and (not count or size + len(os.fsencode(named[count])) < _MAX_ARGUMENT_BYTES):
            size += len(os.fsencode(named[count])) + 1
            count += 1
        batch, named = named[:count], named[count:]
        yield [part for word in command for part in (batch if word == FILES_PLACEHOLDER else [word])]


def _run_command(
    argv: list[str], directory: str, env: Mapping[str, str], timeout_seconds: float
) -> tuple[int | None, bytes, str]:
    """Return status, output and the reason for a failure; `_TIMED_OUT` when it did not end in time."""
    if timeout_seconds <= 0:
        return None, b"", _TIMED_OUT
    try:
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A process group of its own, so that a timeout can end the children too.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return None, b"", f"`{argv[0]}` cannot be started: {error}"
    try:
        output, errors = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        # The whole group: while a child holds the output open, reading it would not end.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
        return None, b"", _TIMED_OUT
    error_text = errors.decode(errors="replace").strip()[-_STDERR_TAIL:]
    if process.returncode < 0:
        return process.returncode, output, f"it was ended by signal {-process.returncode}: {error_text}"
    # An empty output is no report: a scanner that found nothing prints an empty list.
    if not output.strip():
        return process.returncode, b"[]", f"it printed nothing and ended with status {process.returncode}: {error_text}"
    return process.returncode, output, ""
