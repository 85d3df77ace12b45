"""Where the log's decisions are sent as telemetry: `otlp.json` in a data directory, and how far they were sent."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from verdikt.errors import DaemonError

SETTINGS_FILE = "otlp.json"
PROGRESS_FILE = "run/otlp.progress.json"


@dataclass(frozen=True, slots=True)
class OtlpSettings:
    """The collector, and headers for it, which may hold a token."""

    endpoint: str
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, home: Path) -> Self | None:
        """Return the settings of a data directory; None when nothing is sent."""
        try:
            return cls(**json.loads((home / SETTINGS_FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise DaemonError(f"cannot read `{home / SETTINGS_FILE}`: {error}; set it again") from error

    def save(self, home: Path) -> None:
        """Send to this collector from now on."""
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace_file(home / SETTINGS_FILE, asdict(self))


def remove_settings(home: Path) -> bool:
    """Send nothing any more; return whether anything was sent."""
    try:
        (home / SETTINGS_FILE).unlink()
    except FileNotFoundError:
        return False
    return True


@dataclass(slots=True)
class OtlpProgress:
    """The last entry of each session that was sent, how many spans that made, and what went wrong last."""

    sent: dict[str, int] = field(default_factory=dict)
    spans: int = 0
    problem: str = ""

    @classmethod
    def load(cls, home: Path) -> Self | None:
        """Return the progress so far; None when nothing was ever sent."""
        try:
            return cls(**json.loads((home / PROGRESS_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def save(self, home: Path) -> None:
        """Remember the progress."""
        path = home / PROGRESS_FILE
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _replace_file(path, asdict(self))


def _replace_file(path: Path, document: dict[str, Any]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        if os.geteuid() == 0:
            # A service's data directory belongs to the service's user, who must be able to read what root has set.
            owner = path.parent.stat()
            os.fchown(fd, owner.st_uid, owner.st_gid)
        json.dump(document, file)
    temporary.replace(path)
