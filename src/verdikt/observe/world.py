"""Observation of the real world: the disk, git and the clock, as far as one decision needs them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdikt.model.canonical_json import sha256_hex
from verdikt.model.world import COMMITTED_PREFIX, SOURCES_PREFIX, PathFact
from verdikt.observe.clock import SystemClock
from verdikt.observe.git_repository import read_committed_text, read_path_state, read_repository
from verdikt.observe.held_databases import open_unheld

if TYPE_CHECKING:
    from verdikt.model.path_set import PathSet
    from verdikt.model.world import GitFact
    from verdikt.observe.clock import Clock

TEXT_LIMIT = 64 * 1024
"""Size of a script that is read; a longer one is unknown, because the part beyond could do anything."""

STAMP_LIMIT = 16 * 1024 * 1024
"""Size of a file that is hashed."""

ROOT_MARKS = (".git", "governance.yaml", ".hg", ".jj")
"""Names found at the top of a project, whatever its language."""

PROJECT_MARKS = (
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "Makefile",
    "setup.py",
)
"""Names found at the top of a project that has no repository."""


class RealWorld:
    """The disk, git and the clock. Never raises; what cannot be observed is unknown.

    Where `cwd` does not exist, nothing can be observed: it counts as the top of the project, and every file is unknown.
    `root` is the top of the project, when the caller has found it already.
    """

    def __init__(
        self,
        cwd: str,
        *,
        env: Mapping[str, str] = os.environ,
        home: str = "",
        guarded: tuple[str, ...] = (),
        clock: Clock | None = None,
        root: str = "",
    ) -> None:
        self._env = env
        self._root = root
        self._cwd = to_absolute(cwd or ".")
        self._home = home or env.get("HOME") or "/root"
        self._guarded = guarded
        self._clock = clock or SystemClock()
        self._cwd_exists = os.path.isdir(self._cwd)

    def place(self) -> Mapping[str, Any]:
        """Return time, directories, user and guarded paths."""
        temp = self._env.get("TMPDIR", "")
        return {
            "now": self._clock.now(),
            "cwd": self._cwd,
            "home": self._home,
            "project_root": (self._root or find_project_root(self._cwd, self._home)) if self._cwd_exists else self._cwd,
            "user": self._env.get("USER") or self._env.get("LOGNAME") or "",
            "temp": tuple(dict.fromkeys(("/tmp", "/var/tmp", to_absolute(temp)))) if temp else ("/tmp", "/var/tmp"),
            "guarded": self._guarded,
        }

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return what is at an absolute path, and its state in git."""
        if not self._cwd_exists and _is_below(path, self._cwd):
            return PathFact(real=path, kind="unknown")
        try:
            link = os.lstat(path)
        except FileNotFoundError:
            return PathFact(real=_resolve_path(path))
        except (OSError, ValueError):
            return PathFact(real=path, kind="unknown")
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            status = link  # a link to nowhere, or to itself
        state, is_unmodified = self._read_git_state(path) if git else ("", False)
        return PathFact(
            real=_resolve_path(path),
            kind=_classify_mode(status.st_mode),
            symlink=stat.S_ISLNK(link.st_mode),
            git=state,
            size=status.st_size,
            only_untracked=is_unmodified and state == "untracked",
        )

    def text(self, path: str) -> str | None:
        """Return the text of a small regular file, or None."""
        try:
            # Without O_NONBLOCK, a pipe put there would hold the decision up for ever.
            fd = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            data = os.read(fd, TEXT_LIMIT + 1)
        except OSError:
            return None
        finally:
            os.close(fd)
        # A file with NUL bytes is not a script that a shell would read to its end.
        if len(data) > TEXT_LIMIT or b"\0" in data:
            return None
        return data.decode("utf-8-sig", "replace")  # a byte-order mark is not part of the text

    def content_stamp(self, path: str) -> str:
        """Return the beginning of a file's digest; for a huge one its size and time; empty when there is no file."""
        if path.startswith(COMMITTED_PREFIX):
            text = read_committed_text(path.removeprefix(COMMITTED_PREFIX), self._env)
            # Bytes that are not UTF-8 were replaced: the digest then fits no file, which is the careful answer.
            return "" if text is None else sha256_hex(text.encode())[:16]
        if path.startswith(SOURCES_PREFIX):
            # Imported here: only a policy about what ran since the last edit asks for it.
            from verdikt.observe.work_tree import read_work_tree

            tree = read_work_tree(path.removeprefix(SOURCES_PREFIX), self._env)
            return tree.digest if tree is not None else ""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                return ""
            if status.st_size > STAMP_LIMIT:
                return f"{status.st_size}.{status.st_mtime_ns}"
            with open(path, "rb", opener=open_unheld) as file:
                return sha256_hex(file.read(STAMP_LIMIT + 1))[:16]
        except (OSError, ValueError):
            return ""

    def modification_time(self, path: str) -> float:
        """Return when a file was last written; 0 when there is none."""
        try:
            return os.stat(path).st_mtime
        except (OSError, ValueError):
            return 0.0

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return the guarded paths that a set would change; None when that cannot be told."""
        # Imported here: only copies, archives, patches and some git commands need it.
        from verdikt.observe.guarded_sets import find_guarded_in

        return find_guarded_in(path_set, self._guarded, self._env)

    def git(self, directory: str) -> GitFact:
        """Return the facts about the repository around a directory."""
        return read_repository(directory, self._env)

    def _read_git_state(self, path: str) -> tuple[str, bool]:
        return read_path_state(path, self._env)


def to_absolute(path: str) -> str:
    """Return `os.path.abspath`, cached where it does not depend on this process's working directory."""
    return _normalize_path(path) if path.startswith("/") else os.path.abspath(path)


_normalize_path = lru_cache(maxsize=256)(os.path.normpath)


def find_project_root(cwd: str, home: str) -> str:
    """Return the nearest directory with a repository or a policy, else with a project file, else `cwd`."""
    fallback = ""
    directory = cwd
    while True:
        for mark in ROOT_MARKS:
            if os.path.lexists(f"{directory}/{mark}"):
                return directory
        if not fallback and any(os.path.exists(os.path.join(directory, mark)) for mark in PROJECT_MARKS):
            fallback = directory
        parent = os.path.dirname(directory)
        # A home directory under version control does not make all of it one project.
        if parent in (directory, "/", home):
            return fallback or cwd
        directory = parent


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _resolve_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


# Sockets, pipes and devices are all "other".
def _classify_mode(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    return "dir" if stat.S_ISDIR(mode) else "other"


def digest_file(path: str) -> str:
    """Return the SHA-256 of a regular file's contents; empty when there is none, or it is too large."""
    try:
        fd = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > STAMP_LIMIT:
            return ""
        with open(fd, "rb", closefd=False) as file:
            return sha256_hex(file.read(STAMP_LIMIT + 1))
    except OSError:
        return ""
    finally:
        os.close(fd)


def expand_user(path: str, env: Mapping[str, str]) -> str:
    """Return the path with `~` replaced as a process in this environment would."""
    home = env.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return home.rstrip("/") + path[1:] or "/"
    return os.path.expanduser(path)
