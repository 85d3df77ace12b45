"""Whether what decides is still what was set up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verdikt import __version__
from verdikt.hosts.integrity import IntegrityCheck
from verdikt.hosts.wiring import wrapper
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, read_file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A governed project beside its home."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}
    command = [sys.executable, "-m", "verdikt", "init", "--host", "claude", "--yes"]
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    return project


def integrity(project: Path) -> IntegrityCheck:
    """The integrity of a session in the project."""
    home = project.parent / "home"
    return IntegrityCheck(home / ".local/share/verdikt", "s-1", str(project), {"HOME": str(home)})


def test_nothing_has_changed(project: Path) -> None:
    """Silence is what most sessions hear."""
    assert integrity(project).record_baseline() == []
    assert integrity(project).find_changes() == []


def test_a_changed_policy_shows_at_the_end(project: Path) -> None:
    """Whoever changed it."""
    integrity(project).record_baseline()
    (project / "governance.yaml").write_text("profile: relaxed\n")

    assert integrity(project).find_changes() == [f"`{project}/governance.yaml` changed during the session"]


def test_a_removed_policy_shows_at_the_end(project: Path) -> None:
    """Gone is a change too."""
    integrity(project).record_baseline()
    (project / "governance.yaml").unlink()

    assert integrity(project).find_changes() == [f"`{project}/governance.yaml` changed during the session"]


@pytest.mark.parametrize("name", wrapper.load_wrappers())
def test_a_changed_wrapper_shows_at_once(project: Path, name: str) -> None:
    """It is not the one that was put there."""
    guard = project.parent / "home/.local/share/verdikt/hooks" / name
    guard.write_text("#!/bin/sh\necho '{}'\n")

    assert integrity(project).record_baseline() == ["the wrapper around the hook is not the one that was installed"]


@pytest.mark.parametrize("name", wrapper.load_wrappers())
def test_a_missing_wrapper_shows_at_once(project: Path, name: str) -> None:
    """The native client needs the script beside it when nobody can be asked."""
    (project.parent / "home/.local/share/verdikt/hooks" / name).unlink()

    assert [fault for fault in integrity(project).record_baseline() if "a wrapper around the hook is gone" in fault]


def test_a_native_client_of_another_version_shows_at_once(project: Path) -> None:
    """After an upgrade of verdikt it is not what the warm process answers."""
    data = project.parent / "home/.local/share/verdikt"
    path = str(data / "hooks/verdikt-hook")
    before = read_file(path)
    other = (before or b"verdikt-hook 0.1.0\0").replace(
        f"verdikt-hook {__version__}\0".encode(), b"verdikt-hook 0.0.9\0"
    )
    WiringRecord(data).apply_changes(
        [FileChange(path=path, before=before, after=other, host="", description="an older one")]
    )

    assert [fault for fault in integrity(project).record_baseline() if "of another version than verdikt" in fault]


@pytest.mark.parametrize("text", ["{}", "{", '{"hooks": {"PreToolUse": []}}'])
def test_settings_that_no_longer_name_the_hook_show_at_once(project: Path, text: str) -> None:
    """Emptied, broken or unwired."""
    settings = project / ".claude/settings.json"
    settings.write_text(text)

    assert integrity(project).record_baseline() == [f"`{settings}` no longer names the hook"]


def test_a_session_that_nobody_saw_start_is_judged_by_how_things_are(project: Path) -> None:
    """The host did not tell us, or the memory is damaged."""
    assert integrity(project).find_changes() == []
    integrity(project).record_baseline()
    memory = next((project.parent / "home/.local/share/verdikt/integrity").iterdir())
    assert json.loads(memory.read_text())
    memory.write_text("{")
    assert integrity(project).find_changes() == []
