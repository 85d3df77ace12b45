"""One file as it is and as it shall be, and the record that brings it back byte for byte."""

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdikt.errors import WiringError
from verdikt.model.canonical_json import sha256_hex


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What becomes of one file. `None` stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None
    host: str
    description: str
    """In words for a person."""
    project: str = ""
    """The only project that a file outside of it is changed for."""

    @property
    def is_needed(self) -> bool:
        """Whether anything changes at all."""
        return self.before != self.after


def read_file(path: str) -> bytes | None:
    """The file's bytes, or None when there is none."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WiringError(f"cannot read `{path}`: {error.strerror}") from error


def write_file(path: str, data: bytes | None) -> list[str]:
    """Puts the bytes there in one step, through links, with the mode that was there; the directories that had to be made."""
    real = Path(os.path.realpath(path))
    try:
        if data is None:
            real.unlink(missing_ok=True)
            return []
        made = []
        parent = real.parent
        while not parent.exists():
            made.append(str(parent))
            parent = parent.parent
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o7777 if real.exists() else 0o644
        fd, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, real)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WiringError(
            f"cannot write `{path}`: {error.strerror}; make it writable or choose another scope"
        ) from error
    return made


def refuse_unwritable(paths: Iterable[str]) -> None:
    """Refuses to go on when one of these files could not be written, so that not half of them are."""
    for path in paths:
        place = Path(os.path.realpath(path))
        while not place.exists():
            place = place.parent
        # A new file takes the place of the old one, so its directory must be writable; what is read-only is so for a reason.
        if not all(os.access(there, os.W_OK) for there in (place, place if place.is_dir() else place.parent)):
            raise WiringError(
                f"cannot write `{path}`: `{place}` is read-only; make it writable or choose another scope"
            )


class WiringRecord:
    """Every file that was changed, as it was before the first change; kept in verdikt's data directory."""

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
        """Makes the changes; each is on record, and its file backed up, before it is touched."""
        planned = [change for change in changes if change.is_needed]
        refuse_unwritable([str(self._path), *(change.path for change in planned)])
        for change in planned:
            known = self.files.setdefault(
                change.path, {"host": change.host, "made": [], "before": self._save_backup(change.before)}
            )
            known["projects"] = sorted({*known.get("projects", ()), change.project})
            known["after"] = sha256_hex(change.after) if change.after is not None else ""
            self._save_record()
            known["made"] += write_file(change.path, change.after)
            self._save_record()

    def read_original(self, path: str) -> bytes | None:
        """The file as it was before verdikt first touched it."""
        name = self.files[path]["before"]
        return read_file(str(self._backups / name)) if name else None

    def is_untouched(self, path: str) -> bool:
        """Whether nobody has changed the file since verdikt did."""
        data = read_file(path)
        return str(self.files[path]["after"]) == (sha256_hex(data) if data is not None else "")

    def restore_file(self, path: str, data: bytes | None) -> None:
        """Puts the file back as given, removes directories that were made for it, and drops it from the record."""
        if data != read_file(path):
            write_file(path, data)
        known = self.files.pop(path)
        for place, directory in enumerate(known["made"]):
            try:
                Path(directory).rmdir()
            except OSError:
                # Another file of ours may still be there, and takes them with it; else it is somebody else's.
                below = os.path.join(directory, "")
                heir = next((other for name, other in self.files.items() if name.startswith(below)), None)
                if heir:
                    heir["made"] += known["made"][place:]
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
