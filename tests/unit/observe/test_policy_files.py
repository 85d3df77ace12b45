"""Where policy files are found, and what happens to those that cannot be read."""

import os
from pathlib import Path

import pytest

from verdikt.errors import PolicyError
from verdikt.observe.policy_files import list_project_policies, read_policy_file, read_policy_files, resolve_directory

TEXT = b"profile: none\n"


def list_layers(start: Path, tmp_path: Path, **environ: str) -> list[tuple[str, str]]:
    """Return the layer and the relative path of each policy file found."""
    files = read_policy_files(
        str(start), {"HOME": str(tmp_path / "home"), **environ}, managed=str(tmp_path / "etc" / "governance.yaml")
    )
    return [(file.layer, os.path.relpath(file.path, tmp_path)) for file in files]


def write_policy(path: Path) -> None:
    """Write a policy file, with its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(TEXT)


def test_layers_are_listed_highest_first(tmp_path: Path) -> None:
    """The outermost file of a project is above those in its directories."""
    start = tmp_path / "home" / "repo" / "a" / "b"
    start.mkdir(parents=True)
    (tmp_path / "home" / "repo" / ".git").mkdir()
    for place in ("etc", "home/.config/verdikt", "home/repo", "home/repo/a", "home"):
        write_policy(tmp_path / place / "governance.yaml")
    write_policy(tmp_path / "more.yaml")

    assert list_layers(start, tmp_path) == [
        ("managed", "etc/governance.yaml"),
        ("user", "home/.config/verdikt/governance.yaml"),
        ("project", "home/repo/governance.yaml"),
        ("project a", "home/repo/a/governance.yaml"),
    ]
    assert list_layers(start, tmp_path, XDG_CONFIG_HOME=str(tmp_path / "x"))[1] == (
        "project",
        "home/repo/governance.yaml",
    )
    assert list_layers(start, tmp_path, VERDIKT_MANAGED_POLICY=str(tmp_path / "more.yaml"))[:2] == [
        ("managed", "etc/governance.yaml"),
        ("managed", "more.yaml"),
    ]


def test_nearest_file_is_the_project_outside_a_repository(tmp_path: Path) -> None:
    """A file in the home directory around it does not count."""
    start = tmp_path / "home" / "work" / "deep"
    start.mkdir(parents=True)
    write_policy(tmp_path / "home" / "governance.yaml")
    assert list_layers(start, tmp_path) == []
    write_policy(tmp_path / "home" / "work" / "governance.yaml")
    assert list_layers(start, tmp_path) == [("project", "home/work/governance.yaml")]


def test_no_policy_file_gives_no_layer(tmp_path: Path) -> None:
    """The caller falls back to the default profile."""
    assert list_layers(tmp_path, tmp_path) == []
    assert list_project_policies(str(tmp_path / "missing"), {"HOME": str(tmp_path)}) == []


def test_unreadable_policy_file_raises_at_once(tmp_path: Path) -> None:
    """A directory, a dangling link or a pipe is never taken for no policy, and never waited for."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    for name in ("directory", "link", "pipe", "nul\0"):
        with pytest.raises(PolicyError, match="expected a file"):
            read_policy_file(str(tmp_path / name))
    assert read_policy_file(str(tmp_path / "missing")) is None
    assert read_policy_file(str(tmp_path / "missing" / "deeper")) is None


def test_every_unreadable_layer_is_reported(tmp_path: Path) -> None:
    """One error holds the faults of all layers."""
    for place in ("etc/governance.yaml", "home/.config/verdikt/governance.yaml"):
        (tmp_path / place).mkdir(parents=True)

    with pytest.raises(PolicyError) as caught:
        list_layers(tmp_path, tmp_path)

    assert len(caught.value.faults) == 2


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"])
def test_project_policy_stays_highest_in_a_nested_repository(tmp_path: Path, variable: str) -> None:
    """A repository that the agent makes does not escape the project's policy."""
    project = tmp_path / "project"
    inner = project / "a" / "b"
    (inner / ".git").mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), variable: str(project)}

    layers = list_project_policies(str(inner), env)
    assert layers[0] == str(project / "governance.yaml") or not (project / "governance.yaml").exists()
    (project / "governance.yaml").write_text("profile: strict\n")
    assert list_project_policies(str(inner), env) == [
        str(project / "governance.yaml"),
        str(project / "a/governance.yaml"),
        str(inner / "governance.yaml"),
    ]
    assert list_project_policies(str(tmp_path), env) == [str(project / "governance.yaml")]
    assert list_project_policies("/", env) == [str(project / "governance.yaml")]


def test_missing_host_project_is_ignored(tmp_path: Path) -> None:
    """A host's variable that names no directory changes nothing."""
    (tmp_path / "governance.yaml").write_text("")
    env = {"HOME": str(tmp_path / "home"), "CLAUDE_PROJECT_DIR": str(tmp_path / "gone")}

    assert list_project_policies(str(tmp_path), env) == [str(tmp_path / "governance.yaml")]


def test_the_working_directory_is_resolved_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was moved and replaced by a link, or deleted, is not what its old path leads to."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    monkeypatch.chdir(old)
    assert resolve_directory(str(old)) == str(old)

    old.rename(new)
    old.symlink_to(new)
    assert resolve_directory(str(old)) == str(new)

    old.unlink()
    new.rmdir()
    assert resolve_directory(str(old)) == str(old)
