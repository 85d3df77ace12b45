"""Fixtures: a project with a home of its own, and the command line in it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from verdikt.daemon.client import find_daemon_pid

Verdikt = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty project beside an empty home."""
    (tmp_path / "home/.local/share").mkdir(parents=True)
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def verdikt(project: Path) -> Verdikt:
    """Return a function that runs the command line in the project, with a clean environment."""

    def run(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
        clean = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
        command = [sys.executable, "-m", "verdikt", *arguments]
        return subprocess.run(command, cwd=project, env=clean | env, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def run(project: Path) -> Iterator[Path]:
    """Yield the run directory of the warm process; a process that a test started there is ended."""
    directory = project.parent / "home/.local/share/verdikt/run"
    yield directory
    if pid := find_daemon_pid(directory):
        os.kill(pid, 9)
