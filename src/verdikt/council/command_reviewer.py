"""One command reviewer at work: started, timed, ended, and what it printed read as findings."""

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
"""The title under which a reviewer that crashed is found; it goes when the reviewer runs to its end."""

_MAX_ARGUMENT_BYTES = 64 * 1024
"""Bytes of file names that one command gets; with more it is run again for the rest."""

_STDERR_TAIL = 2000

_TIMED_OUT = "it did not end in time"


def failure_id(reviewer: str) -> str:
    """The id of the finding that a reviewer failed."""
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
    """What a command says of these files. Never raises: a crash, a timeout or an output nobody can read is a finding."""
    start = now()
    clean = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    found: list[Finding] = []
    status: int | None = 0
    failure = ""
    for words in _build_commands(reviewer.command, files):
        status, output, failure = _run_command(words, directory, clean, seconds - (now() - start))
        try:
            found += read_findings(output, agent=reviewer.name, root=directory)
        except FindingError as error:
            failure = failure or f"{error}"
        if not failure and status not in reviewer.accept:
            failure = f"it ended with status {status}"
        if failure == _TIMED_OUT:
            failure = f"it took longer than {seconds:g} seconds"
        if failure:
            break
    ceiling = Level.from_name(reviewer.at_most)
    kept = [replace(item, agent=reviewer.name, level=min(item.severity, ceiling).name) for item in found]
    done = Review(reviewer.name, status, round(now() - start, 3), failure)
    if failure:
        kept.append(build_finding(level="HIGH", title=FAILURE_TITLE, agent=reviewer.name, rationale=failure))
    return done, kept


def _build_commands(command: Sequence[str], files: Sequence[str]) -> Iterator[list[str]]:
    """The command with the files in their place; several when they are too many for one."""
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
    """Status, output, and why it failed; `_LATE` when it did not end within the seconds that were left."""
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
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return None, b"", f"`{argv[0]}` cannot be started: {error}"
    try:
        output, errors = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        # With everything that it started: a scanner's children hold its output open.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
        return None, b"", _TIMED_OUT
    said = errors.decode(errors="replace").strip()[-_STDERR_TAIL:]
    if process.returncode < 0:
        return process.returncode, output, f"it was ended by signal {-process.returncode}: {said}"
    if not output.strip():
        return process.returncode, b"[]", f"it printed nothing and ended with status {process.returncode}: {said}"
    return process.returncode, output, ""
