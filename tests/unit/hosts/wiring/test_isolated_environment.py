"""An environment for the hook outside of every project."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verdikt import __version__
from verdikt.errors import WiringError
from verdikt.hosts.wiring import isolated_environment, system_unit
from verdikt.hosts.wiring.isolated_environment import create_isolated_environment


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an isolated environment, created without a network."""
    directory = tmp_path_factory.mktemp("data") / "runtime"
    create_isolated_environment(directory)
    return directory


def test_environment_holds_everything_the_hook_needs(runtime: Path) -> None:
    """It runs from its own files, with none of the environment that it was copied from."""
    probe = "import sys, verdikt, click, re2, cryptography; print(verdikt.__version__, verdikt.__file__, *sys.path)"
    completed = subprocess.run(
        [runtime / "bin/python", "-I", "-c", probe], capture_output=True, text=True, check=True, cwd="/"
    )

    version, file, *search_path = completed.stdout.split()
    assert version == __version__
    assert file.startswith(str(runtime))
    assert not any(path.startswith(sys.prefix) for path in search_path)
    assert (
        __version__
        in subprocess.run([runtime / "bin/verdikt", "--version"], capture_output=True, text=True, check=True).stdout
    )


def test_environment_that_cannot_import_leaves_the_old_one(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure changes nothing, and says what to do."""
    monkeypatch.setattr(isolated_environment, "_PROBE", "import no_such_module")

    with pytest.raises(WiringError, match="No module named 'no_such_module'; `uv tool install"):
        create_isolated_environment(runtime)
    assert (runtime / "bin/python").exists()


def test_init_isolated_wires_the_hooks_with_the_environment_below_the_data_directory(tmp_path: Path) -> None:
    """The launcher names its interpreter, and doctor finds it in no project."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
    run = [sys.executable, "-m", "verdikt"]
    completed = subprocess.run(
        [*run, "init", "--isolated", "--host", "claude", "--yes"],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed
    launcher = (home / ".local/share/verdikt/hooks/verdikt-launch").read_text()
    python = home / ".local/share/verdikt/runtime/bin/python"

    assert str(python) in launcher
    assert sys.prefix not in launcher
    doctor = subprocess.run(
        [python, "-I", "-m", "verdikt", "doctor", "--json", "--calls", "1"],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(doctor.stdout)
    assert report["healthy"], report
    assert report["runtime"]["project"] == report["runtime"]["other_project"] == ""


def test_doctor_is_red_when_the_interpreter_lies_in_the_project(tmp_path: Path) -> None:
    """An agent that works in the project could change the hooks."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off"}
    python = create_isolated_environment(project / ".venv")
    for arguments in (["init", "--host", "claude", "--yes"], ["doctor", "--calls", "1"]):
        completed = subprocess.run(
            [python, "-I", "-m", "verdikt", *arguments],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if arguments[0] == "init":
            assert completed.returncode == 0, completed
            assert "which lies in the project" not in completed.stdout

    assert completed.returncode == 1
    assert f"the hooks run from `{project}/.venv`, which lies in `{project}`" in completed.stdout
    assert "failing: the interpreter" in completed.stdout
    assert "`verdikt init --isolated`, or install with `uv tool` or `pipx`" in completed.stdout


def test_service_runs_as_another_user_from_a_directory_of_root() -> None:
    """The unit is the one that the documentation describes."""
    change = system_unit.plan_service("/none")
    text = (change.after or b"").decode()

    assert change.path == "/none/systemd/system/verdikt.service"
    for line in ("User=verdikt", "NoNewPrivileges=yes", "StateDirectoryMode=0700", "Restart=always"):
        assert line in text.splitlines()
    assert (
        "ExecStart=/opt/verdikt/bin/verdikt daemon start --system --socket /run/verdikt/daemon.sock"
        " --home /var/lib/verdikt" in text
    )


def test_service_is_started_by_programs_of_the_system_and_stops_at_the_first_failure() -> None:
    """The user is created before the service is enabled."""
    commands: list[list[str]] = []
    system_unit.start_service(lambda command: commands.append(list(command)) or 0)

    assert commands[-1][1:] == ["enable", "--now", "verdikt.service"]
    assert all(os.path.isabs(command[0]) for command in commands)
    with pytest.raises(WiringError, match="failed with status 3"):
        system_unit.start_service(lambda command: 3)


@pytest.mark.parametrize(
    ("root", "systemd", "possible"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_service_is_offered_where_root_and_systemd_are_at_hand(
    monkeypatch: pytest.MonkeyPatch, root: bool, systemd: bool, possible: bool
) -> None:
    """Elsewhere `init` wires the hooks of the user."""
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(os.path, "isdir", lambda path: systemd)

    assert system_unit.is_service_possible() is possible


def test_init_service_shows_what_it_would_do(tmp_path: Path) -> None:
    """A dry run changes nothing."""
    completed = subprocess.run(
        [sys.executable, "-m", "verdikt", "init", "--service", "--dry-run"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "/etc/systemd/system/verdikt.service" in completed.stdout
    assert "systemctl enable --now verdikt.service" in completed.stdout
    assert "nothing was changed" in completed.stdout
