"""What the examples share: a project to release, a policy for it, and what the model says when there is no key."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from verdikt import Governance

WORKSPACE = Path(os.environ.get("VERDIKT_EXAMPLE", "example-workspace")).absolute()
STATE = WORKSPACE / "state.json"
SESSION = "3f6b2a44-9a51-4a6e-8d0f-0c8f6a1d2e77"
TASK = "Push the branch, run release.sh, and write report.md."

POLICY = """\
profile: standard
rules:
  - name: release
    command: sh release.sh
    verdict: ask
    reason: it publishes a release to every user
    fix: wait for a person to say yes
completion:
  checks:
    - files: [report.md]
"""


@dataclass(frozen=True)
class Step:
    """What the scripted model does next: run a command, or say something."""

    command: str = ""
    text: str = ""


SCRIPT = (
    Step(command="git push --force origin main"),  # blocked, with the way to do it instead
    Step(command="git status --short --branch"),
    Step(command="sh release.sh"),  # asked about: the run ends here, and another process goes on
    Step(text="All finished."),  # refused: the report is missing
    Step(command="echo what was done > report.md"),
    Step(text="The report is in report.md."),
)
"""The steps of the model without a key; with one, a real model takes its own."""


def open_governance(*, is_new: bool) -> Governance:
    """Return the governance of the example's project, which a new run makes first."""
    if is_new:
        shutil.rmtree(WORKSPACE, ignore_errors=True)
        WORKSPACE.mkdir(parents=True)
        (WORKSPACE / "release.sh").write_text("echo version 2 > released.txt\necho released version 2\n")
        (WORKSPACE / "governance.yaml").write_text(POLICY)
        subprocess.run(["git", "init", "--quiet"], cwd=WORKSPACE, check=True)
        (WORKSPACE / ".git" / "info" / "exclude").write_text("*\n")  # what the example itself writes here
    elif not WORKSPACE.exists():
        sys.exit("nothing waits for an answer here: run it without an option first")
    os.chdir(WORKSPACE)
    env = dict(os.environ) | {"VERDIKT_HOME": str(WORKSPACE / ".verdikt-data")}
    return Governance.load("governance.yaml", env=env)


def show_question(arguments: object, reason: str) -> None:
    """Print a question that waits for a person, and how to answer it in another process."""
    print(f"waiting for a person: {arguments}: {reason}")
    spec = sys.modules["__main__"].__spec__
    if spec is not None:
        print(f"answer it with `python -m {spec.name} --approve`, or `--reject`")


def run_shell(command: str) -> str:
    """Run a shell command in the project, and return what it printed."""
    completed = subprocess.run(command, shell=True, cwd=WORKSPACE, capture_output=True, text=True, check=False)
    return (completed.stdout + completed.stderr).strip() or f"exit status {completed.returncode}"
