"""Raw artifacts of log entries, stored byte for byte in `artifacts/<session>/<seq>/`."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import LedgerError
from verdikt.ledger.data_directory import encode_session_filename, write_all
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from tarfile import TarFile

_ARTIFACT_NAME = compile_lazily(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


class ArtifactStore:
    """The artifacts of every session under one directory, archived ones included."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open_archives: dict[Path, TarFile] = {}

    def write_artifacts(self, session: str, seq: int, artifacts: Mapping[str, bytes], *, durable: bool) -> None:
        """Store the artifacts of an entry that is about to be written."""
        entry_directory = f"{self.directory}/{encode_session_filename(session)}/{seq}"
        for name in artifacts:
            if not _ARTIFACT_NAME.fullmatch(name):
                raise LedgerError(f"expected an artifact name of letters, digits, `.`, `_` and `-`, found `{name}`")
        try:
            # Nearly always the parent exists: one call instead of a check of every level.
            os.mkdir(entry_directory, mode=0o700)
        except OSError:
            Path(entry_directory).mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, data in artifacts.items():
            fd = os.open(f"{entry_directory}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                write_all(fd, data)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """Return an artifact from its directory or its archive; raise `LedgerError` when there is none."""
        filename = encode_session_filename(session)
        # A rotation moves the directory aside before it packs it, so an artifact may be in any of three places.
        for session_directory in (self.directory / filename, *self._list_pending(filename)):
            with suppress(OSError):
                return (session_directory / str(seq) / name).read_bytes()
        for path in self.list_archives(session):
            data = self._read_packed(path, f"{filename}/{seq}/{name}")
            if data is not None:
                return data
        raise LedgerError(f"no artifact `{name}` with entry {seq} of session `{session}` in `{self.directory}`")

    def __enter__(self) -> ArtifactStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archives that reading has opened."""
        for archive in self._open_archives.values():
            archive.close()
        self._open_archives.clear()

    def _read_packed(self, path: Path, member: str) -> bytes | None:
        import tarfile  # brings the compressors, and a decision reads no archive

        try:
            if path not in self._open_archives:
                # Kept open, because an audit reads every member and opening unpacks the whole archive.
                self._open_archives[path] = tarfile.open(path, "r:gz")  # noqa: SIM115
            file = self._open_archives[path].extractfile(member)
            return file.read() if file is not None else None
        except KeyError:
            return None
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise LedgerError(f"cannot read `{path}`: {error}; restore it from a backup") from error

    def list_archives(self, session: str) -> list[Path]:
        """Return the archives that hold artifacts of a session."""
        archive_name = re.compile(re.escape(encode_session_filename(session)) + r"(~[0-9]{1,6})?\.tar\.gz")
        return sorted(path for path in self.directory.glob("_archive/*/*.tar.gz") if archive_name.fullmatch(path.name))

    def _list_pending(self, filename: str) -> list[Path]:
        """Return the directories that a rotation has moved aside and not packed yet."""
        directory_name = re.compile(re.escape(filename) + r"(~[0-9]{1,6})?")
        return [path for path in self.directory.glob("_archive/pending/*/*") if directory_name.fullmatch(path.name)]
