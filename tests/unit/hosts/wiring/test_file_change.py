"""A file is changed whole or not at all, and whoever changes it hears which."""

import os
from pathlib import Path

import pytest

from verdikt.errors import WiringError
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, write_file


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    step: str, fault: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step: the old bytes, no half of the new ones beside them, and the failure is heard."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"before")

    def fail(*given: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(WiringError if isinstance(fault, OSError) else KeyboardInterrupt):
            write_file(str(file), b"after")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("settings.json", b"before")]


def test_a_change_that_fails_is_on_record_and_can_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is written before the file is touched, so that nothing is changed that nobody knows of."""
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
