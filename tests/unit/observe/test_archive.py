"""The names in an archive, within bounds."""

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from verdikt.observe import archive


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_archive_is_listed_however_it_is_compressed(tmp_path: Path, mode: str) -> None:
    """Files and links are listed, directories are not."""
    with tarfile.open(tmp_path / "a", mode) as tar:
        tar.add(tmp_path, "directory", recursive=False)
        info = tarfile.TarInfo("directory/x")
        tar.addfile(info, io.BytesIO())
        link = tarfile.TarInfo("directory/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)

    assert archive.list_members(str(tmp_path / "a")) == ["directory/x", "directory/link"]


def test_zip_archive_is_listed(tmp_path: Path) -> None:
    """The names of a zip archive are those of its directory."""
    with zipfile.ZipFile(tmp_path / "a", "w") as file:
        file.writestr("x/y", "")
        file.writestr("x/", "")

    assert archive.list_members(str(tmp_path / "a")) == ["x/y"]


def test_what_cannot_be_listed_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged, huge and absent archives, pipes and directories give no names, and do not hold the decision up."""
    (tmp_path / "damaged.tgz").write_bytes(gzip.compress(b"x" * 2000)[:40])
    (tmp_path / "damaged.zip").write_bytes(b"PK\x03\x04nothing")
    os.mkfifo(tmp_path / "pipe")
    for name in ("damaged.tgz", "damaged.zip", "pipe", "absent", "."):
        assert archive.list_members(str(tmp_path / name)) is None, name

    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1 << 20)
    with tarfile.open(tmp_path / "bomb.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("zeros")
        info.size = 4 << 20
        tar.addfile(info, io.BytesIO(bytes(4 << 20)))
        tar.addfile(tarfile.TarInfo("governance.yaml"))
    assert archive.list_members(str(tmp_path / "bomb.tgz")) is None
