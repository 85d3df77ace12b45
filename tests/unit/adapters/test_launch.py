"""The hook started by its path: isolated, without `site`, and with everything it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

from verdikt.adapters.wiring.registration import LAUNCH, is_ours

BARE = (sys.executable, "-I", "-S")


def fire(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """One call before a command, made in a directory that an agent can write to."""
    payload = {"session_id": "s", "cwd": str(place), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return subprocess.run(
        [*BARE, LAUNCH, "claude", "PreToolUse"],
        input=json.dumps(payload | {"tool_input": {"command": command}}),
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "VERDIKT_HOME": str(place / "data"),
            "VERDIKT_DAEMON": "off",
        },
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_decides_with_what_lies_in_other_directories(tmp_path: Path) -> None:
    """A YAML parser for the first reading, a shell grammar for a script, and nothing for an ordinary command."""
    assert fire("ls -la src", tmp_path).stdout == "{}\n"
    assert fire("for f in a b; do ls $f; done", tmp_path).stdout == "{}\n"
    assert '"block"' in fire("cd / && { rm -rf *; }", tmp_path).stdout
    assert not list((tmp_path / "data" / "crashes").glob("*"))


def test_nothing_in_the_working_directory_stands_in_for_a_module(tmp_path: Path) -> None:
    """Neither for one of ours nor for one that is looked for last."""
    for name in ("verdikt", "json", "yaml", "re2", "tree_sitter", "sitecustomize", "usercustomize", "google"):
        (tmp_path / f"{name}.py").write_text("import os; os.write(1, b'{}'); os._exit(0)")
        (tmp_path / "src" / name).mkdir(parents=True)

    assert '"block"' in fire("cd / && { rm -rf *; }", tmp_path).stdout


def test_a_line_that_starts_the_script_is_known_as_ours() -> None:
    """However it was written down, in this version or an earlier one."""
    assert is_ours(f"guard.sh 20 closed python -I -S {LAUNCH} claude PreToolUse")
    assert is_ours("guard.sh 20 closed python -I -m verdikt.adapters.entry claude PreToolUse")
    assert not is_ours("python my/adapters/launch.py")
