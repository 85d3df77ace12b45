"""Settings that a team commits: the same on every machine, and one clear line where verdikt is missing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Verdikt, project, verdikt
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.registry import HOSTS, WIRABLE_HOSTS
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.portable_registration import MISSING_TEXT, PortableRegistration
from verdikt.hosts.wiring.registration import LAUNCHER, is_hook_command
from verdikt.model.distribution import INSTALL_COMMAND

__all__ = ["project", "verdikt"]  # fixtures

JSON_HOSTS = [name for name in WIRABLE_HOSTS if name != "opencode"]
SHELLS = ["sh", "bash", "dash", *(["zsh"] if shutil.which("zsh") else [])]
CALL = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": "/tmp",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
)


def run_line(line: str, env: dict[str, str], shell: str = "sh", payload: str = CALL) -> tuple[int, str, str]:
    """Run a wired line as a host does, and return status, stdout and stderr."""
    completed = subprocess.run(
        [f"/bin/{shell}" if shell == "sh" else str(shutil.which(shell)), "-c", line],
        input=payload,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return completed.returncode, completed.stdout, completed.stderr


def list_committed_files(project: Path) -> list[Path]:
    """Return the files that `init` wrote into a project."""
    return [path for path in project.rglob("*") if path.is_file() and ".git" not in path.relative_to(project).parts[:1]]


@pytest.mark.parametrize("host", WIRABLE_HOSTS)
def test_committed_files_name_no_path_of_the_machine(host: str, project: Path, verdikt: Verdikt) -> None:
    """Neither the home directory nor the environment of verdikt, nor the project's own path."""
    completed = verdikt("init", "--host", host, "--scope", "project", "--yes")
    assert completed.returncode == 0, completed.stderr
    names = [str(path.relative_to(project)) for path in list_committed_files(project)]

    assert HOSTS[host].settings_files["project"] in names
    assert f"commit {', '.join(sorted(names))}" in completed.stdout
    assert INSTALL_COMMAND in completed.stdout
    for path in list_committed_files(project):
        text = path.read_text()
        for part in (str(project.parent), os.path.dirname(os.__file__), "/bin/python", os.path.expanduser("~/")):
            assert part not in text, path


@pytest.mark.parametrize("host", JSON_HOSTS)
def test_a_colleague_without_verdikt_is_blocked_with_one_line_that_says_how_to_install_it(
    host: str, tmp_path: Path
) -> None:
    """In the form that the host understands, in every shell; other events are left alone, so that a turn can end."""
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for event in HOSTS[host].wired_events:
        kind = HOSTS[host].events[event]
        line = PortableRegistration().build_command_line(host, event, fail_closed=kind.fails_closed)
        for shell in SHELLS:
            code, out, err = run_line(line, env, shell)
            if kind in (HookEventKind.BEFORE, HookEventKind.PERMISSION):
                assert MISSING_TEXT in str(json.loads(out)), event
                assert (out.count("\n"), err.count("\n")) == (1, bool(code))
                assert (code == 2 and MISSING_TEXT in err) or "deny" in out
            elif kind is HookEventKind.START:
                assert (code, err) == (0, "")
                assert MISSING_TEXT in out
                json.loads(out)
            else:
                assert (code, out, err) == (0, "", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_person_with_verdikt_is_governed_by_committed_settings(shell: str, project: Path, verdikt: Verdikt) -> None:
    """The launcher in the data directory decides, also below another data directory and one with a blank."""
    line = PortableRegistration().build_command_line("claude", "PreToolUse", fail_closed=True)
    home = project.parent / "home"
    for variable, value in (("", ""), ("XDG_DATA_HOME", str(home / "da ta")), ("VERDIKT_HOME", str(home / "own one"))):
        env = {"VERDIKT_DAEMON": "off", **({variable: value} if variable else {})}
        assert verdikt("init", "--host", "claude", "--yes", **env).returncode == 0
        code, out, _ = run_line(line, {"HOME": str(home), "PATH": "/usr/bin:/bin", **env}, shell)
        assert (code, json.loads(out)["decision"]) == (2, "block")
        harmless = CALL.replace("rm -rf /", "ls")
        assert run_line(line, {"HOME": str(home), "PATH": "/usr/bin:/bin", **env}, shell, harmless)[:2] == (0, "{}\n")


def test_verdikt_on_path_sets_itself_up_at_the_first_call(tmp_path: Path) -> None:
    """A colleague who installed it, and never ran `init`, is governed; the second call needs PATH no more."""
    line = PortableRegistration().build_command_line("claude", "PreToolUse", fail_closed=True)
    launcher = Path(sys.executable).with_name(LAUNCHER)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / LAUNCHER).symlink_to(launcher)
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
    code, out, _ = run_line(line, env)
    assert (code, json.loads(out)["decision"]) == (2, "block")
    assert (tmp_path / ".local/share/verdikt/hooks" / LAUNCHER).exists()

    code, out, _ = run_line(line, env | {"PATH": "/usr/bin:/bin"})
    assert (code, json.loads(out)["decision"]) == (2, "block")


