"""`.pre-commit-hooks.yaml` with the real pre-commit, which installs verdikt from a repository of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.package_repository import run_git

COUNCIL = """\
councils:
  ship-it:
    guardrail: true
    reviewers:
      security: {agent: look for injections}
"""


@pytest.mark.parametrize(("policy", "code"), [("profile: standard\n", 0), (COUNCIL, 1)], ids=["none", "council"])
def test_pre_commit_runs_the_check(
    policy: str, code: int, hook_repository: tuple[Path, str, Path], tmp_path: Path
) -> None:
    """A commit passes where no council has a guardrail, and stops where a review is missing."""
    program = shutil.which("pre-commit", path=os.path.dirname(sys.executable)) or shutil.which("pre-commit")
    if not program:
        pytest.skip("`pre-commit` is not installed; the extra `test` has it")
    repository, revision, wheels = hook_repository
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q")
    (project / "governance.yaml").write_text(policy)
    (project / "a.py").write_text("print(1)\n")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {repository}\n    rev: {revision}\n    hooks: [{{id: verdikt}}]\n"
    )
    run_git(project, "add", "-A")
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        "PRE_COMMIT_HOME": str(repository.parent / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "LANG": "C.UTF-8",
    }
    completed = subprocess.run(
        [program, "run", "--verbose"], cwd=project, env=env, capture_output=True, text=True, check=False, timeout=300
    )

    assert completed.returncode == code, completed.stdout + completed.stderr
    assert ("Failed" if code else "Passed") in completed.stdout
    assert ("council `ship-it` stops this" in completed.stdout) == bool(code), completed.stdout
