"""Fakes of our own ports: a clock and a world."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.path_set import PathSet
from verdikt.model.world import GitFact, PathFact


@dataclass
class FakeClock:
    """A clock that moves only when a test sets it or sleeps."""

    seconds: float = 1_700_000_000.0

    def now(self) -> float:
        """Return the time that was set."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Move the clock forward without waiting."""
        self.seconds += seconds


@dataclass
class FakeWorld:
    """A world made of dictionaries; a path that they do not name does not exist."""

    cwd: str = "/home/dev/project"
    home: str = "/home/dev"
    project_root: str = "/home/dev/project"
    user: str = "dev"
    now: float = 1_700_000_000.0
    guarded: tuple[str, ...] = ()
    paths: dict[str, PathFact] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    repository: GitFact = field(default_factory=GitFact)
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def place(self) -> Mapping[str, Any]:
        """Return directories, user and time."""
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
        """Return what `paths` says, a file where `texts` has one, and otherwise a path that does not exist."""
        if path in self.paths:
            return self.paths[path] if git else self.paths[path]._replace(git="")
        if path in self.texts:
            return PathFact(real=path, kind="file")
        return PathFact(real=path)

    def text(self, path: str) -> str | None:
        """Return the content of a file; None when there is none."""
        return self.texts.get(path)

    def content_stamp(self, path: str) -> str:
        """Return a digest of the content of a file."""
        return sha256_hex(self.texts[path].encode())[:16] if path in self.texts else ""

    def modification_time(self, path: str) -> float:
        """Return the current time: every file was just written."""
        return self.now

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return what `sets` says under the key of the set; None for other sets."""
        return self.sets.get(path_set.key)

    def git(self, directory: str) -> GitFact:
        """Return the only repository, whatever the directory."""
        return self.repository
