"""A git repository of the package as a release has it, and wheels to install it from without a network."""

import shutil
import subprocess
from pathlib import Path

from tests.wheelhouse import ROOT, SOURCES, build_wheelhouse


def create_repository(root: Path) -> tuple[Path, str, Path]:
    """Return a repository that offers the hooks, its commit, and the directory of wheels."""
    repository, wheels = root / "verdikt", root / "wheels"
    build_wheelhouse(wheels, "pip", "setuptools")
    repository.mkdir()
    for name in (*SOURCES, ".pre-commit-hooks.yaml", ".gitignore"):
        shutil.copy(ROOT / name, repository)
    shutil.copytree(ROOT / "src/verdikt", repository / "src/verdikt", ignore=shutil.ignore_patterns("__pycache__"))
    run_git(repository, "init", "-q")
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-qm", "hooks")
    return repository, run_git(repository, "rev-parse", "HEAD").strip(), wheels


def run_git(directory: Path, *arguments: str) -> str:
    """Run git as a person without settings of their own, and return what it prints."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout
