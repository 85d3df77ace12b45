"""The command line of the hook: isolated, complete, and blocking when the wrapper is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.hook import fire
from verdikt.hosts.wiring.registration import HOOK_MODULE, Registration, is_hook_command, relies_on_host

HOOK = (sys.executable, "-I", "-m", HOOK_MODULE, "claude", "PreToolUse")


def test_the_isolated_hook_finds_all_packages_that_it_needs(tmp_path: Path) -> None:
    """With `-I` it still finds the YAML parser and the shell grammar."""
    assert fire(HOOK, "ls -la src", tmp_path).stdout == "{}\n"
    assert fire(HOOK, "for f in a b; do ls $f; done", tmp_path).stdout == "{}\n"
    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout
    assert not list((tmp_path / "data" / "crashes").glob("*"))


def test_modules_in_the_working_directory_do_not_replace_those_of_the_hook(tmp_path: Path) -> None:
    """Neither our own modules nor those of other packages."""
    for name in ("verdikt", "json", "yaml", "re2", "tree_sitter", "sitecustomize", "usercustomize", "google"):
        (tmp_path / f"{name}.py").write_text("import os; os.write(1, b'{}'); os._exit(0)")
        (tmp_path / "src" / name).mkdir(parents=True)

    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout


def test_is_hook_command_knows_the_lines_of_all_versions() -> None:
    """An earlier version's line counts as ours, and a similar path of another project does not."""
    assert is_hook_command(f"guard.sh 50 closed python -I -m {HOOK_MODULE} claude PreToolUse")
    assert is_hook_command("guard.sh 50 closed python -I -S /x/verdikt/adapters/launch.py claude PreToolUse")
    fallback = "|| /bin/sh -c 'echo \"verdikt: blocked\" >&2; exit 2'"
    assert is_hook_command(f"/h/verdikt-hook 50 closed python -I -S /x/launch.py claude PreToolUse {fallback}")
    assert is_hook_command(f"exec /h/verdikt-hook 50 closed python -I -m {HOOK_MODULE} claude PreToolUse")
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
def test_the_registered_line_blocks_when_its_wrapper_crashes(shell: str, wrapper: str, tmp_path: Path) -> None:
    """It writes a word to stderr, without which some clients run the tool; the wrapper's own reason is not doubled."""
    script, code, out = WRAPPERS[wrapper]
    file = tmp_path / "verdikt-hook"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    completed = run_registered_line(shell, str(file))

    assert (completed.returncode, completed.stdout) == (code, out)
    expected_stderr = {"a block": "no\n", "no opinion": ""}
    assert completed.stderr == expected_stderr.get(wrapper, completed.stderr)
    assert ("verdikt: blocked\n" in completed.stderr) == (wrapper not in expected_stderr)


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
@pytest.mark.parametrize("way", ["missing", "closed", "of another machine"])
def test_the_registered_line_blocks_when_its_wrapper_cannot_be_run(shell: str, way: str, tmp_path: Path) -> None:
    """The wrapper is missing, not executable, or a program for another machine."""
    file = tmp_path / "verdikt-hook"
    if way != "missing":
        file.write_bytes(b"\x7fELF\1\1\1")
        file.chmod(0o755 if way == "of another machine" else 0o600)
    completed = run_registered_line(shell, str(file))

    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.endswith("verdikt: blocked\n")


def test_build_command_line_with_a_host_that_blocks_on_failure_is_a_single_command(tmp_path: Path) -> None:
    """The shell replaces itself with the wrapper, so no second process stays; a failure keeps its own status."""
    file = tmp_path / "verdikt-hook"
    file.write_text("#!/bin/sh\necho $PPID\n")
    file.chmod(0o755)
    registration = Registration(wrapper_path=str(file), python=("/p",))
    line = registration.build_command_line("claude", "PreToolUse", fail_closed=True, host_blocks_on_failure=True)
    open_line = registration.build_command_line("claude", "Stop", fail_closed=False, host_blocks_on_failure=True)

    assert line == f"exec {file} 50 closed /p -m {HOOK_MODULE} claude PreToolUse"
    assert relies_on_host(line)
    assert not relies_on_host(open_line)
    completed = subprocess.run(["dash", "-c", line], capture_output=True, text=True, check=False)
    assert completed.stdout == f"{os.getpid()}\n", "the parent of the wrapper is this test and not a shell"
    file.unlink()
    assert subprocess.run(["dash", "-c", line], capture_output=True, check=False).returncode == 127


def run_registered_line(shell: str, wrapper: str) -> subprocess.CompletedProcess[str]:
    """Run the registered line as a host does."""
    line = Registration(wrapper_path=wrapper, python=("/p",)).build_command_line(
        "codex", "PreToolUse", fail_closed=True
    )
    env = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [shell, "-c", line], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
