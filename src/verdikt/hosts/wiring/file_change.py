"""Changes of single files, and the record with which they are undone byte for byte."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdikt.errors import WiringError
from verdikt.model.canonical_json import sha256_hex
from verdikt.observe.atomic_file import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The change of one file. `None` stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None
    host: str
    description: str
    """What changes, in words for a person."""
    project: str = ""
    """The project for which a file outside of it is changed; empty if it is not for a single one."""

    has_hooks: bool = True
    """Whether the file wires hooks; one that only names MCP servers is written by clients and people at any time."""

    @property
    def is_needed(self) -> bool:
        """Whether the change has any effect."""
        return self.before != self.after


def read_file(path: str) -> bytes | None:
    """Return the file's bytes, or None if there is no file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WiringError(f"cannot read `{path}`: {error.strerror}") from error


def write_file(path: str, data: bytes | None) -> list[str]:
    """Replace the file atomically, through links and with its old mode. Return the directories that were created."""
    real = Path(os.path.realpath(path))
    try:
        if data is None:
            real.unlink(missing_ok=True)
            return []
        created_directories = []
        parent = real.parent
        while not parent.exists():
            created_directories.append(str(parent))
            parent = parent.parent
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o7777 if real.exists() else 0o644
        write_atomically(real, data, mode=mode)
    except OSError as error:
        raise WiringError(
            f"cannot write `{path}`: {error.strerror}; make it writable or choose another scope"
        ) from error
    return created_directories


def refuse_unwritable(paths: Iterable[str]) -> None:
    """Raise `WiringError` if one of these files cannot be written, so that not only some of them are."""
    for path in paths:
        existing = Path(os.path.realpath(path))
        while not existing.exists():
            existing = existing.parent
        # Files are replaced, so the directory must be writable. A read-only file is respected: it is so for a reason.
        directory = existing if existing.is_dir() else existing.parent
        if not all(os.access(checked, os.W_OK) for checked in (existing, directory)):
            raise WiringError(
                f"cannot write `{path}`: `{existing}` is read-only; make it writable or choose another scope"
            )


class WiringRecord:
    """The originals of all files that were changed, in verdikt's data directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "wiring.json"
        self._backups = directory / "backup"
        data = read_file(str(self._path))
        try:
            self.files: dict[str, dict[str, Any]] = json.loads(data)["files"] if data else {}
        except (ValueError, KeyError, TypeError) as error:
            raise WiringError(
                f"cannot read `{self._path}`: expected the record of what was changed; move it aside"
            ) from error

    def apply_changes(self, changes: Iterable[FileChange]) -> None:
        """Make the changes. Each is on record, and its file backed up, before the file is touched."""
        planned = [change for change in changes if change.is_needed]
        refuse_unwritable([str(self._path), *(change.path for change in planned)])
        for change in planned:
            # Only the first change of a file records its original; later ones would record our own version.
            had_hooks = change.path in self.files and self.has_hooks(change.path)
            entry = self.files.setdefault(
                change.path, {"host": change.host, "made": [], "before": self._save_backup(change.before)}
            )
            entry["has_hooks"] = had_hooks or change.has_hooks
            entry["projects"] = sorted({*entry.get("projects", ()), change.project})
            entry["after"] = sha256_hex(change.after) if change.after is not None else ""
            self._save_record()
            entry["made"] += write_file(change.path, change.after)
            self._save_record()

    def has_hooks(self, path: str) -> bool:
        """Whether a file on record wires hooks, and not only the relay of MCP servers."""
        return bool(self.files[path].get("has_hooks", True))

    def read_original(self, path: str) -> bytes | None:
        """Return the file as it was before verdikt first changed it."""
        name = self.files[path]["before"]
        return read_file(str(self._backups / name)) if name else None

    def is_untouched(self, path: str) -> bool:
        """Whether the file is as verdikt left it."""
        data = read_file(path)
        return str(self.files[path]["after"]) == (sha256_hex(data) if data is not None else "")

    def restore_file(self, path: str, data: bytes | None) -> None:
        """Write the file, remove directories that were created for it, and drop it from the record."""
        # A file that already is as it should be keeps its modification time.
        if data != read_file(path):
            write_file(path, data)
        entry = self.files.pop(path)
        for index, directory in enumerate(entry["made"]):
            try:
                Path(directory).rmdir()
            except OSError:
                # It is not empty. If another file of ours lies in it, removing that one removes the directories too.
                below = os.path.join(directory, "")
                other_entry = next((other for name, other in self.files.items() if name.startswith(below)), None)
                if other_entry:
                    other_entry["made"] += entry["made"][index:]
                break
        self._save_record()

    def _save_backup(self, data: bytes | None) -> str:
        if data is None:
            return ""
        name = sha256_hex(data)
        write_file(str(self._backups / name), data)
        return name

    def _save_record(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.files:
            write_file(str(self._path), json.dumps({"version": 1, "files": self.files}, indent=1).encode() + b"\n")
        else:
            self._path.unlink(missing_ok=True)
