"""Files are changed completely or not at all, and every change can be undone."""

import os
from pathlib import Path

import pytest

from verdikt.errors import WiringError
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, write_file


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_write_file_that_fails_at_any_step_leaves_the_file_as_it_was(
    step: str, fault: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes stay, no temporary file remains, and the failure is raised."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"before")

    def fail(*arguments: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(WiringError if isinstance(fault, OSError) else KeyboardInterrupt):
            write_file(str(file), b"after")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("settings.json", b"before")]


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
