"""`verdikt init` at a terminal: what it offers, in which order, and what becomes of the answers."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

SERVICE_OFFER, ISOLATION_OFFER = "Install that service?", "outside of every project?"
CONFIRMATION = "Make these changes?"
SCRIPT = """
import sys
from verdikt.cli import hook_environment as environment
sys.prefix = {prefix!r}  # as if it were installed there
environment.is_service_possible = lambda: {is_root}
from verdikt.cli import main
{overrides}
sys.argv = ["verdikt", "init", "--host", "claude", "--scope", "local"]
main()
"""


SERVICE_IN = """
import functools, json
environment.SERVICE_RUNTIME = {directory!r} + "/opt"
environment.plan_service = functools.partial(environment.plan_service, {directory!r} + "/etc")
commands = []
def run(command):
    commands.append(list(command))
    return {status}
environment.start_service = functools.partial(environment.start_service, run)
def run_init_again(python, arguments):
    with open({directory!r} + "/done.json", "w") as file:
        json.dump([commands, str(python), arguments], file)
    return 0
environment.run_init_again = run_init_again
"""
"""Let the service be installed below a directory, by programs that are only recorded: no root is needed for that."""


def play(
    project: Path, *, prefix: Path, is_root: bool, answers: dict[str, str], overrides: str = ""
) -> tuple[int, str]:
    """Run `init` at a terminal, answer its questions, and return the status and all that was shown."""
    env = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin", "VERDIKT_DAEMON": "off", "TERM": "dumb"}
    ours, theirs = pty.openpty()
    script = SCRIPT.format(prefix=str(prefix), is_root=is_root, overrides=overrides)
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=project, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown, answered = "", 0
    try:
        while select.select([ours], [], [], 60)[0]:
            try:
                shown += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            text = " ".join(shown[answered:].split())
            for question, answer in answers.items():
                if question in text and text.endswith(":"):
                    answered = len(shown)
                    os.write(ours, f"{answer}\n".encode())
    finally:
        os.close(ours)  # it hangs up, so a question that nothing answers ends the process
    return process.wait(60), " ".join(shown.split())


@pytest.fixture
def environment(project: Path) -> Path:
    """Return an environment that lies in a project, where an agent could change it."""
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    return project / ".venv"


def test_person_is_offered_the_service_before_an_isolated_environment(project: Path, environment: Path) -> None:
    """Where root is at hand the service comes first, because the agent's account then holds neither key nor log."""
    answers = {SERVICE_OFFER: "n", ISOLATION_OFFER: "n", CONFIRMATION: "n"}

    status, shown = play(project, prefix=environment, is_root=True, answers=answers)

    assert status == 0, shown
    assert 0 < shown.index(SERVICE_OFFER) < shown.index(ISOLATION_OFFER) < shown.index(CONFIRMATION)
    assert not (project / ".claude").exists()


def test_person_who_accepts_the_service_gets_it_and_hooks_that_ask_it(
    project: Path, environment: Path, tmp_path: Path
) -> None:
    """The unit is written, its user made and it is started; then the machine's settings are wired with its socket."""
    machine = tmp_path / "machine"
    machine.mkdir()
    overrides = SERVICE_IN.format(directory=str(machine), status=0)

    status, shown = play(project, prefix=environment, is_root=True, answers={SERVICE_OFFER: "y"}, overrides=overrides)

    assert status == 0, shown
    assert ISOLATION_OFFER not in shown
    assert "User=verdikt" in (machine / "etc/systemd/system/verdikt.service").read_text()
    commands, python, arguments = json.loads((machine / "done.json").read_text())
    assert commands[-1][1:] == ["enable", "--now", "verdikt.service"]
    assert python == str(machine / "opt/bin/python")
    subprocess.run([python, "-I", "-c", "import verdikt.daemon"], check=True)
    assert arguments[:4] == ["--scope", "managed", "--socket", "/run/verdikt/daemon.sock"]
    assert arguments[-2:] == ["--host", "claude"]
    assert not (project / ".claude").exists()


def test_service_that_does_not_start_wires_nothing(project: Path, environment: Path, tmp_path: Path) -> None:
    """Hooks that ask a service which is not there would block everything."""
    machine = tmp_path / "machine"
    machine.mkdir()
    overrides = SERVICE_IN.format(directory=str(machine), status=3)

    status, shown = play(project, prefix=environment, is_root=True, answers={SERVICE_OFFER: "y"}, overrides=overrides)

    assert status == 1, shown
    assert "failed with status 3" in shown
    assert not (machine / "done.json").exists()


def test_person_who_accepts_gets_hooks_that_run_from_an_isolated_environment(project: Path, environment: Path) -> None:
    """The environment is made below the data directory, and the settings name its interpreter."""
    status, shown = play(project, prefix=environment, is_root=False, answers={ISOLATION_OFFER: "y", CONFIRMATION: "y"})

    assert status == 0, shown
    assert SERVICE_OFFER not in shown
    runtime = project.parent / "home/.local/share/verdikt/runtime"
    hooks = json.loads((project / ".claude/settings.local.json").read_text())["hooks"]
    assert f"{runtime}/bin/python" in hooks["PreToolUse"][0]["hooks"][0]["command"]


def test_person_whose_environment_is_outside_of_every_project_is_offered_nothing(project: Path, tmp_path: Path) -> None:
    """The recommended installation raises no question."""
    status, shown = play(project, prefix=tmp_path / "home/tools", is_root=False, answers={CONFIRMATION: "n"})

    assert status == 0, shown
    assert ISOLATION_OFFER not in shown
    assert SERVICE_OFFER not in shown
