"""Known gaps: what passes the hook, found in settings files and the environment."""

import json
from pathlib import Path

import pytest

from verdikt.hosts.registry import load_wiring
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.host_wiring import find_known_gaps
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan

HOOK = {"type": "command", "command": "/x/verdikt-hook 50 closed python launch.py claude PreToolUse"}
MANAGED = json.dumps({"hooks": {"PreToolUse": [{"hooks": [HOOK]}]}})
SAFE = "[features]\nunified_exec_tty = false\n"


def find_gaps(root: Path, host: str, files: dict[str, str], env: dict[str, str], scope: str) -> dict[str, bool]:
    """Return each gap, and whether it is open."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace("ROOT", str(root)))
    installation = Installation(
        project=str(root / "p"),
        data_directory=str(root / "d"),
        env={"HOME": str(root / "h"), **env},
        system_directory=str(root / "etc"),
    )
    gaps = find_known_gaps(load_wiring(host), installation, scope)
    return {gap.what.replace(str(root), "ROOT"): gap.open for gap in gaps}


@pytest.mark.parametrize(
    ("host", "files", "env", "beginning"),
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
def test_find_known_gaps_with_a_dangerous_setting_reports_it_as_open(
    host: str, files: dict[str, str], env: dict[str, str], beginning: str, tmp_path: Path
) -> None:
    """An open gap makes the doctor fail for this client."""
    gaps = find_gaps(tmp_path, host, files, env, "project")

    assert [what for what, is_open in gaps.items() if is_open and what.startswith(beginning)], gaps


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
def test_find_known_gaps_with_sound_settings_reports_none_as_open(
    host: str, files: dict[str, str], env: dict[str, str], tmp_path: Path
) -> None:
    """Limits that no setting closes are still reported."""
    env = {name: str(tmp_path / value) for name, value in env.items()}
    gaps = find_gaps(tmp_path, host, files, env, "project")

    assert gaps
    assert not any(gaps.values()), gaps


def test_find_known_gaps_with_managed_hooks_omits_what_they_close(tmp_path: Path) -> None:
    """No flag of a session switches managed hooks off, and they hold in every folder."""
    files = {"etc/claude-code/managed-settings.json": MANAGED}
    text = " ".join(find_gaps(tmp_path, "claude", files, {}, "project"))

    assert "`--bare`" not in text
    assert "starts in a folder below" not in text


def write_client(directory: Path, version: str) -> None:
    """Write a stand-in for Claude Code that prints a version."""
    directory.mkdir(exist_ok=True)
    (directory / "claude").write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    (directory / "claude").chmod(0o755)


@pytest.mark.parametrize(
    ("version", "is_single_command"), [("2.1.295", True), ("2.2.0", True), ("2.1.294", False), ("odd", False)]
)
def test_plan_changes_wires_a_single_command_if_the_installed_client_blocks_on_failure(
    version: str, is_single_command: bool, tmp_path: Path
) -> None:
    """Only for the event at which the client was seen to block, and only from that version on."""
    write_client(tmp_path / "bin", version)
    installation = Installation(
        project=str(tmp_path / "project"),
        data_directory=str(tmp_path / "d"),
        env={"HOME": str(tmp_path), "PATH": str(tmp_path / "bin") + ":/bin"},
    )
    [change] = load_wiring("claude").plan_changes(installation, "local", trust=False)
    commands = dict(json_settings.find_hook_commands(json.loads(change.after or b"")))

    assert [event for event, line in commands.items() if line.startswith("exec ")] == (
        ["PreToolUse"] if is_single_command else []
    )
    assert ("||" in commands["PreToolUse"]) == (not is_single_command)
    assert "||" in commands["ConfigChange"]


@pytest.mark.parametrize(("version", "has_arguments"), [("2.1.325", True), ("2.1.324", False), ("odd", False)])
def test_plan_changes_wires_words_without_a_shell_for_a_client_that_starts_them(
    version: str, has_arguments: bool, tmp_path: Path
) -> None:
    """What only a shell can run stays a line, and both forms are found again, and taken out, as ours."""
    write_client(tmp_path / "bin", version)
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:/bin"}
    installation = Installation(project=str(tmp_path / "p"), data_directory=str(tmp_path / "d"), env=env)
    [change] = load_wiring("claude").plan_changes(installation, "local", trust=False)
    settings = json.loads(change.after or b"")

    handlers = {event: groups[0]["hooks"][0] for event, groups in settings["hooks"].items()}
    assert ("args" in handlers["PreToolUse"]) == ("args" in handlers["Stop"]) == has_arguments
    assert "args" not in handlers["ConfigChange"]
    assert "||" in handlers["ConfigChange"]["command"]
    if has_arguments:
        assert handlers["PreToolUse"]["command"] == installation.create_registration("local").wrapper_path
        assert handlers["PreToolUse"]["args"][:2] == ["50", "closed"]
    found = dict(json_settings.find_hook_commands(settings))
    assert found.keys() == handlers.keys()
    assert "hooks" not in json_settings.remove_hooks(settings, "here")


def test_a_single_command_for_a_client_that_is_too_old_is_an_open_gap(tmp_path: Path) -> None:
    """The client was downgraded since, and would run the tool if the wrapper were missing."""
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:/bin"}
    installation = Installation(project=str(tmp_path / "p"), data_directory=str(tmp_path / "d"), env=env)
    write_client(tmp_path / "bin", "2.1.325")
    apply_plan(installation, load_wiring("claude").plan_changes(installation, "local", trust=False))
    [wired] = find_wired_files(installation)
    assert not wired.is_foreign
    assert not any(gap.open for gap in wired.known_gaps)

    write_client(tmp_path / "bin", "2.1.197")
    [wired] = find_wired_files(installation)
    assert [gap.what for gap in wired.known_gaps if gap.open] == [
        "the installed Claude Code runs the tool when the hook is missing: "
        "it is older than 2.1.295, or its version is unknown"
    ]
