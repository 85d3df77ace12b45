"""Files that wire verdikt are put back when something else has taken their place."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from verdikt.errors import LedgerError, WiringError
from verdikt.ledger.kept_files import KeptFiles, explain_restorations, has_equal_wiring
from verdikt.model.canonical_json import sha256_hex

SETTINGS = json.dumps({"hooks": {"PreToolUse": [{"command": "verdikt-hook"}]}, "model": "a"})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose settings are kept."""
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.json").write_text(SETTINGS)
    KeptFiles(tmp_path / "data").keep(str(project / ".claude/settings.json"), project=str(project))
    return project


def _replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").write_text("x")


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


def _replace_parent_by_link(path: Path) -> None:
    path.parent.rename(path.parent.parent / "moved")
    path.parent.symlink_to("moved")
    (path.parent.parent / "moved/settings.json").write_text("{}")


def _replace_parent_by_file(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("x")


CHANGES: list[Callable[[Path], object]] = [
    lambda path: path.write_text("{}"),
    lambda path: path.unlink(),
    lambda path: path.chmod(0),
    lambda path: path.parent.rename(path.parent.parent / "elsewhere"),
    _replace_by_directory,
    _replace_by_pipe,
    _replace_by_link,
    _replace_parent_by_link,
    _replace_parent_by_file,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("strict", [True, False])
def test_changed_file_is_put_back_whatever_took_its_place(
    project: Path, change: Callable[[Path], object], strict: bool
) -> None:
    """Emptied, removed, hidden, or replaced by a directory, a pipe or a link: it is there again, with its mode."""
    path = project / ".claude/settings.json"
    kept_files = KeptFiles(project.parent / "data")
    assert kept_files.restore_changed(str(project), "", strict=strict) == []

    change(path)
    restorations = kept_files.restore_changed(str(project / "src"), "", strict=strict)

    assert [(r.path, r.error) for r in restorations] == [(str(path), "")]
    assert path.read_text() == SETTINGS
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert not path.is_symlink()
    assert kept_files.restore_changed(str(project), "", strict=strict) == []


def test_another_process_puts_back_the_same(project: Path) -> None:
    """The copies are in the data directory, so a hook without a warm process restores as well."""
    path = project / ".claude/settings.json"
    path.write_text("{}")

    (restoration,) = KeptFiles(project.parent / "data").restore_changed(str(project), "", strict=True)

    assert path.read_text() == SETTINGS
    assert restoration.found != restoration.kept
    assert (project.parent / "data/kept" / restoration.found).read_text() == "{}", "what was found is kept as well"


def test_change_that_leaves_the_hooks_alone_is_taken_over_between_actions(project: Path) -> None:
    """A person, or the host itself, may change settings while no action runs."""
    path = project / ".claude/settings.json"
    changed = json.dumps({**json.loads(SETTINGS), "model": "b"})
    path.write_text(changed)
    kept_files = KeptFiles(project.parent / "data")

    assert kept_files.restore_changed(str(project), "", strict=False) == []
    assert kept_files.restore_changed(str(project), "", strict=True) == []
    assert path.read_text() == changed


def test_files_of_another_project_are_left_alone(project: Path) -> None:
    """A session in one project does not touch the settings of another."""
    (project / ".claude/settings.json").unlink()
    kept_files = KeptFiles(project.parent / "data")

    assert kept_files.restore_changed(str(project.parent), "", strict=True) == []
    assert kept_files.restore_changed("/", str(project), strict=True) != []


def test_project_that_is_gone_does_not_come_back(project: Path) -> None:
    """A person who deletes a project does not find its settings again."""
    (project / ".claude/settings.json").unlink()
    (project / ".claude").rmdir()
    project.rmdir()

    assert KeptFiles(project.parent / "data").restore_changed(str(project), "", strict=True) == []
    assert not project.exists()


def test_dropped_file_stays_away(project: Path) -> None:
    """What a person took out through verdikt is not put back."""
    kept_files = KeptFiles(project.parent / "data")
    kept_files.drop(str(project / ".claude/settings.json"))
    (project / ".claude/settings.json").unlink()

    assert kept_files.restore_changed(str(project), "", strict=True) == []


def test_file_that_would_switch_the_hooks_off_goes_away_again(project: Path) -> None:
    """A file that may be written at any time must not gain the word that switches the hooks off."""
    path = project / ".claude/settings.local.json"
    kept_files = KeptFiles(project.parent / "data")
    kept_files.keep(str(path), project=str(project), off_switch="disableAllHooks")

    path.write_text('{"permissions": {}}')
    assert kept_files.restore_changed(str(project), "", strict=True) == []
    path.write_text('{"disableAllHooks": true}')
    assert len(kept_files.restore_changed(str(project), "", strict=True)) == 1
    assert path.read_text() == '{"permissions": {}}'

    path.unlink()
    assert kept_files.restore_changed(str(project), "", strict=True) == []
    path.write_text('{"disableAllHooks": true}')
    assert len(kept_files.restore_changed(str(project), "", strict=True)) == 1
    assert not path.exists()


def test_damaged_copy_is_an_error_that_says_how_to_repair(project: Path) -> None:
    """A copy that is not what it was cannot be put back."""
    path = project / ".claude/settings.json"
    path.write_text("{}")
    data = project.parent / "data/kept"
    for file in data.iterdir():
        if len(file.name) == 64:
            file.write_text("x")

    restorations = KeptFiles(project.parent / "data").restore_changed(str(project), "", strict=True)

    with pytest.raises(WiringError, match="the kept copy is damaged; run `verdikt init`"):
        explain_restorations(restorations)


def test_damaged_index_is_an_error(project: Path) -> None:
    """Without the index it is not known what to put back, and nothing may happen."""
    (project.parent / "data/kept/index.json").write_text("[1")

    with pytest.raises(LedgerError, match="run `verdikt init`"):
        KeptFiles(project.parent / "data").restore_changed(str(project), "", strict=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_project_is_an_error(project: Path) -> None:
    """What cannot be put back is said, with the reason."""
    (project / ".claude/settings.json").unlink()
    (project / ".claude").chmod(0o500)
    try:
        restorations = KeptFiles(project.parent / "data").restore_changed(str(project), "", strict=True)
    finally:
        (project / ".claude").chmod(0o700)

    with pytest.raises(WiringError, match="can't be put back: .*Permission denied"):
        explain_restorations(restorations)


def test_ten_thousand_kept_files_are_compared_by_one_look_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unchanged files are not read again."""
    project = tmp_path / "project"
    project.mkdir()
    digest = sha256_hex(b"x")
    rows = {}
    for number in range(10_000):
        path = project / f"f{number}"
        path.write_text("x")
        rows[str(path)] = {"digest": digest, "mode": 0o644, "real": str(path), "project": str(project)}
    (tmp_path / "data/kept").mkdir(parents=True)
    (tmp_path / "data/kept/index.json").write_text(json.dumps({"files": rows}))
    kept_files = KeptFiles(tmp_path / "data")
    assert kept_files.restore_changed(str(project), "", strict=True) == []

    monkeypatch.delattr("verdikt.ledger.kept_files.read_regular_file")
    assert kept_files.restore_changed(str(project), "", strict=True) == []


@pytest.mark.parametrize(
    ("kept", "found", "strict", "expected"),
    [
        ('{"hooks": 1}', '{ "hooks": 1 }', True, True),
        ('{"hooks": 1}', '{"hooks": 1, "model": "b"}', False, True),
        ('{"hooks": 1}', '{"hooks": 1, "model": "b"}', True, False),
        ('{"hooks": 1}', '{"hooks": 2}', False, False),
        ('{"hooks": {"A": ["verdikt"]}}', '{"hooks": {"A": ["verdikt", "mine"], "B": ["mine"]}}', False, True),
        ('{"hooks": {"A": ["verdikt", "mine"]}}', '{"hooks": {"A": ["verdikt"]}}', False, True),
        ('{"hooks": {"A": ["verdikt"]}}', '{"hooks": {"A": ["mine"]}}', False, False),
        ('{"hooks": {"A": ["verdikt"]}}', '{"hooks": {"B": ["verdikt"]}}', False, False),
        (
            '{"hooks": {"A": [{"m": "*", "c": "verdikt"}]}}',
            '{"hooks": {"A": [{"m": "x", "c": "verdikt"}]}}',
            False,
            False,
        ),
        ('{"hooks": 1}', '{"hooks": 1, "disableAllHooks": true}', False, False),
        ('{"hooks": 1}', "{}", False, False),
        ('{"hooks": 1}', "[]", False, False),
        ('[a]\ncommand = "verdikt-hook"\n', '[a]\ncommand = "verdikt-hook"\nmodel = "x"\n', False, True),
        ('[a]\ncommand = "verdikt-hook"\n', '[a]\nmodel = "x"\n', False, False),
        ("#!/bin/sh\n[ verdikt ]\n", "#!/bin/sh\n[ verdikt ]\nexit 0\n", False, False),
        ("export verdikt", "export verdikt; x", False, False),
    ],
)
def test_wiring_is_compared_by_what_it_does(kept: str, found: str, strict: bool, expected: bool) -> None:
    """Notation does not count; hooks, and whatever is named like them, do."""
    assert has_equal_wiring(kept.encode(), found.encode(), strict=strict) is expected


def test_settings_of_a_repository_are_put_back_and_never_removed(project: Path) -> None:
    """Without them the repository would be broken, also if it was made again in the meantime."""
    path = project / ".git/config"
    path.parent.mkdir()
    path.write_text("[core]\n")
    kept_files = KeptFiles(project.parent / "data")
    kept_files.keep(str(path), project=str(project), off_switch="hooksPath", never_removed=True)
    path.unlink()
    assert kept_files.restore_changed(str(project), "", strict=True) == []

    path.write_text("[core]\n\thooksPath = x\n")

    assert len(kept_files.restore_changed(str(project), "", strict=True)) == 1
    assert path.read_text() == "[core]\n"
