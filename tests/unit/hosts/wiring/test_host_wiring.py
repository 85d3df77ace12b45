"""What lies open beside the hook, by the files and the environment that show it."""

import json
from pathlib import Path

import pytest

from verdikt.hosts.registry import load_wiring
from verdikt.hosts.wiring.host_wiring import find_known_gaps
from verdikt.hosts.wiring.installation import Installation

HOOK = {"type": "command", "command": "/x/verdikt-hook 20 closed python launch.py claude PreToolUse"}
MANAGED = json.dumps({"hooks": {"PreToolUse": [{"hooks": [HOOK]}]}})
SAFE = "[features]\nunified_exec_tty = false\n"


def found(root: Path, host: str, files: dict[str, str], env: dict[str, str], scope: str) -> dict[str, bool]:
    """What is named, and whether it was found open."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace("ROOT", str(root)))
    here = Installation(
        project=str(root / "p"),
        data_directory=str(root / "d"),
        env={"HOME": str(root / "h"), **env},
        system_directory=str(root / "etc"),
    )
    return {hole.what.replace(str(root), "ROOT"): hole.open for hole in find_known_gaps(load_wiring(host), here, scope)}


@pytest.mark.parametrize(
    ("host", "files", "env", "open_one"),
    [
        ("claude", {"p/.claude/settings.local.json": '{"disableAllHooks": true}'}, {}, "`disableAllHooks` is set"),
        ("claude", {"h/.claude/settings.json": '{"disableAllHooks": true}'}, {}, "`disableAllHooks` is set"),
        ("claude", {"etc/claude-code/managed-settings.json": '{"disableAllHooks": true}'}, {}, "`disableAllHooks` is"),
        ("claude", {}, {"CLAUDE_CODE_SIMPLE": "1"}, "`CLAUDE_CODE_SIMPLE` switches hooks off"),
        ("claude", {"p/.claude/settings.local.json": '{"hooks": {"Stop": [5]}}'}, {}, "`hooks.Stop[0]` in ROOT/p/.cl"),
        ("codex", {}, {}, "what is typed into a terminal session"),
        ("codex", {"h/.codex/config.toml": "[features]\nhooks = false\n"}, {}, "`features.hooks` is false"),
        ("codex", {"h/.codex/config.toml": SAFE}, {}, "Codex does not trust this project"),
        ("codex", {"h/.codex/config.toml": "["}, {}, "ROOT/h/.codex/config.toml: expected TOML"),
        ("codex", {"p/.codex/hooks.json": '{"version": 1, "hooks": {}}'}, {}, "`version` in ROOT/p/.codex/hooks.json"),
        ("gemini", {"p/.gemini/settings.json": '{"hooksConfig": {"enabled": false}}'}, {}, "hooks are switched off"),
        ("gemini", {"h/.gemini/settings.json": '{"hooksConfig": {"disabled": ["verdikt"]}}'}, {}, "hooks are switched"),
    ],
)
def test_what_was_found_open(
    host: str, files: dict[str, str], env: dict[str, str], open_one: str, tmp_path: Path
) -> None:
    """Each makes the client red."""
    named = found(tmp_path, host, files, env, "project")

    assert [what for what, is_open in named.items() if is_open and what.startswith(open_one)], named


@pytest.mark.parametrize(
    ("host", "files", "env"),
    [
        ("claude", {}, {}),
        ("codex", {"h/.codex/config.toml": f'{SAFE}[projects."ROOT/p"]\ntrust_level = "trusted"\n'}, {}),
        ("codex", {"c/config.toml": f'{SAFE}[projects."ROOT/p"]\ntrust_level = "trusted"\n'}, {"CODEX_HOME": "c"}),
        ("gemini", {"p/.gemini/settings.json": '{"hooksConfig": {"enabled": true, "disabled": ["other"]}}'}, {}),
        ("copilot", {}, {}),
        ("cursor", {}, {}),
        ("opencode", {}, {}),
    ],
)
def test_nothing_is_open_where_all_is_well(
    host: str, files: dict[str, str], env: dict[str, str], tmp_path: Path
) -> None:
    """What no setting closes is named all the same."""
    env = {name: str(tmp_path / value) for name, value in env.items()}
    named = found(tmp_path, host, files, env, "project")

    assert named
    assert not any(named.values()), named


def test_what_managed_settings_close_is_not_named(tmp_path: Path) -> None:
    """Flags of a session do not take those out, and they count in every folder."""
    files = {"etc/claude-code/managed-settings.json": MANAGED}
    named = " ".join(found(tmp_path, "claude", files, {}, "project"))

    assert "`--bare`" not in named
    assert "starts in a folder below" not in named
