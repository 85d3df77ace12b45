"""The one-line installs of the README, without a network, from a built wheel: `uv tool`, pipx and pip."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from verdikt.model.distribution import DISTRIBUTION_NAME

PROGRAMS = ("verdikt", "verdikt-hook", "verdikt-launch", "spine-lite")
CALL = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": "/tmp",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
)


def find_tool(name: str) -> str:
    """Return the path of an installer, or skip the test and say which one is missing."""
    beside = shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name)
    if not beside:
        pytest.skip(f"`{name}` is not installed; the extra `test` has it")
    return beside


def run(command: list[str], env: dict[str, str], cwd: Path) -> str:
    """Run a command in an environment without a network and return what it prints."""
    offline = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    base = {"PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    completed = subprocess.run(
        command, env=base | offline | env, cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def install(tool: str, wheelhouse: Path, home: Path) -> Path:
    """Install with the line of the README, with the wheels in place of the index; return the directory of programs."""
    links = {"UV_FIND_LINKS": str(wheelhouse), "PIP_FIND_LINKS": str(wheelhouse), "HOME": str(home)}
    bin_directory = str(home / "bin")
    if tool == "uv":
        env = {
            "UV_TOOL_BIN_DIR": bin_directory,
            "UV_TOOL_DIR": str(home / "tools"),
            "UV_CACHE_DIR": str(home / "c"),
        }
        run([find_tool("uv"), "tool", "install", "--python", sys.executable, DISTRIBUTION_NAME], env | links, home)
    elif tool == "pipx":
        env = {
            "PIPX_HOME": str(home / "pipx"),
            "PIPX_BIN_DIR": bin_directory,
            "PIPX_DEFAULT_PYTHON": sys.executable,
        }
        run([find_tool("pipx"), "install", DISTRIBUTION_NAME], env | links, home)
    else:
        venv.create(home / "env", with_pip=True)
        run([str(home / "env/bin/python"), "-m", "pip", "install", "-q", DISTRIBUTION_NAME], links, home)
        return home / "env/bin"
    return home / "bin"


@pytest.mark.parametrize("tool", ["uv", "pipx", "pip"])
def test_one_line_install_governs_a_project(tool: str, hook_repository: tuple[Path, str, Path], tmp_path: Path) -> None:
    """The installed commands are all there, `init` wires a project, and what it wired blocks."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    programs = install(tool, hook_repository[2], home)
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}

    assert all(os.access(programs / name, os.X_OK) for name in PROGRAMS)
    assert "verdikt" in run([str(programs / "verdikt"), "--version"], env, project)
    run([str(programs / "verdikt"), "init", "--host", "claude", "--yes"], env, project)
    hooks = json.loads((project / ".claude/settings.json").read_text())["hooks"]
    line = hooks["PreToolUse"][0]["hooks"][0]["command"]
    hook = subprocess.run(
        ["/bin/sh", "-c", line], input=CALL, env=env, cwd=project, capture_output=True, text=True, check=False
    )
    assert (hook.returncode, json.loads(hook.stdout)["decision"]) == (2, "block"), hook.stderr
    # Committed wiring finds a colleague's installation on PATH as well.
    colleague = {**env, "HOME": str(tmp_path / "colleague"), "PATH": f"{programs}:/usr/bin:/bin"}
    os.mkdir(colleague["HOME"])
    hook = subprocess.run(
        ["/bin/sh", "-c", line], input=CALL, env=colleague, cwd=project, capture_output=True, text=True, check=False
    )
    assert (hook.returncode, json.loads(hook.stdout)["decision"]) == (2, "block"), hook.stderr
