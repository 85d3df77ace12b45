"""What the agent must not write to."""

import os
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
def test_the_files_that_wire_every_host_are_guarded(path: str) -> None:
    """Policy, data, settings of every host, hooks of git."""
    assert path in list_guarded_paths("/p", {"HOME": "/h"})


def test_the_environment_moves_them() -> None:
    """The files are guarded where they really are."""
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


def test_the_hooks_of_a_work_tree_are_those_of_its_repository(tmp_path: Path) -> None:
    """A linked work tree has a file where others have a directory."""
    common = tmp_path / "main" / ".git"
    own = common / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")

    assert str(common / "hooks") in list_guarded_paths(str(tree), {"HOME": "/h"})


@pytest.mark.parametrize("name", ["sub", os.fsdecode(b"s\xfcb")])
def test_the_hooks_of_a_submodule_are_in_its_own_repository(name: str, tmp_path: Path) -> None:
    """Which lies in that of the project around it; a name need not be text."""
    own = tmp_path / ".git" / "modules" / name
    own.mkdir(parents=True)
    tree = tmp_path / name
    tree.mkdir()
    (tree / ".git").write_bytes(os.fsencode(f"gitdir: ../.git/modules/{name}\n"))

    assert str(own / "hooks") in list_guarded_paths(str(tree), {"HOME": "/h"})


def test_the_package_is_guarded_unless_it_is_what_the_project_is_about() -> None:
    """Whoever works on verdikt can, and nobody else edits it from a project."""
    package = str(Path(__file__).parents[3] / "src" / "verdikt")

    assert package in list_guarded_paths("/p", {"HOME": "/h"})
    assert package not in list_guarded_paths(str(Path(__file__).parents[3]), {"HOME": "/h"})


def test_the_project_of_the_host_stays_guarded_wherever_the_agent_goes(tmp_path: Path) -> None:
    """A directory of the agent's own making is no way out."""
    paths = list_guarded_paths("/elsewhere", {"HOME": "/h", "CLAUDE_PROJECT_DIR": str(tmp_path)})

    assert {str(tmp_path / "governance.yaml"), "/elsewhere/governance.yaml", str(tmp_path / ".git/hooks")} <= set(paths)
