"""Archiving what lies beside the log: artifacts, contracts, overrides; and deleting archives that are too old."""

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
        """Packs the artifacts of these sessions into `artifacts/_archive/<YYYY-MM>/<session>.tar.gz`."""
        directory = self._home / "artifacts"
        pending = directory / "_archive" / "pending"
        for name in sorted(names):
            # Moved aside in one step first, so that a session that comes back starts a directory of its own.
            if (directory / name).is_dir():
                make_private_directory(pending / self._month)
                (directory / name).rename(pending / self._month / self._find_unused_stem(directory, name))
        packed = []
        for place in sorted(pending.glob("*/*")):
            target = directory / "_archive" / place.parent.name / f"{place.name}.tar.gz"
            if not target.exists():
                make_private_directory(target.parent)
                temporary = target.with_suffix(".tmp")
                with tarfile.open(temporary, "w:gz") as tar:
                    tar.add(place, arcname=re.sub(r"~[0-9]{1,6}$", "", place.name))
                _publish_file(temporary, target, self._now)
            shutil.rmtree(place)
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
        """Compresses old files of a kind into its archive; `nested` keeps the session's directory, so equal names do not meet."""
        directory = self._home / kind
        done = []
        for path in sorted(directory.glob("*/*.yml" if nested else "*.jsonl")):
            age = self._now - path.stat().st_mtime
            if path.parent.name == "_archive" or age <= self._hot_seconds or age < self._active_seconds:
                continue
            place = directory / "_archive" / self._month
            data = path.read_bytes()
            target = _choose_target((place / path.parent.name if nested else place) / f"{path.name}.gz", data)
            if not target.exists():
                write_gzip(target, [data], self._now)
            path.unlink()
            done.append(target)
            if nested:
                with suppress(OSError):  # other contracts of the session are still hot
                    path.parent.rmdir()
        return done

    def delete_expired(self, seconds: float) -> list[Path]:
        """Deletes what was archived longer ago than this, and directories that this empties. The log's archives are not its business."""
        gone = []
        for kind in ("artifacts", "contracts", "overrides"):
            for path in sorted((self._home / kind / "_archive").rglob("*"), reverse=True):
                if path.is_file() and self._now - path.stat().st_mtime > seconds:
                    path.unlink()
                    gone.append(path)
        for unfinished in self._home.glob("*/**/*.tmp"):
            if self._now - unfinished.stat().st_mtime > self._active_seconds:
                unfinished.unlink()
        for kind in ("artifacts", "contracts", "overrides", "ledger"):
            for path in sorted((self._home / kind / "_archive").rglob("*"), reverse=True):
                if path.is_dir():
                    with suppress(OSError):  # not empty
                        path.rmdir()
        return gone


def write_gzip(target: Path, chunks: Iterable[bytes], now: float) -> None:
    """Compresses data into a file that is either not there or whole; equal data gives equal bytes."""
    make_private_directory(target.parent)
    temporary = target.with_name(f".{target.name}.tmp")
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
    os.utime(temporary, (now, now))
    temporary.replace(target)
    sync_directory(target.parent)


def _choose_target(preferred: Path, data: bytes) -> Path:
    """The name to archive under: as wanted, or numbered when another file of that name was archived before."""
    target, count = preferred, 1
    while target.exists() and gzip.decompress(target.read_bytes()) != data:
        count += 1
        target = preferred.with_name(f"{preferred.name.removesuffix('.gz')}.{count}.gz")
    return target
