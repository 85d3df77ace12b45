"""Integrity of the wrapper, the settings and the policy during a session."""

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
    """Return a governed project beside its home directory."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "VERDIKT_DAEMON": "off"}
    command = [sys.executable, "-m", "verdikt", "init", "--host", "claude", "--yes"]
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    return project


def create_check(project: Path) -> IntegrityCheck:
    """Return the integrity check of a session in the project."""
    home = project.parent / "home"
    return IntegrityCheck(home / ".local/share/verdikt", "s-1", str(project), {"HOME": str(home)})


def test_find_changes_without_any_change_returns_nothing(project: Path) -> None:
    """An ordinary session gets no message."""
    assert create_check(project).record_baseline() == []
    assert create_check(project).find_changes() == []


def test_find_changes_after_the_policy_changed_names_the_file(project: Path) -> None:
    """Any change during the session counts."""
    create_check(project).record_baseline()
    (project / "governance.yaml").write_text("profile: relaxed\n")

    assert create_check(project).find_changes() == [f"`{project}/governance.yaml` changed during the session"]


def test_find_changes_after_the_policy_was_removed_names_the_file(project: Path) -> None:
    """A removal is a change too."""
    create_check(project).record_baseline()
    (project / "governance.yaml").unlink()

    assert create_check(project).find_changes() == [f"`{project}/governance.yaml` changed during the session"]


@pytest.mark.parametrize("content", [b"", b'{"/etc/pol', b"[1]"], ids=["empty", "half", "list"])
def test_find_changes_with_a_damaged_baseline_says_so(tmp_path: Path, content: bytes) -> None:
    """A baseline that a killed process, or an agent, left unreadable is not taken for one without changes."""
    check = IntegrityCheck(tmp_path / "data", "s-1", str(tmp_path), {"HOME": str(tmp_path)})
    check.record_baseline()
    baseline_file = tmp_path / "data/integrity/s-1.json"
    baseline_file.write_bytes(content)

    assert check.find_changes() == [
        f"`{baseline_file}` cannot be read, so what changed during the session is not known"
    ]


def test_find_changes_of_a_session_that_began_without_a_hook_returns_nothing(tmp_path: Path) -> None:
    """Without a baseline there is nothing to compare with, and nothing to report."""
    check = IntegrityCheck(tmp_path / "data", "s-1", str(tmp_path), {"HOME": str(tmp_path)})

    assert check.find_changes() == []


@pytest.mark.parametrize("name", wrapper.load_wrappers())
def test_record_baseline_with_a_changed_wrapper_reports_it(project: Path, name: str) -> None:
    """The digest differs from that of the installed wrapper."""
    wrapper_file = project.parent / "home/.local/share/verdikt/hooks" / name
    wrapper_file.write_text("#!/bin/sh\necho '{}'\n")

    assert create_check(project).record_baseline() == ["the wrapper around the hook is not the one that was installed"]


@pytest.mark.parametrize("name", wrapper.load_wrappers())
def test_record_baseline_with_a_missing_wrapper_reports_it(project: Path, name: str) -> None:
    """The native client needs the script beside it when no warm process answers."""
    (project.parent / "home/.local/share/verdikt/hooks" / name).unlink()

    assert [fault for fault in create_check(project).record_baseline() if "a wrapper around the hook is gone" in fault]


def test_record_baseline_with_a_native_client_of_another_version_reports_it(project: Path) -> None:
    """The warm process does not answer a client of another version."""
    data = project.parent / "home/.local/share/verdikt"
    path = str(data / "hooks/verdikt-hook")
    before = read_file(path)
    other = (before or b"verdikt-hook 0.1.0\0").replace(
        f"verdikt-hook {__version__}\0".encode(), b"verdikt-hook 0.0.9\0"
    )
    WiringRecord(data).apply_changes(
        [FileChange(path=path, before=before, after=other, host="", description="an older one")]
    )

    assert [fault for fault in create_check(project).record_baseline() if "of another version than verdikt" in fault]


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1}'])
def test_record_baseline_with_a_damaged_record_of_the_wiring_says_so(project: Path, text: str) -> None:
    """What cannot be compared is not taken for intact, also in a session that begins with the damage."""
    record = project.parent / "home/.local/share/verdikt/wiring.json"
    record.write_text(text)

    assert [fault for fault in create_check(project).record_baseline() if f"cannot read `{record}`" in fault]


@pytest.mark.parametrize("text", ["{}", "{", '{"hooks": {"PreToolUse": []}}'])
def test_record_baseline_with_settings_that_no_longer_name_the_hook_reports_them(project: Path, text: str) -> None:
    """The file may be empty, broken or unwired."""
    settings = project / ".claude/settings.json"
    settings.write_text(text)

    assert create_check(project).record_baseline() == [f"`{settings}` no longer names the hook"]


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("name", ["VERDIKT_HOME", "HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "LD_PRELOAD"])
def test_variable_in_a_projects_settings_that_moves_what_governs_is_reported(
    project: Path, file: str, name: str
) -> None:
    """Such a variable reaches the hooks; one that concerns the project's own programs is left alone."""
    path = project / ".claude" / file
    settings = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(settings | {"env": {"NODE_ENV": "test"}}))
    assert create_check(project).record_baseline() == []

    path.write_text(json.dumps(settings | {"env": {"NODE_ENV": "test", name: "/tmp/x"}}))

    assert create_check(project).record_baseline() == [
        f"`{path}` sets {name}, which move or load what governs; remove them"
    ]
