"""Fixtures: a real repository in a home of its own, with a council whose scanner looks for words."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance import accept
from tests.cleanup import close_after_test
from verdikt.govern import Governance

SCANNER = """\
import json, os, pathlib, sys
if any(name.startswith("-") for name in sys.argv[1:]):
    sys.exit("a file name came as an option")
if any(name.startswith("GIT_") for name in os.environ):
    sys.exit("git would use the index of the commit")
found = []
for name in sys.argv[1:]:
    for number, line in enumerate(pathlib.Path(name).read_bytes().decode(errors="replace").split("\\n"), 1):
        for word, level in (("WORST", "CRITICAL"), ("BAD", "HIGH"), ("MEH", "MEDIUM")):
            if word in line:
                place = {"file": name, "line": number}
                found.append({"level": level, "title": f"{word} in {name}", "evidence": [place]})
print(json.dumps({"findings": found}))
"""


@dataclass
class Repo:
    """A repository with its environment."""

    path: Path
    env: dict[str, str]

    def git(self, *words: str, check: bool = True, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run git in the repository."""
        completed = subprocess.run(
            ["git", *words], cwd=cwd or self.path, env=self.env, capture_output=True, text=True, check=False
        )
        assert not check or completed.returncode == 0, completed.stderr
        return completed

    def write(self, name: str, text: str | bytes) -> None:
        """Write a file and stage it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.git("add", "--", name)

    def verdikt(self, *words: str, cwd: Path | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
        """Run verdikt in the repository."""
        return subprocess.run(
            [sys.executable, "-m", "verdikt", *words],
            cwd=cwd or self.path,
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
        )

    def govern(self, cwd: Path | None = None) -> Governance:
        """Return governance by the repository's policy; its log is closed when the test ends."""
        governance = Governance.load(cwd=str(cwd or self.path), env=self.env)
        close_after_test(governance.store)
        return governance

    def policy(self, **council: object) -> None:
        """Write a policy that declares the council `ship-it`, without staging it."""
        scanner = str(self.path.parent / "scanner.py")
        reviewers = {"words": {"command": [sys.executable, scanner, "{files}"]}}
        document = {"councils": {"ship-it": {"guardrail": True, "reviewers": reviewers, **council}}}
        (self.path / "governance.yaml").write_text(json.dumps(document))
        accept(self.path, self.env)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return an empty repository with the council's policy in it, unstaged."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "scanner.py").write_text(SCANNER)
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "VERDIKT_HOME": str(tmp_path / "data"),
        "VERDIKT_RUNS_DIR": str(tmp_path / "runs"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    repo = Repo(tmp_path / "project", env)
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.policy()
    return repo