def test_a_launcher_in_the_data_directory_comes_before_one_on_path(project: Path, verdikt: Verdikt) -> None:
    """An agent that puts a program of that name into an active environment of the project changes nothing."""
    verdikt("init", "--host", "claude", "--yes")
    planted = project / ".venv/bin" / LAUNCHER
    planted.parent.mkdir(parents=True)
    planted.write_text("#!/bin/sh\necho '{}'\n")
    planted.chmod(0o755)
    line = PortableRegistration().build_command_line("claude", "PreToolUse", fail_closed=True)
    env = {"HOME": str(project.parent / "home"), "PATH": f"{planted.parent}:/usr/bin:/bin", "VERDIKT_DAEMON": "off"}

    code, out, _ = run_line(line, env)
    assert (code, json.loads(out)["decision"]) == (2, "block")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("script", ["exit 7", "kill -9 $$", "exit 127"])
def test_a_launcher_that_fails_blocks(shell: str, script: str, tmp_path: Path) -> None:
    """A crash never becomes permission."""
    launcher = tmp_path / ".local/share/verdikt/hooks" / LAUNCHER
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    line = PortableRegistration().build_command_line("codex", "PreToolUse", fail_closed=True)
    code, out, err = run_line(line, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, shell)

    assert (code, out) == (2, "")
    assert err.endswith("verdikt: blocked\n")


def test_the_portable_line_is_recognised_as_ours() -> None:
    """`init` replaces it instead of adding a second one."""
    assert is_hook_command(PortableRegistration().build_command_line("codex", "Stop", fail_closed=False))


def run_git(project: Path, *arguments: str) -> str:
    """Run git in the project and return what it prints."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("host", WIRABLE_HOSTS)
def test_wiring_for_one_person_leaves_nothing_to_commit(host: str, project: Path, verdikt: Verdikt) -> None:
    """Git ignores what was written, and uninstall takes that back too."""
    run_git(project, "init", "-q")
    exclude = project / ".git/info/exclude"
    before = exclude.read_bytes() if exclude.exists() else None
    completed = verdikt("init", "--host", host, "--scope", "local", "--yes")
    assert completed.returncode == 0, completed.stderr

    assert run_git(project, "status", "--porcelain") == ""
    assert str(project.parent / "home") in (project / HOSTS[host].settings_files["local"]).read_text()
    assert "nothing to commit" in completed.stdout
    assert verdikt("uninstall", "--yes").returncode == 0
    assert (exclude.read_bytes() if exclude.exists() else None) == before
    assert list_committed_files(project) == []


def test_wiring_for_one_person_refuses_to_change_a_committed_file(project: Path, verdikt: Verdikt) -> None:
    """It would put a path of this machine into everyone's settings."""
    run_git(project, "init", "-q")
    verdikt("init", "--host", "codex", "--yes")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "wired")
    completed = verdikt("init", "--host", "codex", "--scope", "local", "--yes")

    assert completed.returncode == 1
    assert "`.codex/hooks.json` is committed" in completed.stderr
    assert run_git(project, "status", "--porcelain") == ""


def test_changing_the_scope_moves_the_hooks(project: Path, verdikt: Verdikt) -> None:
    """Claude Code would call the hooks of both files, and decide everything twice."""
    for scope, wired, left in (
        ("local", "settings.local.json", "settings.json"),
        ("project", "settings.json", "settings.local.json"),
    ):
        assert verdikt("init", "--host", "claude", "--scope", scope, "--yes").returncode == 0
        settings = json.loads((project / ".claude" / wired).read_text())
        assert dict(json_settings.find_hook_commands(settings))
        assert not (project / ".claude" / left).exists()


def test_committed_settings_of_a_colleague_are_no_foreign_ones(project: Path, verdikt: Verdikt) -> None:
    """They are what `init` writes on this machine too, so that doctor tries them."""
    verdikt("init", "--host", "claude", "--yes")
    shutil.rmtree(project.parent / "home/.local/share/verdikt")
    report = json.loads(verdikt("doctor", "--json", "--calls", "1").stdout)

    assert [host["host"] for host in report["hosts"]] == ["claude"]
    assert not report["healthy"], "the launcher is missing here"
