"""Files are changed completely or not at all, and every change can be undone."""

import os
from pathlib import Path

import pytest

from verdikt.errors import WiringError
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, write_file


def test_write_file_that_fails_says_what_to_do_and_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes stay, and the failure is an error of ours with a way out."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"before")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(WiringError, match="No space left on device; make it writable or choose another scope"):
            write_file(str(file), b"after")

    assert file.read_bytes() == b"before"


def test_apply_changes_that_fails_leaves_a_record_with_which_to_undo_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is written before the file is touched."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"before")
    replace = os.replace

    def fail(source: str, target: Path) -> None:
        if Path(target) == file:
            raise OSError(5, "Input/output error")
        replace(source, target)

    change = FileChange(path=str(file), before=b"before", after=b"after", host="claude", description="wires")
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(WiringError, match="cannot write `.*settings.json`: Input/output error"):
            WiringRecord(tmp_path / "data").apply_changes([change])

    record = WiringRecord(tmp_path / "data")
    assert record.read_original(str(file)) == b"before"
    record.restore_file(str(file), b"before")
    assert file.read_bytes() == b"before"
    assert not record.files


def test_directory_that_was_created_for_several_files_goes_with_the_last_of_them(tmp_path: Path) -> None:
    """Whichever is restored first: as long as another file lies in it, that one takes the directory over."""
    files = [tmp_path / "project" / ".client" / name for name in ("hooks.json", "rules.json")]
    (tmp_path / "project").mkdir()
    changes = [
        FileChange(path=str(file), before=None, after=b"{}", host="codex", description="wires") for file in files
    ]
    WiringRecord(tmp_path / "data").apply_changes(changes)

    for file in files:
        assert file.parent.is_dir()
        WiringRecord(tmp_path / "data").restore_file(str(file), None)

    assert list((tmp_path / "project").iterdir()) == []
