"""Start reviews that go on after the hook has answered.

Apart from what runs a council, which takes 80 ms to import (urllib.request, ssl, email): a saved file that no council
covers must not pay for it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from verdikt.council.config import Councils
from verdikt.model.hook_message import Answer
from verdikt.observe.git_repository import find_work_tree

REVIEW_LOG = "councils.log"
"""The progress of reviews in the background, in the data directory."""

# The shell starts the review and ends: the review is adopted by init, and leaves no zombie in a warm process.
_DETACH = '"$@" >>"$VERDIKT_REVIEW_LOG" 2>&1 </dev/null &'


def start_reviews(
    councils: Councils, trigger: str, directory: str, *, home: Path, env: Mapping[str, str], path: str, can_run: bool
) -> Answer:
    """Start the councils of a trigger in the background, and say so; without `can_run`, say how to run them."""
    repo = find_work_tree(directory)
    saved = os.path.relpath(os.path.join(directory, path), repo) if path and repo else path
    concerned = [council for council in councils.find_by_trigger(trigger) if not saved or council.covers_file(saved)]
    if not repo or not concerned:
        return Answer()
    names = ", ".join(f"`{council.name}`" for council in concerned)
    if not can_run:
        return Answer(context=f"[verdikt] run `verdikt council trigger {trigger}`: council {names} can't run here")
    _start_review(trigger, repo, home, env, path=saved)
    return Answer(context=f"[verdikt] council {names} reviews in the background; see `verdikt council history`")


def _start_review(trigger: str, repo: str, home: Path, env: Mapping[str, str], *, path: str) -> None:
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
