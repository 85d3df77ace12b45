"""What an action changes of the wiring is put back at the next moment, through the real hook."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import accept
from tests.contract.hook import run_forked

RULE = """
rules:
  - name: no_deploy
    command: deploy
    verdict: block
    reason: not on Fridays
    fix: wait
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that is wired for Claude Code."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "home").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    env = _make_env(project) | {"PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "verdikt", "init", "--host", "claude", "--yes"]
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    return project


def _make_env(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    return {"HOME": str(home), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off", "CLAUDE_PROJECT_DIR": str(project)}


def _fire(project: Path, event: str, **fields: Any) -> tuple[int, str]:
    """Fire one event of a session, and return the status and the text of the response."""
    call = {"session_id": "s", "cwd": str(project), "hook_event_name": event, "tool_name": "Bash"}
    payload = json.dumps(call | {"tool_input": {"command": "make"}, "tool_use_id": "1"} | fields).encode()
    result = run_forked(["claude"], payload, _make_env(project))
    return result.code, result.stdout.decode()


def _read_restorations(project: Path) -> list[dict[str, str]]:
    log = project.parent / "home/.local/share/verdikt/ledger/s.jsonl"
    bodies = [json.loads(line)["body"] for line in log.read_text().splitlines()]
    return [row for body in bodies for row in body.get("restored", ())]


@pytest.mark.parametrize("event", ["PostToolUse", "PreToolUse", "Stop", "SessionStart"])
def test_removed_settings_are_back_after_the_next_event(project: Path, event: str) -> None:
    """After an action, before the next, at a stop and at a start; the agent is told, and the log has both digests."""
    settings = project / ".claude/settings.json"
    wired = settings.read_bytes()
    _fire(project, "SessionStart", source="startup")
    _fire(project, "PreToolUse")
    settings.unlink()

    fields = {"tool_response": {"stdout": ""}} if event == "PostToolUse" else {"last_assistant_message": "x"}
    code, text = _fire(project, event, **fields)

    assert code == 0
    assert settings.read_bytes() == wired
    assert "has been put back" in text
    if event in ("PostToolUse", "SessionStart"):
        assert "has been put back" in json.loads(text)["systemMessage"], "the person is told as well"
    (row,) = _read_restorations(project)
    assert (row["path"], row["found"], len(row["kept"])) == (str(settings), "", 64)


def test_hooks_switched_off_in_local_settings_are_on_again(project: Path) -> None:
    """A file that did not exist, and would switch the hooks off, goes away."""
    _fire(project, "SessionStart", source="startup")
    local = project / ".claude/settings.local.json"
    local.write_text('{"disableAllHooks": true}')

    _fire(project, "PostToolUse", tool_response={"stdout": ""})

    assert not local.exists()


def test_policy_file_is_not_put_back(project: Path) -> None:
    """The policy has a rule of its own."""
    _fire(project, "SessionStart", source="startup")
    (project / "governance.yaml").write_text("profile: strict\n")

    _fire(project, "PostToolUse", tool_response={"stdout": ""})

    assert (project / "governance.yaml").read_text() == "profile: strict\n"


def test_settings_that_a_person_took_out_through_verdikt_stay_out(project: Path) -> None:
    """`verdikt uninstall` is not undone by a session that still runs."""
    _fire(project, "SessionStart", source="startup")
    command = [sys.executable, "-m", "verdikt", "uninstall", "--yes"]
    subprocess.run(command, cwd=project, env=_make_env(project), check=True, capture_output=True)
    assert not (project / ".claude/settings.json").exists()

    code, _ = _fire(project, "PreToolUse")

    assert code == 0
    assert not (project / ".claude/settings.json").exists()


def test_settings_that_cannot_be_put_back_block_and_say_so(project: Path) -> None:
    """With a damaged copy nothing may happen until a person wires the project again."""
    _fire(project, "SessionStart", source="startup")
    for file in (project.parent / "home/.local/share/verdikt/kept").iterdir():
        if len(file.name) == 64:
            file.write_bytes(b"x")
    (project / ".claude/settings.json").unlink()

    code, text = _fire(project, "PreToolUse")

    assert code == 2
    assert "can't be put back" in text
    assert "verdikt init" in text


def test_git_hooks_are_put_back_until_a_person_removes_them(project: Path) -> None:
    """The hooks of the repository are wired too."""
    verdikt = [sys.executable, "-m", "verdikt", "git"]
    options: dict[str, Any] = {"cwd": project, "env": _make_env(project), "capture_output": True}
    subprocess.run([*verdikt, "install"], check=True, **options)
    hook = project / ".git/hooks/pre-commit"
    installed = hook.read_bytes()

    hook.write_text("#!/bin/sh\nexit 0\n")
    _fire(project, "PostToolUse", tool_response={"stdout": ""})
    assert hook.read_bytes() == installed
    assert hook.stat().st_mode & 0o111

    subprocess.run([*verdikt, "uninstall"], check=True, **options)
    _fire(project, "PreToolUse")
    assert not hook.exists()


def test_hook_that_a_person_adds_between_sessions_stays(project: Path) -> None:
    """Settings are the person's; only verdikt's own hooks have to be in them."""
    _fire(project, "SessionStart", source="startup")
    settings = project / ".claude/settings.json"
    document = json.loads(settings.read_text())
    document["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]})
    settings.write_text(json.dumps(document))

    _fire(project, "SessionStart", source="startup")
    _fire(project, "PostToolUse", tool_response={"stdout": ""})

    assert json.loads(settings.read_text()) == document


def test_variables_of_a_projects_settings_do_not_move_what_is_accepted(tmp_path: Path) -> None:
    """A data directory that a repository brings along, with its own acceptance in it, decides nothing."""
    project, home, planted = tmp_path / "project", tmp_path / "home", tmp_path / "planted"
    for directory in (project, home, planted):
        directory.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off", "CLAUDE_PROJECT_DIR": str(project)}
    policy = project / "governance.yaml"
    policy.write_text("profile: standard\n" + RULE)
    init = [sys.executable, "-m", "verdikt", "init", "--host", "claude", "--scope", "local", "--yes"]
    subprocess.run(init, cwd=project, env=env, check=True, capture_output=True)
    accept(project, env)
    line = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0][
        "command"
    ]
    policy.write_text("profile: none\n")
    moved = env | {"VERDIKT_HOME": str(planted), "XDG_DATA_HOME": str(planted), "HOME": str(planted)}
    accept(project, moved)
    call = {"session_id": "s", "cwd": str(project), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    payload = json.dumps(call | {"tool_input": {"command": "deploy production"}, "tool_use_id": "1"}).encode()

    completed = subprocess.run(
        ["sh", "-c", line], input=payload, env=moved, cwd=project, capture_output=True, check=False
    )

    assert completed.returncode == 2
    assert b"not on Fridays" in completed.stderr


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
def test_variables_of_a_projects_settings_do_not_move_a_hook_wired_by_hand(tmp_path: Path, file: str) -> None:
    """The hook without the wrapper reads the settings itself; a variable that the person set is followed."""
    project, home, planted = tmp_path / "project", tmp_path / "home", tmp_path / "planted"
    for directory in (project / ".claude", home, planted):
        directory.mkdir(parents=True, mode=0o700)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off", "CLAUDE_PROJECT_DIR": str(project)}
    policy = project / "governance.yaml"
    policy.write_text("profile: standard\n" + RULE)
    accept(project, env)
    policy.write_text("profile: none\n")
    moving = {"VERDIKT_HOME": str(planted), "XDG_DATA_HOME": str(planted)}
    accept(project, env | moving)
    call = {"session_id": "s", "cwd": str(project), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    payload = json.dumps(call | {"tool_input": {"command": "deploy production"}, "tool_use_id": "1"}).encode()
    hook = [sys.executable, "-I", "-m", "verdikt.hosts.hook", "claude", "PreToolUse"]

    by_person = subprocess.run(hook, input=payload, env=env | moving, cwd=project, capture_output=True, check=False)
    (project / ".claude" / file).write_text(json.dumps({"env": moving}))
    by_project = subprocess.run(hook, input=payload, env=env | moving, cwd=project, capture_output=True, check=False)

    assert (by_person.returncode, by_project.returncode) == (0, 2)
    assert b"not on Fridays" in by_project.stderr


def test_git_hooks_stay_in_force_when_another_manager_sets_its_own_path(project: Path) -> None:
    """`core.hooksPath`, as `husky init` sets it, is taken back; other settings of the repository stay."""
    env = _make_env(project)
    install = [sys.executable, "-m", "verdikt", "git", "install"]
    subprocess.run(install, cwd=project, env=env, check=True, capture_output=True)
    _fire(project, "SessionStart", source="startup")
    _fire(project, "PreToolUse")
    subprocess.run(["git", "remote", "add", "origin", "../x"], cwd=project, check=True)
    _fire(project, "PostToolUse", tool_response={"stdout": ""})
    subprocess.run(["git", "config", "core.hooksPath", ".husky/_"], cwd=project, check=True)

    code, text = _fire(project, "PostToolUse", tool_response={"stdout": ""})

    settings = (project / ".git/config").read_text()
    assert "hooksPath" not in settings
    assert "../x" in settings
    assert (code, ".git/config" in text) == (0, True)
    assert _read_restorations(project)[-1]["path"].endswith(".git/config")
