"""Start a review that goes on after the hook has answered."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REVIEW_LOG = "councils.log"
"""The progress of reviews in the background, in the data directory."""

# The shell starts the review and ends: the review is adopted by init, and leaves no zombie in a warm process.
_DETACH = '"$@" >>"$VERDIKT_REVIEW_LOG" 2>&1 </dev/null &'


def start_review(trigger: str, repo: str, home: Path, env: Mapping[str, str], *, path: str = "") -> None:
    """Run the councils of a trigger in a process of its own, without waiting for it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    saved = ("--path", path) if path else ()
    command = [sys.executable, "-m", "verdikt", "council", "trigger", trigger, "--repo", repo, *saved]
    subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", *command],
        env={**env, "VERDIKT_REVIEW_LOG": str(home / REVIEW_LOG)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
        cwd="/",
    )
