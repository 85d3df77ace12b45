"""The paths that the agent must not write."""

import os
import pwd
from pathlib import Path

import pytest

from verdikt.observe.guarded_paths import list_guarded_paths


@pytest.mark.parametrize(
    "path",
    [
        "/h/.local/share/verdikt",
        "/h/.config/verdikt",
        "/etc/verdikt",
        "/etc/claude-code",
        "/etc/codex",
        "/p/governance.yaml",
        "/p/.claude/settings.json",
        "/p/.claude/settings.local.json",
        "/p/.codex/hooks.json",
        "/p/.gemini/settings.json",
        "/p/.github/hooks",
        "/p/.cursor/hooks.json",
        "/p/.opencode/plugin",
        "/p/.git/hooks",
        "/h/.claude/settings.json",
        "/h/.codex/config.toml",
        "/h/.gemini/settings.json",
        "/h/.copilot/hooks",
        "/h/.config/opencode/plugin",
    ],
)
def test_files_that_wire_hosts_are_guarded(path: str) -> None:
    """Policy, data, settings of every host and git hooks are guarded."""
    assert path in list_guarded_paths("/p", {"HOME": "/h"})


def test_guarded_paths_follow_the_environment() -> None:
    """Files are guarded where the environment puts them."""
    env = {
        "HOME": "/h",
        "VERDIKT_HOME": "/v",
        "XDG_CONFIG_HOME": "/c",
        "CODEX_HOME": "/x",
        "CLAUDE_CONFIG_DIR": "/cc",
        "XDG_RUNTIME_DIR": "/run/user/1",
    }
    paths = list_guarded_paths("/p", env)

    assert {"/v", "/c/verdikt", "/x/hooks.json", "/x/config.toml", "/cc/settings.json", "/run/user/1/verdikt"} <= set(
        paths
    )
    assert "/h/.local/share/verdikt" not in paths


def test_hooks_of_a_linked_work_tree_are_guarded(tmp_path: Path) -> None:
    """A linked work tree uses the hooks of its main repository."""
    common = tmp_path / "main" / ".git"
    own = common / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")

    assert str(common / "hooks") in list_guarded_paths(str(tree), {"HOME": "/h"})


@pytest.mark.parametrize("name", ["sub", os.fsdecode(b"s\xfcb")])
def test_hooks_of_a_submodule_are_guarded(name: str, tmp_path: Path) -> None:
    """A submodule's repository lies in that of the project; its name may be any bytes."""
    own = tmp_path / ".git" / "modules" / name
    own.mkdir(parents=True)
    tree = tmp_path / name
    tree.mkdir()
    (tree / ".git").write_bytes(os.fsencode(f"gitdir: ../.git/modules/{name}\n"))

    assert str(own / "hooks") in list_guarded_paths(str(tree), {"HOME": "/h"})


def test_installed_package_is_guarded_unless_it_is_the_project() -> None:
    """Only a project that contains verdikt's source may edit it."""
    package = str(Path(__file__).parents[3] / "src" / "verdikt")

    assert package in list_guarded_paths("/p", {"HOME": "/h"})
    assert package not in list_guarded_paths(str(Path(__file__).parents[3]), {"HOME": "/h"})


def test_host_project_stays_guarded_elsewhere(tmp_path: Path) -> None:
    """A directory that the agent makes does not lose the guard."""
    paths = list_guarded_paths("/elsewhere", {"HOME": "/h", "CLAUDE_PROJECT_DIR": str(tmp_path)})

    assert {str(tmp_path / "governance.yaml"), "/elsewhere/governance.yaml", str(tmp_path / ".git/hooks")} <= set(paths)


def test_variables_of_a_session_do_not_move_what_the_system_names(tmp_path: Path) -> None:
    """With another HOME, the person's own policy, data and settings of hosts stay guarded."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    moved = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "c"), "VERDIKT_HOME": str(tmp_path / "d")}

    guarded = list_guarded_paths("/project", moved)

    for name in (".config/verdikt", ".local/share/verdikt", ".claude/settings.json", ".codex/config.toml"):
        assert f"{home}/{name}" in guarded, name
    assert {str(tmp_path / "d"), str(tmp_path / "c/verdikt")} <= set(guarded)
