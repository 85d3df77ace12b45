"""The hook as the wrapper starts it: isolated, and with everything it needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.hook import fire
from verdikt.hosts.wiring.registration import HOOK_MODULE, Registration, is_hook_command

HOOK = (sys.executable, "-I", "-m", HOOK_MODULE, "claude", "PreToolUse")


def test_it_decides_with_what_lies_in_other_directories(tmp_path: Path) -> None:
    """A YAML parser for the first reading, a shell grammar for a script, and nothing for an ordinary command."""
    assert fire(HOOK, "ls -la src", tmp_path).stdout == "{}\n"
    assert fire(HOOK, "for f in a b; do ls $f; done", tmp_path).stdout == "{}\n"
    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout
    assert not list((tmp_path / "data" / "crashes").glob("*"))


def test_nothing_in_the_working_directory_stands_in_for_a_module(tmp_path: Path) -> None:
    """Neither for one of ours nor for one that is looked for last."""
    for name in ("verdikt", "json", "yaml", "re2", "tree_sitter", "sitecustomize", "usercustomize", "google"):
        (tmp_path / f"{name}.py").write_text("import os; os.write(1, b'{}'); os._exit(0)")
        (tmp_path / "src" / name).mkdir(parents=True)

    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout


def test_a_line_that_starts_the_script_is_known_as_ours() -> None:
    """However it was written down, in this version or an earlier one."""
    assert is_hook_command(f"guard.sh 20 closed python -I -m {HOOK_MODULE} claude PreToolUse")
    assert is_hook_command("guard.sh 20 closed python -I -S /x/verdikt/adapters/launch.py claude PreToolUse")
    assert is_hook_command(
        "/h/verdikt-hook 20 closed python -I -S /x/launch.py claude PreToolUse || /bin/sh -c 'echo \"verdikt: blocked\" >&2; exit 2'"
    )
    assert not is_hook_command("python my/adapters/launch.py")


WRAPPERS = {
    "a block": ("echo '{}'; echo no >&2; exit 2", 2, "{}\n"),
    "no opinion": ("echo '{}'", 0, "{}\n"),
    "killed": ("kill -9 $$", 2, ""),
    "a fault": ("kill -SEGV $$", 2, ""),
    "another status": ("exit 7", 2, ""),
}


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_is_registered_blocks_when_its_wrapper_does_not_live(shell: str, wrapper: str, tmp_path: Path) -> None:
    """With a word on stderr, without which some clients run the tool; a block in words gets no other."""
    script, code, out = WRAPPERS[wrapper]
    file = tmp_path / "verdikt-hook"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    said = registered(shell, str(file))

    assert (said.returncode, said.stdout) == (code, out)
    words = {"a block": "no\n", "no opinion": ""}
    assert said.stderr == words.get(wrapper, said.stderr)
    assert ("verdikt: blocked\n" in said.stderr) == (wrapper not in words)


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
@pytest.mark.parametrize("way", ["missing", "closed", "of another machine"])
def test_what_is_registered_blocks_when_its_wrapper_cannot_be_run(shell: str, way: str, tmp_path: Path) -> None:
    """Gone, not executable, or no program that this machine runs."""
    file = tmp_path / "verdikt-hook"
    if way != "missing":
        file.write_bytes(b"\x7fELF\1\1\1")
        file.chmod(0o755 if way == "of another machine" else 0o600)
    said = registered(shell, str(file))

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.endswith("verdikt: blocked\n")


def registered(shell: str, wrapper: str) -> subprocess.CompletedProcess[str]:
    """What a host hears of the registered line."""
    line = Registration(wrapper_path=wrapper, python=("/p",)).build_command_line(
        "codex", "PreToolUse", fail_closed=True
    )
    env = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [shell, "-c", line], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
