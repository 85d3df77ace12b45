"""Archives of the files beside the log (artifacts, contracts, overrides), and deletion of archives that are too old."""

import gzip
import os
import re
import shutil
import tarfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from verdikt.ledger.data_directory import make_private_directory, sync_directory


class Archiver:
    """The `_archive` directories of one data directory at one moment."""

    def __init__(self, home: Path, now: float, month: str, hot_seconds: float, active_seconds: float) -> None:
        self._home = home
        self._now = now
        self._month = month
        self._hot_seconds = hot_seconds
        self._active_seconds = active_seconds

    def pack_artifacts(self, names: Iterable[str]) -> list[Path]:
        """Pack the artifacts of these sessions into `artifacts/_archive/<YYYY-MM>/<session>.tar.gz`; return them."""
        directory = self._home / "artifacts"
        pending = directory / "_archive" / "pending"
        for name in sorted(names):
            # Moved aside in one step first, so that a session that comes back starts a directory of its own.
            if (directory / name).is_dir():
                make_private_directory(pending / self._month)
                (directory / name).rename(pending / self._month / self._find_unused_stem(directory, name))
        packed = []
        for directory_to_pack in sorted(pending.glob("*/*")):
            target = directory / "_archive" / directory_to_pack.parent.name / f"{directory_to_pack.name}.tar.gz"
            if not target.exists():
                make_private_directory(target.parent)
                temporary = target.with_suffix(".tmp")
                with tarfile.open(temporary, "w:gz") as tar:
                    # The numbered suffix is only for the archive: its members keep the name that entries refer to.
                    tar.add(directory_to_pack, arcname=re.sub(r"~[0-9]{1,6}$", "", directory_to_pack.name))
                _publish_file(temporary, target, self._now)
            shutil.rmtree(directory_to_pack)
            packed.append(target)
        return packed

    def _find_unused_stem(self, directory: Path, name: str) -> str:
        count = 1
        while True:
            stem = name if count == 1 else f"{name}~{count}"
            archive = directory / "_archive"
            taken = (archive / self._month / f"{stem}.tar.gz", archive / "pending" / self._month / stem)
            if not any(path.exists() for path in taken):
                return stem
            count += 1

    def compress_files(self, kind: str, *, nested: bool) -> list[Path]:
        """Compress the old files of a kind into its archive and return the new files.

        With `nested`, the session's directory is part of the archive's path, so that files of equal name stay apart.
        """
        directory = self._home / kind
        compressed = []
        for path in sorted(directory.glob("*/*.yml" if nested else "*.jsonl")):
            age = self._now - path.stat().st_mtime
            if path.parent.name == "_archive" or age <= self._hot_seconds or age < self._active_seconds:
                continue
            archive_directory = directory / "_archive" / self._month
            data = path.read_bytes()
            target = _choose_target(
                (archive_directory / path.parent.name if nested else archive_directory) / f"{path.name}.gz", data
            )
            if not target.exists():
                write_gzip(target, [data], self._now)
            path.unlink()
            compressed.append(target)
            if nested:
                with suppress(OSError):  # other contracts of the session are still hot
                    path.parent.rmdir()
        return compressed

    def delete_expired(self, seconds: float) -> list[Path]:
        """Delete archives older than `seconds` and directories that become empty; return the deleted files.

        Archives of the log itself are left alone: rotation deletes those, after recording where each chain begins.
        """
        deleted = []
        for kind in ("artifacts", "contracts", "overrides"):
            for path in sorted((self._home / kind / "_archive").rglob("*"), reverse=True):
                if path.is_file() and self._now - path.stat().st_mtime > seconds:
                    path.unlink()
                    deleted.append(path)
        # Drafts of a rotation that was killed; a running one has touched its own within the active time.
        for unfinished in self._home.glob("*/**/*.tmp"):
            if self._now - unfinished.stat().st_mtime > self._active_seconds:
                unfinished.unlink()
        for kind in ("artifacts", "contracts", "overrides", "ledger"):
            for path in sorted((self._home / kind / "_archive").rglob("*"), reverse=True):
                if path.is_dir():
                    with suppress(OSError):  # not empty
                        path.rmdir()
        return deleted


def write_gzip(target: Path, chunks: Iterable[bytes], now: float) -> None:
    """Compress data into a file that is either absent or complete; equal data gives equal bytes."""
    make_private_directory(target.parent)
    temporary = target.with_name(f".{target.name}.tmp")
    # No name and no time in the header, so that equal data gives equal bytes.
    with open(temporary, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.writelines(chunks)
    _publish_file(temporary, target, now)


def _publish_file(temporary: Path, target: Path, now: float) -> None:
    fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fchmod(fd, 0o600)
        os.fsync(fd)
    finally:
        os.close(fd)
    # The file's age decides when it is deleted: it counts from the rotation.
    os.utime(temporary, (now, now))
    temporary.replace(target)
    sync_directory(target.parent)


def _choose_target(preferred: Path, data: bytes) -> Path:
    """Return the preferred path, or a numbered one when another file was archived under that name."""
    target, count = preferred, 1
    while target.exists() and gzip.decompress(target.read_bytes()) != data:
        count += 1
        target = preferred.with_name(f"{preferred.name.removesuffix('.gz')}.{count}.gz")
    return target
