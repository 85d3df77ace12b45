"""Where policy files are found, and what happens to those that cannot be read."""

import os
from pathlib import Path

import pytest

from verdikt.errors import PolicyError
from verdikt.observe.policy_files import list_project_policies, read_policy_file, read_policy_files

TEXT = b"profile: none\n"


def found(start: Path, tmp_path: Path, **environ: str) -> list[tuple[str, str]]:
    files = read_policy_files(
        str(start), {"HOME": str(tmp_path / "home"), **environ}, managed=str(tmp_path / "etc" / "governance.yaml")
    )
    return [(file.layer, os.path.relpath(file.path, tmp_path)) for file in files]


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(TEXT)


def test_layers_come_from_the_highest_to_the_lowest(tmp_path: Path) -> None:
    """The outermost file of a project is above those further in."""
    start = tmp_path / "home" / "repo" / "a" / "b"
    start.mkdir(parents=True)
    (tmp_path / "home" / "repo" / ".git").mkdir()
    for place in ("etc", "home/.config/verdikt", "home/repo", "home/repo/a", "home"):
        put(tmp_path / place / "governance.yaml")
    put(tmp_path / "more.yaml")

    assert found(start, tmp_path) == [
        ("managed", "etc/governance.yaml"),
        ("user", "home/.config/verdikt/governance.yaml"),
        ("project", "home/repo/governance.yaml"),
        ("project a", "home/repo/a/governance.yaml"),
    ]
    assert found(start, tmp_path, XDG_CONFIG_HOME=str(tmp_path / "x"))[1] == ("project", "home/repo/governance.yaml")
    assert found(start, tmp_path, VERDIKT_MANAGED_POLICY=str(tmp_path / "more.yaml"))[:2] == [
        ("managed", "etc/governance.yaml"),
        ("managed", "more.yaml"),
    ]


def test_outside_a_repository_the_nearest_file_is_the_project(tmp_path: Path) -> None:
    """What lies in the home directory around it is not."""
    start = tmp_path / "home" / "work" / "deep"
    start.mkdir(parents=True)
    put(tmp_path / "home" / "governance.yaml")
    assert found(start, tmp_path) == []
    put(tmp_path / "home" / "work" / "governance.yaml")
    assert found(start, tmp_path) == [("project", "home/work/governance.yaml")]


def test_no_file_at_all_is_no_layer(tmp_path: Path) -> None:
    """The caller falls back to the default profile."""
    assert found(tmp_path, tmp_path) == []
    assert list_project_policies(str(tmp_path / "missing"), {"HOME": str(tmp_path)}) == []


def test_what_is_there_and_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A directory, a link that leads nowhere, a pipe: never taken for no policy, and never waited for."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    for name in ("directory", "link", "pipe", "nul\0"):
        with pytest.raises(PolicyError, match="expected a file"):
            read_policy_file(str(tmp_path / name))
    assert read_policy_file(str(tmp_path / "missing")) is None
    assert read_policy_file(str(tmp_path / "missing" / "deeper")) is None


def test_every_unreadable_layer_is_reported(tmp_path: Path) -> None:
    """Not only the first."""
    for place in ("etc/governance.yaml", "home/.config/verdikt/governance.yaml"):
        (tmp_path / place).mkdir(parents=True)

    with pytest.raises(PolicyError) as caught:
        found(tmp_path, tmp_path)

    assert len(caught.value.faults) == 2
