"""Fakes of our own ports, and of nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.facts import GitFact, PathFact


@dataclass
class FakeClock:
    """A clock that moves only when told to."""

    seconds: float = 1_700_000_000.0

    def now(self) -> float:
        """The time it was set to."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Moves on at once."""
        self.seconds += seconds


@dataclass
class FakeWorld:
    """A world made of a few dictionaries; what they do not name is absent."""

    cwd: str = "/home/dev/project"
    home: str = "/home/dev"
    project_root: str = "/home/dev/project"
    user: str = "dev"
    now: float = 1_700_000_000.0
    guarded: tuple[str, ...] = ()
    paths: dict[str, PathFact] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    repository: GitFact = field(default_factory=GitFact)

    def place(self) -> Mapping[str, Any]:
        """Where and when."""
        return {
            "now": self.now,
            "cwd": self.cwd,
            "home": self.home,
            "project_root": self.project_root,
            "user": self.user,
            "temp": ["/tmp", "/var/tmp"],
            "guarded": list(self.guarded),
        }

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """What was put there."""
        if path in self.paths:
            return self.paths[path] if git else replace(self.paths[path], git="")
        if path in self.texts:
            return PathFact(real=path, kind="file")
        return PathFact(real=path)

    def text(self, path: str) -> str | None:
        """What was put there."""
        return self.texts.get(path)

    def content_stamp(self, path: str) -> str:
        """The digest of what was put there."""
        return sha256_hex(self.texts[path].encode())[:16] if path in self.texts else ""

    def modification_time(self, path: str) -> float:
        """When it was put there: always just now."""
        return self.now

    def git(self, directory: str) -> GitFact:
        """The one repository."""
        return self.repository
