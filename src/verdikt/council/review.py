"""One command reviewer at work: started, timed, ended, and what it printed read as findings."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from verdikt.council.declared import FILES, Reviewer
from verdikt.council.intake import read_findings
from verdikt.errors import FindingError
from verdikt.model.finding import Finding, Level, Review, build_finding, finding_id
from verdikt.model.value import replace

FAILED = "the reviewer failed"
"""The title under which a reviewer that crashed is found; it goes when the reviewer runs to its end."""

_ARGUMENTS = 64 * 1024
"""Bytes of file names that one command gets; with more it is run again for the rest."""

_TAIL = 2000

_LATE = "it did not end in time"


def failure_id(reviewer: str) -> str:
    """The id of the finding that a reviewer failed."""
    return finding_id(Level.HIGH.name, reviewer, FAILED)


def review(
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
    for words in _commands(reviewer.command, files):
        status, output, failure = _run(words, directory, clean, seconds - (now() - start))
        try:
            found += read_findings(output, agent=reviewer.name, root=directory)
        except FindingError as error:
            failure = failure or f"{error}"
        if not failure and status not in reviewer.accept:
            failure = f"it ended with status {status}"
        if failure == _LATE:
            failure = f"it took longer than {seconds:g} seconds"
        if failure:
            break
    ceiling = Level.of(reviewer.at_most)
    kept = [replace(item, agent=reviewer.name, level=min(item.severity, ceiling).name) for item in found]
    done = Review(reviewer.name, status, round(now() - start, 3), failure)
    if failure:
        kept.append(build_finding(level="HIGH", title=FAILED, agent=reviewer.name, rationale=failure))
    return done, kept


def _commands(command: Sequence[str], files: Sequence[str]) -> Iterator[list[str]]:
    """The command with the files in their place; several when they are too many for one."""
    if FILES not in command:
        yield list(command)
        return
    # A file name must not be taken for an option.
    named = [f"./{file}" if file.startswith("-") else file for file in files]
    while named:
        size = count = 0
        while count < len(named) and (not count or size + len(os.fsencode(named[count])) < _ARGUMENTS):
            size += len(os.fsencode(named[count])) + 1
            count += 1
        batch, named = named[:count], named[count:]
        yield [part for word in command for part in (batch if word == FILES else [word])]


def _run(words: list[str], directory: str, env: Mapping[str, str], left: float) -> tuple[int | None, bytes, str]:
    """Status, output, and why it failed; `_LATE` when it did not end within the seconds that were left."""
    if left <= 0:
        return None, b"", _LATE
    try:
        process = subprocess.Popen(
            words,
            cwd=directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return None, b"", f"`{words[0]}` cannot be started: {error}"
    try:
        output, errors = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        # With everything that it started: a scanner's children hold its output open.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
        return None, b"", _LATE
    said = errors.decode(errors="replace").strip()[-_TAIL:]
    if process.returncode < 0:
        return process.returncode, output, f"it was ended by signal {-process.returncode}: {said}"
    if not output.strip():
        return process.returncode, b"[]", f"it printed nothing and ended with status {process.returncode}: {said}"
    return process.returncode, output, ""
