"""Where the programs lie that verdikt itself runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring.client_version import read_client_version
from verdikt.observe import program_path
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import run_git
from verdikt.observe.program_path import drop_project_directories, find_system_program, find_user_program


def plant_program(directory: Path, name: str) -> Path:
    """Put a program into a directory that says that it ran."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\ntouch '{directory}/ran'\necho 99.9.9\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository whose own directory comes first in PATH, with a `git` and a `claude` in it."""
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    for name in ("git", "claude"):
        plant_program(project / "bin", name)
    return project


def test_git_of_a_project_is_never_run(project: Path) -> None:
    """Whatever PATH says, git is that of the system."""
    env = {"PATH": f"{project}/bin:{os.environ['PATH']}", "HOME": str(project.parent)}

    assert run_git(str(project), env, "rev-parse", "--show-toplevel")
    assert GitIndex(str(project), env).hash_empty_tree()
    assert not (project / "bin/ran").exists()


def test_client_of_a_project_is_never_run(project: Path, tmp_path: Path) -> None:
    """A program in the project is not the client that the person has installed."""
    env = {"PATH": f"{project}/bin:bin:."}
    assert read_client_version(HOSTS["claude"], env, str(project)) == ""
    assert not (project / "bin/ran").exists()

    installed = plant_program(tmp_path / "home/bin", "claude")
    assert (
        read_client_version(HOSTS["claude"], {"PATH": f"{project}/bin:{installed.parent}:/bin"}, str(project))
        == "99.9.9"
    )


def test_system_program_is_found_once_in_fixed_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first find stays, and a program that is nowhere has a path that cannot be run."""
    find_system_program.cache_clear()
    plant_program(tmp_path, "git")
    monkeypatch.setenv("PATH", str(tmp_path))

    first = find_system_program("git")
    assert os.path.realpath(first) == os.path.realpath(
        shutil.which("git", path=os.pathsep.join(program_path.SYSTEM_DIRECTORIES)) or ""
    )
    monkeypatch.setattr(program_path, "SYSTEM_DIRECTORIES", (str(tmp_path),))
    assert find_system_program("git") == first
    assert not os.path.exists(find_system_program("no-such-program"))
    find_system_program.cache_clear()


def test_directories_of_a_project_are_dropped_from_a_search_path(tmp_path: Path) -> None:
    """Also by a link, and a relative one, which depends on where the agent has gone."""
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "bin")
    (tmp_path / "project-tools").mkdir()
    path = f"{project}/bin:{tmp_path}/link:.::relative:{tmp_path}/project-tools:/usr/bin"

    assert drop_project_directories(path, str(project)) == [f"{tmp_path}/project-tools", "/usr/bin"]
    assert find_user_program("sh", {"PATH": path}, str(project)) == "/usr/bin/sh"
    assert find_user_program("sh", {}, str(project)) == ""
