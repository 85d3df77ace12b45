"""The environment that the hook runs from."""

import sys
from pathlib import Path

import pytest

from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.runtime_environment import find_enclosing_project, list_runtime_paths


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="runs from the Python of the system")
@pytest.mark.parametrize("name", ["pyvenv.cfg", "bin/python", "bin/verdikt", "lib/python3.11/site-packages/x.pth"])
def test_whole_environment_is_guarded(name: str) -> None:
    """Everything in it can change what the hook does: a `.pth` file runs at every start."""
    path = f"{sys.prefix}/{name}"

    assert any(path.startswith(f"{guarded}/") for guarded in list_guarded_paths("/p", {"HOME": "/h"}))


def test_environment_of_the_system_guards_the_directory_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of `/usr`."""
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(
        "verdikt.observe.runtime_environment.__file__",
        "/usr/lib/python3/dist-packages/verdikt/observe/runtime_environment.py",
    )

    assert list_runtime_paths() == ["/usr/lib/python3/dist-packages"]


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", "governance.yaml", "package.json"])
def test_environment_in_a_project_is_found(tmp_path: Path, mark: str) -> None:
    """By the marks of a project in any directory above it."""
    environment = tmp_path / "home/project/tools/.venv"
    environment.mkdir(parents=True)
    assert find_enclosing_project(str(environment), str(tmp_path / "home")) == ""
    (tmp_path / "home/project" / mark).touch()

    assert find_enclosing_project(str(environment), str(tmp_path / "home")) == str(tmp_path / "home/project")
    other = tmp_path / "home/.local/share/pipx/venvs/verdikt"
    other.mkdir(parents=True)
    assert find_enclosing_project(str(other), str(tmp_path / "home")) == ""
